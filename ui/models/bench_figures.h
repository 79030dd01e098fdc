// One point of a measurement: a figure a row, the two models side by side.
#pragma once

#include <QAbstractTableModel>
#include <optional>

#include "core/protocol/bench_messages.h"

namespace normlens::ui {

class BenchFigures final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { Figure, A, B, ColumnCount };

  explicit BenchFigures(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void setPoint(const std::optional<protocol::BenchPoint>& point);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    QString figure, a, b, tip;
  };
  void addLatency();
  void addMemory();
  void addSpeedup();

  std::optional<protocol::BenchPoint> point_;
  std::vector<Row> rows_;
};

}  // namespace normlens::ui
