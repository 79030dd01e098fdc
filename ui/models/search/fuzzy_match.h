// Scores how well typed letters fit a title: they must occur in it in this order, case does not matter.
#pragma once

#include <QString>
#include <QVector>
#include <optional>

namespace normlens::ui {

struct FuzzyMatch {
  int score = 0;           // higher is better
  QVector<int> positions;  // of the letters in the title
};

// Letters at the start of a word and letters that follow one another count more, gaps and long titles less. An empty
// pattern fits everything with score 0. Spaces in the pattern part words that may occur in any order.
[[nodiscard]] std::optional<FuzzyMatch> fuzzyMatch(const QString& pattern, const QString& title);

}  // namespace normlens::ui
