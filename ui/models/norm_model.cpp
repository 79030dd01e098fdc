#include "ui/models/norm_model.h"

#include <algorithm>

#include "ui/words/format.h"

namespace normlens::ui {

namespace {

// internalId of a group is 0, of a norm its group's row + 1.
constexpr quintptr kGroupId = 0;

// Characters that all names begin with, up to a dot: "m.model." of "m.model.a.ln" and "m.model.b.ln". 0: of one name.
qsizetype sharedStart(const QStringList& names) {
  if (names.size() < 2) return 0;
  qsizetype shared = names.first().size();
  for (const QString& name : names) {
    shared = std::mismatch(names.first().begin(), names.first().begin() + shared, name.begin(), name.end()).first -
             names.first().begin();
  }
  return names.first().left(shared).lastIndexOf(u'.') + 1;
}

// The same at their ends, from a dot on: ".LayerNorm". No name is that alone.
qsizetype sharedEnd(QStringList names) {
  for (QString& name : names) std::ranges::reverse(name);
  const qsizetype shared = sharedStart(names);
  return std::ranges::all_of(names, [&](const QString& name) { return name.size() > shared; }) ? shared : 0;
}

quintptr idOfGroup(size_t group) { return quintptr{group} + 1; }

size_t groupOf(const QModelIndex& child) { return static_cast<size_t>(child.internalId() - 1); }

}  // namespace

void NormModel::setNorms(const std::vector<protocol::NormInfo>& norms, bool early) {
  beginResetModel();
  early_ = early;
  for (auto& group : groups_) group.clear();
  QStringList names;
  for (const protocol::NormInfo& norm : norms) names << text(norm.title);
  const qsizetype start = sharedStart(names);
  for (QString& name : names) name.remove(0, start);
  const qsizetype end = sharedEnd(names);
  sharedEnds_.clear();
  if (start + end > 0)
    sharedEnds_ = (text(norms.front().title).left(start) + QStringLiteral(" … ") + names.first().right(end)).trimmed();
  for (size_t i = 0; i < norms.size(); ++i) {
    const protocol::NormInfo& norm = norms[i];
    const QString width = norm.normalized_shape.empty() ? QString() : formatShape(norm.normalized_shape);
    groups_[static_cast<size_t>(norm.verdict)].push_back(
        {norm.index, text(norm.title), names[static_cast<qsizetype>(i)].chopped(end), text(norm.reason), width, {}});
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    QStringList shown;
    for (const Row& row : groups_[g]) shown << row.shown;
    shared_[g] = shown.isEmpty() ? QString() : shown.first().left(sharedStart(shown));
    for (Row& row : groups_[g]) row.shown.remove(0, shared_[g].size());
  }
  endResetModel();
}

void NormModel::setPlan(const std::vector<PlanMark>& marks) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    bool changed = false;
    for (size_t r = 0; r < groups_[g].size(); ++r) {
      Row& row = groups_[g][r];
      const auto norm = static_cast<size_t>(row.norm);
      const PlanMark mark = norm < marks.size() ? marks[norm] : PlanMark();
      if (mark == row.mark) continue;
      row.mark = mark;
      changed = true;
      const QModelIndex at = createIndex(static_cast<int>(r), 0, idOfGroup(g));
      Q_EMIT dataChanged(at, at, {PlanRole, PlanWordRole, ReasonRole});
    }
    const QModelIndex group = createIndex(static_cast<int>(g), 0, kGroupId);
    if (changed) Q_EMIT dataChanged(group, group, {PlanWordRole});
  }
}

QModelIndex NormModel::indexOfNorm(int norm) const {
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (size_t r = 0; r < groups_[g].size(); ++r) {
      if (groups_[g][r].norm == norm) return createIndex(static_cast<int>(r), 0, idOfGroup(g));
    }
  }
  return {};
}

QModelIndex NormModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return parent.isValid() ? createIndex(row, column, idOfGroup(static_cast<size_t>(parent.row())))
                          : createIndex(row, column, kGroupId);
}

QModelIndex NormModel::parent(const QModelIndex& child) const {
  if (!child.isValid() || child.internalId() == kGroupId) return {};
  return createIndex(static_cast<int>(groupOf(child)), 0, kGroupId);
}

int NormModel::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return groups_.back().empty() ? kVerdicts - 1 : kVerdicts;
  if (parent.internalId() != kGroupId || parent.column() != 0) return 0;
  return static_cast<int>(groups_[static_cast<size_t>(parent.row())].size());
}

int NormModel::columnCount(const QModelIndex&) const { return 1; }

QVariant NormModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  if (role == EarlyRole) return early_;
  if (index.internalId() == kGroupId) return groupData(static_cast<Verdict>(index.row()), role);
  return rowData(static_cast<Verdict>(groupOf(index)), groups_[groupOf(index)][static_cast<size_t>(index.row())], role);
}

