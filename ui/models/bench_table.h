// The points of a measurement as a table, one row each; a point that failed shows that in place of its figures.
#pragma once

#include <optional>

#include "core/protocol/bench_messages.h"
#include "ui/models/record_table.h"
#include "ui/words/paper_figures.h"

namespace normlens::ui {

class BenchTable final : public RecordTable<protocol::BenchPoint> {
  Q_OBJECT

 public:
  enum Column {
    Point,
    MedianA,
    MedianB,
    Speedup,
    Interval,
    Expected,
    P95A,
    P95B,
    TokensA,
    TokensB,
    PeakA,
    PeakB,
    NormsA,
    NormsB,
    Fold,
    BreakEven,
    Paper,
    ColumnCount
  };

  explicit BenchTable(QObject* parent = nullptr);

  // `paper`: fills the last column; nullopt: it is empty.
  void setResult(const std::optional<protocol::BenchResult>& result, const std::optional<PaperSeries>& paper);
};

}  // namespace normlens::ui
