// The points of a measurement as a table, one row each; a point that failed says so in place of its figures.
#pragma once

#include <QAbstractTableModel>
#include <optional>

#include "core/protocol/bench_messages.h"
#include "ui/session/paper_figures.h"

namespace normlens::ui {

class BenchTable final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    Point,
    MedianA,
    MedianB,
    Speedup,
    Interval,
    P95A,
    P95B,
    PeakA,
    PeakB,
    NormsA,
    NormsB,
    BreakEven,
    Paper,
    ColumnCount
  };

  explicit BenchTable(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  // `paper`: what stands in the last column; nullopt: nothing.
  void setResult(const std::optional<protocol::BenchResult>& result, const std::optional<PaperSeries>& paper);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  [[nodiscard]] QString shown(const protocol::BenchPoint& point, int column) const;

  std::vector<protocol::BenchPoint> points_;
  std::optional<PaperSeries> paper_;
};

}  // namespace normlens::ui
