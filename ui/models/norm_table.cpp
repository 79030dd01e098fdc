#include "ui/models/norm_table.h"

#include <algorithm>

#include "ui/models/norm_model.h"

namespace normlens::ui {

namespace {

using Info = protocol::NormInfo;

auto tick(bool Info::*member) {
  return [member](const Info& norm) {
    if (norm.verdict == normlens::Verdict::Unknown) return NormTable::tr("not known");
    return norm.*member ? NormTable::tr("yes") : NormTable::tr("no");
  };
}

int verdictOf(const Info& norm) { return static_cast<int>(norm.verdict); }

RecordColumn<Info> range(const QString& title, const QString& meaning, bool Info::*has, double Info::*low,
                         double Info::*high) {
  const auto shown = [=](const Info& norm) {
    if (!(norm.*has)) return QStringLiteral("–");
    return QStringLiteral("%1 … %2").arg(formatNumber(norm.*low, 3), formatNumber(norm.*high, 3));
  };
  return {title, meaning, shown, {{kSortRole, [=](const Info& norm) { return norm.*high - norm.*low; }}}};
}

qlonglong elementsOf(const Info& norm) {
  qlonglong elements = norm.normalized_shape.empty() ? 0 : 1;
  for (const int64_t size : norm.normalized_shape) elements *= size;
  return elements;
}

}  // namespace

NormTable::NormTable(QObject* parent)
    : RecordTable({},
                  {{NormRole, &Info::index},
                   {VerdictRole, verdictOf},
                   {PlanRole, [this](const Info& norm) { return static_cast<int>(markOf(norm).state); }}},
                  parent) {
  setRows({}, columns());
}

NormTable::Columns NormTable::columns() const {
  return {
      {tr("#"),
       tr("Its position in execution order."),
       [](const Info& norm) { return QString::number(norm.index + 1); },
       {{kSortRole, &Info::index}}},
      {tr("LayerNorm"),
       tr("The path of its module where the file has one, else its name."),
       textOf(&Info::title),
       {{Qt::ToolTipRole, textOf(&Info::name)}}},
      {tr("Verdict"),
       tr("Whether it can become an RMSNorm without changing any output."),
       [](const Info& norm) { return verdictTitle(norm.verdict); },
       {{kSortRole, verdictOf}}},
      {tr("Plan"),
       tr("What the plan makes of it, and whether that is proved."),
       [this](const Info& norm) { return planWord(markOf(norm).state); },
       {{Qt::ToolTipRole,
         [this](const Info& norm) {
           const PlanMark mark = markOf(norm);
           return mark.because.isEmpty() ? planMeaning(mark.state)
                                         : tr("%1 because %2.").arg(planBadge(mark.state), mark.because);
         }}}},
      {tr("Over"),
       tr("The trailing axes over which it takes mean and variance."),
       [](const Info& norm) {
         return norm.normalized_shape.empty() ? QStringLiteral("–") : formatShape(norm.normalized_shape);
       },
       {{kSortRole, elementsOf}}},
      {tr("Form"), tr("One node, written out as several, or fused with a neighbor."),
       [](const Info& norm) { return text(nameOf(norm.form)); }},
      {tr("Centerings"),
       tr("Run-time centerings that its fold rests on. For one that stays a LayerNorm: those that it would need."),
       [this](const Info& norm) { return QString::number(centeringsOf(norm)); },
       {{kSortRole, [this](const Info& norm) { return centeringsOf(norm); }}}},
      {tr("Shared with"),
       tr("Other norms that use the same centerings."),
       [](const Info& norm) { return QString::number(norm.shared_with.size()); },
       {{kSortRole, [](const Info& norm) { return static_cast<int>(norm.shared_with.size()); }}}},
      {tr("Saves"),
       tr("What folding it saves per run, measured here, with its 95% interval."),
       [this](const Info& norm) {
         const auto cost = costOf(norm);
         return !cost ? QStringLiteral("–") : formatGain(cost->saves);
       },
       {{kSortRole,
         [this](const Info& norm) {
           const auto cost = costOf(norm);
           return cost && cost->saves.isClear() ? cost->saves.us : 0;
         }}}},
      {tr("Paper"), tr("Foldable by Algorithm 1 of the paper."), tick(&Info::paper)},
      {tr("Practical"), tr("Foldable by the paper with run-time centering after opaque leaves."),
       tick(&Info::paper_practical)},
      {tr("Strict"), tr("Foldable by the paper's strict criterion (D.2)."), tick(&Info::paper_strict)},
      range(tr("γ"), tr("The range of its weight."), &Info::has_gamma, &Info::gamma_min, &Info::gamma_max),
      range(tr("β"), tr("The range of its bias."), &Info::has_beta, &Info::beta_min, &Info::beta_max),
      {tr("Reason"), tr("What decides the verdict."), textOf(&Info::reason)},
  };
}

void NormTable::setNorms(const std::vector<Info>& norms) {
  marks_.clear();
  costs_.clear();
  setRows(norms);
}

PlanMark NormTable::markOf(const Info& norm) const {
  const auto at = static_cast<size_t>(norm.index);
  return at < marks_.size() ? marks_[at] : PlanMark();
}

int NormTable::centeringsOf(const Info& norm) const {
  const PlanMark mark = markOf(norm);
  return mark.folds() ? mark.centerings : norm.centerings;
}

std::optional<NormCost> NormTable::costOf(const Info& norm) const {
  const auto at = static_cast<size_t>(norm.index);
  return at < costs_.size() ? costs_[at] : std::nullopt;
}

void NormTable::setCosts(std::vector<std::optional<NormCost>> costs) {
  costs_ = std::move(costs);
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, Saves), index(rowCount() - 1, Saves));
}

void NormTable::setPlan(std::vector<PlanMark> marks) {
  marks_ = std::move(marks);
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, InPlan), index(rowCount() - 1, Centerings));
}

int NormTable::rowOf(int norm) const {
  return rowWhere([&](const Info& info) { return info.index == norm; });
}

void NormSorter::setWords(const QString& words) {
  words_ = words.split(u' ', Qt::SkipEmptyParts);
  invalidateFilter();
}

void NormSorter::setGrouped(bool grouped) {
  if (grouped == grouped_) return;
  grouped_ = grouped;
  invalidate();
}

bool NormSorter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const auto field = [&](int column) { return sourceModel()->index(row, column, parent).data().toString(); };
  const QString searched =
      QStringList{field(NormTable::Name), field(NormTable::Verdict), field(NormTable::InPlan), field(NormTable::Reason)}
          .join(u' ');
  return std::all_of(words_.begin(), words_.end(),
                     [&](const QString& word) { return searched.contains(word, Qt::CaseInsensitive); });
}

bool NormSorter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  if (grouped_) {
    const int a = left.data(NormTable::VerdictRole).toInt(), b = right.data(NormTable::VerdictRole).toInt();
    // The groups keep their order when the column sorts downwards.
    if (a != b) return (a < b) == (sortOrder() == Qt::AscendingOrder);
  }
  return RecordSorter::lessThan(left, right);
}

}  // namespace normlens::ui
