// One point of a measurement: a figure a row, the two models side by side.
#pragma once

#include <optional>

#include "core/protocol/bench_messages.h"
#include "ui/models/record_table.h"

namespace normlens::ui {

struct BenchFigure {
  QString name, a, b, tip;
};

class BenchFigures final : public RecordTable<BenchFigure> {
  Q_OBJECT

 public:
  enum Column { Figure, A, B, ColumnCount };

  explicit BenchFigures(QObject* parent = nullptr);

  void setPoint(const std::optional<protocol::BenchPoint>& point);
};

}  // namespace normlens::ui