// "7 folded, 1 stays"; where all are alike the one count. What folds against its verdict has a centering.
QString NormModel::groupPlan(Verdict verdict, const std::vector<Row>& rows) {
  const auto count = [&](auto of) { return std::count_if(rows.begin(), rows.end(), of); };
  const auto folded = count([](const Row& row) { return row.mark.folded(); });
  const auto other = count([](const Row& row) { return row.mark.state == PlanState::OtherOutputs; });
  const auto fall = count([](const Row& row) { return row.mark.state == PlanState::WouldFall; });
  const auto notRun = count([](const Row& row) { return row.mark.state == PlanState::NotRun; });
  const auto folds = count([](const Row& row) { return row.mark.folds(); }) - folded - other - fall;
  const auto kept = count([](const Row& row) { return row.mark.state == PlanState::Kept; });
  QStringList parts;
  const bool against = verdict == Verdict::Blocked && std::ranges::all_of(rows, [](const Row& row) {
                         return row.mark.centerings > 0 || !row.mark.folds();
                       });
  if (folded > notRun) parts << (against ? tr("%1 folded with a centering") : tr("%1 folded")).arg(folded - notRun);
  if (notRun > 0) parts << tr("%1 folded, not run").arg(notRun);
  if (folds > 0) parts << (against ? tr("%1 will fold with a centering") : tr("%1 will fold")).arg(folds);
  if (other > 0) parts << tr("%1 with different outputs").arg(other);
  if (fall > 0) parts << tr("%1 would stay").arg(fall);
  if (kept > 0) parts << (kept == 1 ? tr("1 stays") : tr("%1 stay").arg(kept));
  return parts.join(QStringLiteral(", "));
}

// Returns why it can or cannot fold, and where the plan does something else, why.
QString NormModel::reasonOf(const Row& row) {
  if (row.mark.because.isEmpty() || row.reason.contains(row.mark.because, Qt::CaseInsensitive)) return row.reason;
  return row.reason + u' ' + tr("%1 because %2.").arg(planBadge(row.mark.state), row.mark.because);
}

QVariant NormModel::groupData(Verdict verdict, int role) const {
  const int count = static_cast<int>(groups_[static_cast<size_t>(verdict)].size());
  switch (role) {
    case Qt::DisplayRole:
      return verdictTitle(verdict);
    case Qt::ToolTipRole: {
      QString words = verdictMeaning(verdict);
      if (const QString& shared = shared_[static_cast<size_t>(verdict)]; !shared.isEmpty())
        words += u'\n' + tr("All names here begin with %1").arg(shared);
      return words + (count > 0 ? u'\n' + groupPlan(verdict, groups_[static_cast<size_t>(verdict)]) : QString());
    }
    case Qt::AccessibleTextRole:
      return QStringLiteral("%1, %2").arg(verdictTitle(verdict)).arg(count);
    case IsGroupRole:
      return true;
    case VerdictRole:
      return static_cast<int>(verdict);
    case NormRole:
      return -1;
    case CountRole:
      return count;
    case SharedRole:
      return shared_[static_cast<size_t>(verdict)];
    case PlanWordRole:
      return groupPlan(verdict, groups_[static_cast<size_t>(verdict)]);
    case SortRole:
      return static_cast<int>(verdict);
    default:
      return {};
  }
}

QVariant NormModel::rowData(Verdict verdict, const Row& row, int role) {
  switch (role) {
    case Qt::DisplayRole:
      return row.shown;
    case NameRole:
      return row.name;
    case Qt::ToolTipRole:
      return row.mark.state == PlanState::Unknown
                 ? row.name + u'\n' + row.reason
                 : QStringLiteral("%1\n%2\n%3").arg(row.name, planWord(row.mark.state), row.reason);
    case Qt::AccessibleTextRole:
      return row.mark.state == PlanState::Unknown
                 ? QStringLiteral("%1: %2").arg(row.name, verdictTitle(verdict))
                 : QStringLiteral("%1: %2, %3").arg(row.name, verdictTitle(verdict), planWord(row.mark.state));
    case Qt::AccessibleDescriptionRole:
    case ReasonRole:
      return reasonOf(row);
    case IsGroupRole:
      return false;
    case VerdictRole:
      return static_cast<int>(verdict);
    case NormRole:
      return row.norm;
    case WidthRole:
      return row.width;
    case PlanRole:
      return static_cast<int>(row.mark.state);
    case PlanWordRole:
      return planWord(row.mark.state);
    case SortRole:
      return row.norm;
    default:
      return {};
  }
}

Qt::ItemFlags NormModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  if (index.internalId() == kGroupId) return Qt::ItemIsEnabled;
  return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren;
}

}  // namespace normlens::ui
