#include "ui/models/bench_table.h"

#include "ui/session/bench_text.h"
#include "ui/session/format.h"

namespace normlens::ui {

namespace {

QString milliseconds(double ms) { return QString::number(ms, 'f', 3); }

QString peak(const protocol::BenchSide& side) {
  return side.peak_bytes ? formatBytes(*side.peak_bytes) : QStringLiteral("–");
}

QString share(const protocol::BenchSide& side) {
  return side.norm_share ? QString::number(100 * *side.norm_share, 'f', 1) + QStringLiteral(" %") : QStringLiteral("–");
}

}  // namespace

void BenchTable::setResult(const std::optional<protocol::BenchResult>& result,
                           const std::optional<PaperSeries>& paper) {
  beginResetModel();
  points_ = result ? result->points : std::vector<protocol::BenchPoint>();
  paper_ = paper;
  endResetModel();
}

int BenchTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(points_.size());
}

int BenchTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(ColumnCount);
}

QString BenchTable::shown(const protocol::BenchPoint& point, int column) const {
  if (column == Point) return pointName(point);
  if (column == Paper) {
    const auto size = paper_ ? sizeOf(point, paper_->over) : std::nullopt;
    const auto known = size ? paper_->at(*size) : std::nullopt;
    return known ? formatRatio(*known) : QString();
  }
  if (!point.error.empty()) return column == MedianA ? tr("failed") : QString();
  const bool two = point.b.has_value();
  switch (column) {
    case MedianA:
      return milliseconds(point.a.latency.median_ms);
    case MedianB:
      return two ? milliseconds(point.b->latency.median_ms) : QString();
    case Speedup:
      return two ? QString::number(point.speedup, 'f', 3) : QString();
    case Interval:
      return two ? tr("%1 to %2%3")
                       .arg(formatNumber(point.ci_low, 3), formatNumber(point.ci_high, 3),
                            point.noise ? tr(" noise") : QString())
                 : QString();
    case P95A:
      return milliseconds(point.a.latency.p95_ms);
    case P95B:
      return two ? milliseconds(point.b->latency.p95_ms) : QString();
    case PeakA:
      return peak(point.a);
    case PeakB:
      return two ? peak(*point.b) : QString();
    case NormsA:
      return share(point.a);
    case NormsB:
      return two ? share(*point.b) : QString();
    case BreakEven:
      return point.break_even ? formatCount(qRound64(*point.break_even)) : QString();
    default:
      return {};
  }
}

QVariant BenchTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const protocol::BenchPoint& point = points_[static_cast<size_t>(index.row())];
  if (role == Qt::DisplayRole) return shown(point, index.column());
  if (role == Qt::ToolTipRole && !point.error.empty()) return asSentence(text(point.error));
  if (role == Qt::ToolTipRole && !point.complete) return tr("Not complete: stopped, or still running.");
  return {};
}

QVariant BenchTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role == Qt::TextAlignmentRole && section == Point) return QVariant(Qt::AlignLeft | Qt::AlignVCenter);
  if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) return {};
  struct Head {
    QString title, tip;
  };
  const Head heads[ColumnCount] = {
      {tr("Point"), tr("What is varied, and its value here.")},
      {tr("A, ms"), tr("Median time of one run of the first model.")},
      {tr("B, ms"), tr("Median time of one run of the second model.")},
      {tr("Speed-up"), tr("Median over rounds of A's time by B's.")},
      {tr("95% interval"), tr("Bootstrap interval of the speed-up; noise where it holds 1.")},
      {tr("A p95"), tr("95 of 100 runs of the first model are faster.")},
      {tr("B p95"), tr("95 of 100 runs of the second model are faster.")},
      {tr("A peak"), tr("Most memory that the tensors made by one run of the first model take at a time.")},
      {tr("B peak"), tr("Most memory that the tensors made by one run of the second model take at a time.")},
      {tr("A norms"), tr("Share of the first model's time in norms, with the instrumentation it takes to see it.")},
      {tr("B norms"), tr("Share of the second model's time in norms, with the instrumentation it takes to see it.")},
      {tr("Break-even"), tr("Runs after which folding has paid for itself.")},
      {paper_ ? paper_->label : tr("Paper"),
       paper_ ? tr("Speed-up by the %1.").arg(paper_->source) : tr("Choose a reference to see a paper's figures.")}};
  if (role == Qt::DisplayRole) return heads[section].title;
  if (role == Qt::ToolTipRole) return heads[section].tip;
  return {};
}

}  // namespace normlens::ui
