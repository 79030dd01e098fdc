// Parses what is typed into the search box: words that must all be found in a node or module.
//
//   softmax                   anywhere: name, op, class
//   op:matmul shape:1024x768  in one field only: name, op, shape, dtype, attr
//   name:/ln_[12]$/           a regular expression between slashes, in a field or anywhere
//   attr:axis=-1              an attribute by name and value
//   "masks and positions"     quotes keep words together
// Letters match whatever their case. Thread: value type.
#pragma once

#include <QRegularExpression>
#include <QString>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

class ModelIndex;

enum class SearchField : uint8_t { Anywhere, Name, Op, Shape, Dtype, Attribute };

struct SearchTerm {
  SearchField field = SearchField::Anywhere;
  QString text;                // case-folded; of a regular expression its source
  QRegularExpression pattern;  // empty unless it is one
  bool isPattern = false;
};

class SearchQuery {
 public:
  // These rank a fit: the whole name, its end after a dot, its beginning, somewhere in it; by op, class, shape, type or
  // attribute.
  static constexpr int kNoMatch = -1, kWhole = 0, kEnd = 1, kBeginning = 2, kInside = 3, kElsewhere = 4;

  SearchQuery() = default;
  explicit SearchQuery(const QString& typed);

  [[nodiscard]] bool empty() const { return terms_.empty(); }
  // Returns what is wrong with a regular expression, in a sentence; empty: nothing.
  [[nodiscard]] const QString& error() const { return error_; }
  [[nodiscard]] const std::vector<SearchTerm>& terms() const { return terms_; }

  // The rank of the term that fits worst.
  [[nodiscard]] int rankName(const QString& name) const;  // Ranks something that has a name and nothing else.
  [[nodiscard]] int rankScope(const protocol::GraphScope& scope) const;
  [[nodiscard]] int rankNode(const protocol::GraphNode& node, const ModelIndex& index) const;

 private:
  std::vector<SearchTerm> terms_;
  QString error_;
};

}  // namespace normlens::ui
