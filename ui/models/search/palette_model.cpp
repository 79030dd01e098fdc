#include "ui/models/search/palette_model.h"

#include <algorithm>

namespace normlens::ui {

void PaletteModel::setEntries(std::vector<PaletteEntry> entries) {
  beginResetModel();
  entries_ = std::move(entries);
  narrow();
  endResetModel();
}

void PaletteModel::setPattern(const QString& pattern) {
  beginResetModel();
  pattern_ = pattern.trimmed();
  narrow();
  endResetModel();
}

void PaletteModel::narrow() {
  shown_.clear();
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (auto match = fuzzyMatch(pattern_, entries_[i].title)) shown_.push_back({i, std::move(*match)});
  }
  std::stable_sort(shown_.begin(), shown_.end(), [&](const Shown& a, const Shown& b) {
    const bool aOn = entries_[a.entry].enabled, bOn = entries_[b.entry].enabled;
    return aOn != bOn ? aOn : a.match.score > b.match.score;
  });
  if (shown_.size() > kMostShown) shown_.resize(kMostShown);
}

void PaletteModel::run(int row) const {
  if (row < 0 || static_cast<size_t>(row) >= shown_.size()) return;
  const PaletteEntry& entry = entries_[shown_[static_cast<size_t>(row)].entry];
  const auto action = entry.run;  // running it may set the entries anew
  if (entry.enabled && action) action();
}

int PaletteModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant PaletteModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Shown& shown = shown_[static_cast<size_t>(index.row())];
  const PaletteEntry& entry = entries_[shown.entry];
  switch (role) {
    case Qt::DisplayRole:
      return entry.title;
    case Qt::AccessibleTextRole:
      return entry.hint.isEmpty() ? entry.title : QStringLiteral("%1, %2").arg(entry.title, entry.hint);
    case HintRole:
      return entry.hint;
    case IconRole:
      return entry.icon;
    case PositionsRole:
      return QVariant::fromValue(shown.match.positions);
    case EnabledRole:
      return entry.enabled;
    default:
      return {};
  }
}

Qt::ItemFlags PaletteModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren;
}

}  // namespace normlens::ui
