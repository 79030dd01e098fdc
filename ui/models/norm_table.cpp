#include "ui/models/norm_table.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/models/norm_model.h"
#include "ui/session/format.h"

namespace normlens::ui {

namespace {

struct Head {
  const char* title;
  const char* meaning;
};

const Head kHeads[NormTable::ColumnCount] = {
    {QT_TRANSLATE_NOOP("NormTable", "#"), QT_TRANSLATE_NOOP("NormTable", "Its place in order of execution.")},
    {QT_TRANSLATE_NOOP("NormTable", "LayerNorm"), QT_TRANSLATE_NOOP("NormTable", "Its name in the file.")},
    {QT_TRANSLATE_NOOP("NormTable", "Verdict"),
     QT_TRANSLATE_NOOP("NormTable", "Whether it can become an RMSNorm without changing any output.")},
    {QT_TRANSLATE_NOOP("NormTable", "In the plan"),
     QT_TRANSLATE_NOOP("NormTable", "What the plan does with it: it folds, it stays, or you keep it.")},
    {QT_TRANSLATE_NOOP("NormTable", "Over"),
     QT_TRANSLATE_NOOP("NormTable", "The trailing axes over which it takes mean and variance.")},
    {QT_TRANSLATE_NOOP("NormTable", "Form"),
     QT_TRANSLATE_NOOP("NormTable", "One operator, written out in several, or fused with a neighbour.")},
    {QT_TRANSLATE_NOOP("NormTable", "Centerings"),
     QT_TRANSLATE_NOOP("NormTable", "Run-time centerings that it needs to fold.")},
    {QT_TRANSLATE_NOOP("NormTable", "Shared with"),
     QT_TRANSLATE_NOOP("NormTable", "Other norms that the same centerings free.")},
    {QT_TRANSLATE_NOOP("NormTable", "Paper"), QT_TRANSLATE_NOOP("NormTable", "Foldable by Algorithm 1 of the paper.")},
    {QT_TRANSLATE_NOOP("NormTable", "Practical"),
     QT_TRANSLATE_NOOP("NormTable", "By the paper with auxiliary centering after opaque leaves.")},
    {QT_TRANSLATE_NOOP("NormTable", "Strict"),
     QT_TRANSLATE_NOOP("NormTable", "By the paper where every affected layer is a LayerNorm.")},
    {QT_TRANSLATE_NOOP("NormTable", "γ"), QT_TRANSLATE_NOOP("NormTable", "The range of its weight.")},
    {QT_TRANSLATE_NOOP("NormTable", "β"), QT_TRANSLATE_NOOP("NormTable", "The range of its bias.")},
    {QT_TRANSLATE_NOOP("NormTable", "Reason"), QT_TRANSLATE_NOOP("NormTable", "What decides the verdict.")},
};

QString range(bool has, double low, double high) {
  return has ? QStringLiteral("%1 … %2").arg(formatNumber(low, 3), formatNumber(high, 3)) : QStringLiteral("–");
}

QString tick(bool yes) { return yes ? NormTable::tr("yes") : NormTable::tr("no"); }

}  // namespace

void NormTable::setNorms(const std::vector<protocol::NormInfo>& norms) {
  beginResetModel();
  norms_ = norms;
  kept_.clear();
  folded_.clear();
  endResetModel();
}

void NormTable::setPlan(const std::vector<int>& kept, const std::vector<int>& folded) {
  kept_ = QSet<int>(kept.begin(), kept.end());
  folded_ = QSet<int>(folded.begin(), folded.end());
  if (!norms_.empty()) Q_EMIT dataChanged(index(0, InPlan), index(rowCount() - 1, InPlan));
}

int NormTable::rowOf(int norm) const {
  const auto found = std::find_if(norms_.begin(), norms_.end(), [&](const auto& info) { return info.index == norm; });
  return found == norms_.end() ? -1 : static_cast<int>(found - norms_.begin());
}

int NormTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(norms_.size());
}

int NormTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString NormTable::shown(const protocol::NormInfo& norm, int column) const {
  switch (column) {
    case Place:
      return QString::number(norm.index + 1);
    case Name:
      return text(norm.name);
    case Verdict:
      return verdictBadge(verdictFromName(norm.verdict));
    case InPlan:
      return kept_.contains(norm.index) ? tr("kept") : folded_.contains(norm.index) ? tr("folds") : tr("stays");
    case Over:
      return norm.normalized_shape.empty() ? QStringLiteral("–") : formatShape(norm.normalized_shape);
    case Form:
      return text(norm.form);
    case Centerings:
      return QString::number(norm.centerings);
    case Shared:
      return QString::number(norm.shared_with.size());
    case Paper:
      return tick(norm.paper);
    case Practical:
      return tick(norm.paper_practical);
    case Strict:
      return tick(norm.paper_strict);
    case Gamma:
      return range(norm.has_gamma, norm.gamma_min, norm.gamma_max);
    case Beta:
      return range(norm.has_beta, norm.beta_min, norm.beta_max);
    case Reason:
      return text(norm.reason);
    default:
      return {};
  }
}

QVariant NormTable::sortKey(const protocol::NormInfo& norm, int column) const {
  switch (column) {
    case Place:
      return norm.index;
    case Verdict:
      return static_cast<int>(verdictFromName(norm.verdict));
    case Over: {
      qlonglong elements = norm.normalized_shape.empty() ? 0 : 1;
      for (const int64_t size : norm.normalized_shape) elements *= size;
      return elements;
    }
    case Centerings:
      return norm.centerings;
    case Shared:
      return static_cast<int>(norm.shared_with.size());
    case Gamma:
      return norm.gamma_max - norm.gamma_min;
    case Beta:
      return norm.beta_max - norm.beta_min;
    default:
      return shown(norm, column);
  }
}

QVariant NormTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const protocol::NormInfo& norm = norms_[static_cast<size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return shown(norm, index.column());
    case NormRole:
      return norm.index;
    case VerdictRole:
      return static_cast<int>(verdictFromName(norm.verdict));
    case SortRole:
      return sortKey(norm, index.column());
    default:
      return {};
  }
}

QVariant NormTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical || section < 0 || section >= ColumnCount) return {};
  if (role == Qt::DisplayRole) return QCoreApplication::translate("NormTable", kHeads[section].title);
  if (role == Qt::ToolTipRole) return QCoreApplication::translate("NormTable", kHeads[section].meaning);
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignVCenter | Qt::AlignLeft);
  return {};
}

NormSorter::NormSorter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(NormTable::SortRole);
  setDynamicSortFilter(true);
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
  const QVariant a = left.data(NormTable::SortRole), b = right.data(NormTable::SortRole);
  const auto order = a.typeId() == QMetaType::QString ? QPartialOrdering::Unordered : QVariant::compare(a, b);
  const int byText = QString::localeAwareCompare(a.toString(), b.toString());
  const bool less = order == QPartialOrdering::Unordered ? byText < 0 : order == QPartialOrdering::Less;
  const bool equal = order == QPartialOrdering::Unordered ? byText == 0 : order == QPartialOrdering::Equivalent;
  if (!equal) return less;
  return left.data(NormTable::NormRole).toInt() < right.data(NormTable::NormRole).toInt();
}

}  // namespace normlens::ui
