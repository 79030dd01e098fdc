#include "ui/models/search_model.h"

namespace normlens::ui {

void SearchModel::setEntries(std::vector<Entry> entries) {
  beginResetModel();
  entries_ = std::move(entries);
  endResetModel();
}

int SearchModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

QVariant SearchModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Entry& entry = entries_[static_cast<size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
      return entry.title;
    case TargetRole:
      return static_cast<int>(entry.target);
    case IdRole:
      return entry.id;
    case HintRole:
      return entry.hint;
    case IconRole:
      return entry.icon;
    default:
      return {};
  }
}

}  // namespace normlens::ui
