// One point of a measurement: a figure a row, the two models side by side, or one figure for both together.
#pragma once

#include <optional>

#include "core/protocol/bench_messages.h"
#include "ui/models/record_table.h"

namespace normlens::ui {

struct BenchFigure {
  QString name, a, b, tip;
  bool ofBoth = false;  // a is of both models together, b empty
};

class BenchFigures final : public RecordTable<BenchFigure> {
  Q_OBJECT

 public:
  enum Column { Figure, A, B, ColumnCount };

  explicit BenchFigures(QObject* parent = nullptr);

  void setPoint(const std::optional<protocol::BenchPoint>& point);
};

}  // namespace normlens::ui
