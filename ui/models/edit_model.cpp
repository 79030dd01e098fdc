#include "ui/models/edit_model.h"

#include "ui/session/format.h"

namespace normlens::ui {

namespace {

QString kindWord(const std::string& kind) {
  if (kind == "center_constant") return EditModel::tr("Center weight");
  if (kind == "absorb_scale") return EditModel::tr("Absorb scale");
  if (kind == "absorb_shift") return EditModel::tr("Absorb β");
  if (kind == "insert_centering") return EditModel::tr("Center at run time");
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
  if (kind == "replace_norm") {
    return EditModel::tr("The input has zero mean by now, so RMSNorm gives the same output for less work.");
  }
  return {};
}

QChar classOf(const std::string& kind) {
  if (kind == "insert_centering") return u'A';
  if (kind == "replace_norm") return u'N';
  if (kind == "absorb_scale" || kind == "absorb_shift") return u'S';
  return u'L';
}

QString freesText(const IndexRanges& frees) {
  if (frees.empty()) return {};
  return frees.size() == 1 ? EditModel::tr("1 norm") : EditModel::tr("%1 norms").arg(frees.size());
}

}  // namespace

void EditModel::setEdits(const std::vector<protocol::EditInfo>& edits) {
  beginResetModel();
  edits_ = edits;
  endResetModel();
}

int EditModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(edits_.size());
}

int EditModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant EditModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const protocol::EditInfo& edit = edits_[static_cast<size_t>(index.row())];
  if (role == NodeRole) return edit.node;
  if (role == KindNameRole) return text(edit.kind);
  if (role == ClassRole) return QString(classOf(edit.kind));
  const bool number = index.column() == Bytes || index.column() == Grows || index.column() == Frees;
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue(Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft));
  if (role == Qt::ToolTipRole) return index.column() == Kind ? kindMeaning(edit.kind) : text(edit.text);
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case Kind:
      return kindWord(edit.kind);
    case What:
      return text(edit.text);
    case Bytes:
      return edit.bytes > 0 ? formatBytes(edit.bytes) : QString();
    case Grows:
      return edit.bytes_grown > 0 ? u'+' + formatBytes(edit.bytes_grown) : QString();
    case Frees:
      return freesText(edit.frees);
    default:
      return {};
  }
}

QVariant EditModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role == Qt::TextAlignmentRole && orientation == Qt::Horizontal) {
    const bool number = section == Bytes || section == Grows || section == Frees;
    return QVariant::fromValue(Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft));
  }
  if (orientation == Qt::Vertical) return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case Kind:
      return tr("Edit");
    case What:
      return tr("What");
    case Bytes:
      return tr("Written");
    case Grows:
      return tr("File grows");
    case Frees:
      return tr("Needed by");
    default:
      return {};
  }
}

}  // namespace normlens::ui
