#include "ui/models/search/palette_model.h"

#include <algorithm>

namespace normlens::ui {
namespace {

constexpr int kLetter = 1, kFollows = 4, kStartsWord = 6, kWholeWord = 12;

bool startsWord(const QString& title, qsizetype at) {
  return at == 0 || !title[at - 1].isLetterOrNumber() || (title[at].isUpper() && title[at - 1].isLower());
}

bool same(QChar a, QChar b) { return a.toCaseFolded() == b.toCaseFolded(); }

FuzzyMatch contiguous(const QString& title, qsizetype at, qsizetype length) {
  FuzzyMatch match;
  match.score = kLetter + static_cast<int>(length - 1) * (kLetter + kFollows);
  if (startsWord(title, at)) match.score += kStartsWord;
  const bool ends = at + length == title.size() || !title[at + length].isLetterOrNumber();
  if (startsWord(title, at) && ends) match.score += kWholeWord;
  for (qsizetype i = 0; i < length; ++i) match.positions << static_cast<int>(at + i);
  return match;
}

// The letters one by one from `from` on, each where it comes first.
std::optional<FuzzyMatch> scattered(const QString& word, const QString& title, qsizetype from) {
  FuzzyMatch match;
  qsizetype at = from;
  qsizetype last = -2;
  for (const QChar letter : word) {
    while (at < title.size() && !same(title[at], letter)) ++at;
    if (at == title.size()) return std::nullopt;
    match.score += kLetter + (at == last + 1 ? kFollows : 0) + (startsWord(title, at) ? kStartsWord : 0);
    match.positions << static_cast<int>(at);
    last = at++;
  }
  match.score -= static_cast<int>(last - match.positions.constFirst() + 1 - word.size()) / 2;  // the gaps
  return match;
}

void keepBetter(std::optional<FuzzyMatch>& best, std::optional<FuzzyMatch> other) {
  if (other && (!best || other->score > best->score)) best = std::move(other);
}

std::optional<FuzzyMatch> matchWord(const QString& word, const QString& title) {
  std::optional<FuzzyMatch> best;
  for (qsizetype at = title.indexOf(word, 0, Qt::CaseInsensitive); at >= 0;
       at = title.indexOf(word, at + 1, Qt::CaseInsensitive)) {
    keepBetter(best, contiguous(title, at, word.size()));
  }
  if (best) return best;
  for (qsizetype at = 0; at < title.size(); ++at) {
    if (same(title[at], word[0])) keepBetter(best, scattered(word, title, at));
  }
  return best;
}

}  // namespace

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

std::optional<FuzzyMatch> fuzzyMatch(const QString& pattern, const QString& title) {
  FuzzyMatch match;
  for (const QString& word : pattern.split(u' ', Qt::SkipEmptyParts)) {
    auto found = matchWord(word, title);
    if (!found) return std::nullopt;
    match.score += found->score;
    match.positions += found->positions;
  }
  if (!match.positions.isEmpty()) match.score -= static_cast<int>(title.size()) / 16;
  std::sort(match.positions.begin(), match.positions.end());
  match.positions.erase(std::unique(match.positions.begin(), match.positions.end()), match.positions.end());
  return match;
}

}  // namespace normlens::ui
