#include "ui/models/edit_model.h"

#include <algorithm>

#include "ui/session/format.h"

namespace normlens::ui {

namespace {

QString kindWord(const std::string& kind) {
  if (kind == "center_constant") return EditModel::tr("Center weight");
  if (kind == "absorb_scale") return EditModel::tr("Absorb scale");
  if (kind == "absorb_shift") return EditModel::tr("Absorb β");
  if (kind == "insert_centering") return EditModel::tr("Center at run time");
  if (kind == "drop_addend") return EditModel::tr("Drop addend");
  if (kind == "replace_norm") return EditModel::tr("LayerNorm → RMSNorm");
  return text(kind);
}

QString kindMeaning(const std::string& kind) {
  if (kind == "center_constant") {
    return EditModel::tr("Subtracts the column means from a weight once, in the file; free at run time.");
  }
  if (kind == "absorb_scale") {
    return EditModel::tr("Multiplies a per-channel scale into the weight before it; free at run time.");
  }
  if (kind == "absorb_shift") {
    return EditModel::tr(
        "Adds what the norm's β contributes to the biases behind it once, in the file: RMSNorm then "
        "needs no β at run time.");
  }
  if (kind == "insert_centering") return EditModel::tr("Subtracts the mean at run time; costs time at each run.");
  if (kind == "drop_addend") {
    return EditModel::tr(
        "An addend or fill that is constant along the channels moves nothing but the mean: 0 takes its place.");
  }
  if (kind == "replace_norm") {
    return EditModel::tr("The input has zero mean by now, so RMSNorm gives the same output for less work.");
  }
  return {};
}

QChar classOf(const std::string& kind) {
  if (kind == "insert_centering") return u'A';
  if (kind == "replace_norm") return u'N';
  if (kind == "drop_addend") return u'Z';
  if (kind == "absorb_scale" || kind == "absorb_shift") return u'S';
  return u'L';
}

QString microseconds(double value) {
  return EditModel::tr("%1 µs a run")
      .arg(QStringLiteral("%1%2")
               .arg(value < 0 ? QStringLiteral("−") : QStringLiteral("+"))
               .arg(qAbs(value), 0, 'f', 1));
}

QString costOf(const protocol::EditInfo& edit, const protocol::NormPrices& prices) {
  const bool measured = prices.rows > 0;
  if (edit.kind == "insert_centering") {
    return measured ? microseconds(prices.centering_us) : EditModel::tr("one mean a run");
  }
  if (edit.kind == "replace_norm") {
    return measured ? microseconds(prices.rms_norm_us - prices.layer_norm_us) : EditModel::tr("saves a mean a run");
  }
  if (edit.bytes_grown > 0) return EditModel::tr("file grows by %1").arg(formatBytes(edit.bytes_grown));
  return edit.bytes > 0 ? EditModel::tr("rewrites %1").arg(formatBytes(edit.bytes)) : QString();
}

QString freesText(const EditLine& line) {
  const int64_t count = line.row.edit.frees.size();
  if (count == 1 && !line.norms.isEmpty()) return line.norms.constFirst();
  return count > 0 ? EditModel::tr("%1 norms").arg(count) : QString();
}

QString nameList(const EditLine& line) {
  QString list = line.norms.join(u'\n');
  const int64_t more = line.row.edit.frees.size() - line.norms.size();
  if (more > 0) list += u'\n' + EditModel::tr("and %n more", nullptr, static_cast<int>(more));
  return list;
}

bool sameEdits(const std::vector<EditLine>& a, const std::vector<EditLine>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const EditLine& x, const EditLine& y) {
    return x.row.edit.kind == y.row.edit.kind && x.row.edit.text == y.row.edit.text &&
           x.row.edit.node == y.row.edit.node;
  });
}

}  // namespace

void EditModel::setLines(std::vector<EditLine> lines, const protocol::NormPrices& prices) {
  const bool same = sameEdits(lines_, lines);  // then selection and scroll position stay
  if (!same) beginResetModel();
  lines_ = std::move(lines);
  prices_ = prices;
  if (!same) {
    endResetModel();
  } else if (!lines_.empty()) {
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
  }
}

int EditModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size());
}

int EditModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString EditModel::shown(const EditLine& line, int column) const {
  switch (column) {
    case Kind:
      return kindWord(line.row.edit.kind);
    case What:
      return text(line.row.edit.text);
    case Where:
      return line.where;
    case Cost:
      return costOf(line.row.edit, prices_);
    case Frees:
      return freesText(line);
    default:
      return {};
  }
}

QVariant EditModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const EditLine& at = line(index.row());
  const protocol::EditInfo& edit = at.row.edit;
  switch (role) {
    case Qt::DisplayRole:
      return shown(at, index.column());
    case Qt::CheckStateRole:
      return index.column() == Kind ? QVariant(static_cast<int>(at.row.on ? Qt::Checked : Qt::Unchecked)) : QVariant();
    case Qt::ToolTipRole:
      if (index.column() == Kind) return kindMeaning(edit.kind);
      if (index.column() == Frees) return nameList(at);
      return shown(at, index.column());
    case Qt::AccessibleTextRole:
      return index.column() == Kind ? QStringLiteral("%1: %2").arg(kindWord(edit.kind), text(edit.text))
                                    : shown(at, index.column());
    case NodeRole:
      return edit.node;
    case KindNameRole:
      return text(edit.kind);
    case ClassRole:
      return QString(classOf(edit.kind));
    default:
      return {};
  }
}

bool EditModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || role != Qt::CheckStateRole || index.column() != Kind) return false;
  const bool on = value.toInt() == Qt::Checked;
  if (on == line(index.row()).row.on) return false;
  Q_EMIT switched(index.row(), on);
  return true;
}

Qt::ItemFlags EditModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  const Qt::ItemFlags flags = QAbstractTableModel::flags(index) | Qt::ItemNeverHasChildren;
  return index.column() == Kind ? flags | Qt::ItemIsUserCheckable : flags;
}

QVariant EditModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical) return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignVCenter | Qt::AlignLeft);
  static const char* const titles[] = {QT_TR_NOOP("Edit"), QT_TR_NOOP("What"), QT_TR_NOOP("Where"),
                                       QT_TR_NOOP("Cost or gain"), QT_TR_NOOP("Needed by")};
  static const char* const meanings[] = {
      QT_TR_NOOP("Untick an edit to leave it out: the norms that need it then stay LayerNorms."),
      QT_TR_NOOP("What is done, in words."), QT_TR_NOOP("The module in which it is done."),
      QT_TR_NOOP("What it writes into the file, or costs or saves at each run."),
      QT_TR_NOOP("The LayerNorms that cannot fold without this edit.")};
  if (section < 0 || section >= ColumnCount) return {};
  if (role == Qt::DisplayRole) return tr(titles[section]);
  if (role == Qt::ToolTipRole) return tr(meanings[section]);
  return {};
}

}  // namespace normlens::ui
