#include "ui/models/search/fuzzy_match.h"

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
