#include "ui/models/bench_figures.h"

#include "ui/session/bench_text.h"
#include "ui/session/format.h"

namespace normlens::ui {

namespace {

QString share(const protocol::BenchSide& side) {
  return side.norm_share ? QString::number(100 * *side.norm_share, 'f', 1) + QStringLiteral(" %") : QStringLiteral("–");
}

QString peak(const protocol::BenchSide& side) {
  return side.peak_bytes ? formatBytes(*side.peak_bytes) : QStringLiteral("–");
}

QString withReason(const QString& what, const std::string& reason) {
  return reason.empty() ? what : what + u' ' + asSentence(text(reason));
}

}  // namespace

void BenchFigures::setPoint(const std::optional<protocol::BenchPoint>& point) {
  beginResetModel();
  point_ = point;
  rows_.clear();
  if (point_ && point_->error.empty()) {
    addSpeedup();
    addLatency();
    addMemory();
  }
  endResetModel();
}

void BenchFigures::addLatency() {
  const auto add = [&](const QString& figure, double protocol::LatencyStats::*member, const QString& tip) {
    const auto say = [&](const protocol::BenchSide& side) { return QString::number(side.latency.*member, 'f', 3); };
    rows_.push_back({figure, say(point_->a), point_->b ? say(*point_->b) : QString(), tip});
  };
  add(tr("median, ms"), &protocol::LatencyStats::median_ms, tr("Half of the runs are faster."));
  add(tr("mean, ms"), &protocol::LatencyStats::mean_ms, tr("Average of all runs, disturbed ones included."));
  add(tr("p5, ms"), &protocol::LatencyStats::p5_ms, tr("5 of 100 runs are faster."));
  add(tr("p95, ms"), &protocol::LatencyStats::p95_ms, tr("95 of 100 runs are faster."));
  add(tr("p99, ms"), &protocol::LatencyStats::p99_ms, tr("99 of 100 runs are faster."));
  add(tr("items / s"), &protocol::LatencyStats::throughput, tr("Items of the batch by the median."));
}

void BenchFigures::addMemory() {
  const protocol::BenchSide b = point_->b.value_or(protocol::BenchSide());
  const auto second = [&](const QString& words) { return point_->b ? words : QString(); };
  rows_.push_back({tr("peak memory"), peak(point_->a), second(peak(b)),
                   withReason(tr("Most that the tensors made by one run take at a time; weights are not in it."),
                              point_->a.peak_reason)});
  rows_.push_back({tr("time in norms"), share(point_->a), second(share(b)),
                   withReason(tr("Share of the ops' time, with the instrumentation that it takes to see them."),
                              point_->a.ops_reason)});
  rows_.push_back({tr("runtime"), text(point_->a.runtime), second(text(b.runtime)),
                   isMixed(*point_) ? tr("Two runtimes: their speed differs as well as the models'.")
                                    : tr("What ran the models.")});
}

void BenchFigures::addSpeedup() {
  if (!point_->b) return;
  rows_.push_back({tr("speed-up"), formatRatio(point_->speedup),
                   tr("%1 to %2").arg(formatNumber(point_->ci_low, 3), formatNumber(point_->ci_high, 3)),
                   point_->noise ? tr("The interval holds 1: this difference is noise.")
                                 : tr("Median over rounds of the times' ratio, and its 95% interval.")});
  if (point_->fold_ms) {
    rows_.push_back({tr("fold, break-even"), formatMilliseconds(*point_->fold_ms),
                     point_->break_even ? tr("%1 runs").arg(formatCount(qRound64(*point_->break_even))) : tr("never"),
                     tr("Time of the fold, and the runs after which it has paid for itself.")});
  }
}

int BenchFigures::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int BenchFigures::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(ColumnCount);
}

QVariant BenchFigures::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const Row& row = rows_[static_cast<size_t>(index.row())];
  if (role == Qt::ToolTipRole) return row.tip;
  if (role != Qt::DisplayRole) return {};
  return index.column() == Figure ? row.figure : index.column() == A ? row.a : row.b;
}

QVariant BenchFigures::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role == Qt::TextAlignmentRole && section == Figure) return QVariant(Qt::AlignLeft | Qt::AlignVCenter);
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || !point_) return {};
  if (section == Figure) return tr("Figure");
  const auto [a, b] = sideNames(*point_);
  return section == A ? a : b;
}

}  // namespace normlens::ui
