#include "ui/models/search/search_query.h"

#include <QCoreApplication>
#include <algorithm>
#include <optional>

#include "ui/session/model_index.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

struct Prefix {
  const char* word;
  SearchField field;
};
constexpr Prefix kPrefixes[] = {{"name:", SearchField::Name},
                                {"op:", SearchField::Op},
                                {"shape:", SearchField::Shape},
                                {"dtype:", SearchField::Dtype},
                                {"attr:", SearchField::Attribute}};

// Words at spaces, except inside quotes and between slashes. Quotes are taken off.
QStringList wordsOf(const QString& text) {
  QStringList words;
  QString word;
  QChar within;  // the quote or slash that is open
  for (const QChar c : text) {
    const bool slashOpens = c == u'/' && (word.isEmpty() || word.endsWith(u':'));
    if (within.isNull() && (c == u'"' || slashOpens)) {
      within = c;
    } else if (c == within) {
      within = QChar();
    } else if (within.isNull() && c.isSpace()) {
      if (!word.isEmpty()) words << word;
      word.clear();
      continue;
    }
    if (c != u'"') word += c;
  }
  if (!word.isEmpty()) words << word;
  return words;
}

bool found(const SearchTerm& term, const QString& in) {
  return term.isPattern ? term.pattern.match(in).hasMatch() : in.contains(term.text, Qt::CaseInsensitive);
}

int rankIn(const SearchTerm& term, const QString& name) {
  if (term.isPattern) return found(term, name) ? SearchQuery::kInside : SearchQuery::kNoMatch;
  const qsizetype at = name.lastIndexOf(term.text, -1, Qt::CaseInsensitive);
  if (at < 0) return SearchQuery::kNoMatch;
  const bool wordStarts = at == 0 || !name[at - 1].isLetterOrNumber();
  if (wordStarts && at + term.text.size() == name.size()) return at == 0 ? SearchQuery::kWhole : SearchQuery::kEnd;
  return at == 0 ? SearchQuery::kBeginning : SearchQuery::kInside;
}

// "1024x768", "1024×768", "[1024, 768]", "?x768": sizes that follow each other somewhere in the shape.
std::optional<std::vector<int64_t>> sizesIn(QString text) {
  constexpr int64_t kAnySize = -2;
  text.remove(u'[').remove(u']').remove(u'(').remove(u')').remove(u' ');
  text.replace(u'×', u'x').replace(u',', u'x').replace(u'*', u'?');
  std::vector<int64_t> sizes;
  for (const QString& part : text.split(u'x', Qt::SkipEmptyParts)) {
    bool number = false;
    const int64_t size = part == u'?' ? kAnySize : part.toLongLong(&number);
    if (!number && size != kAnySize) return std::nullopt;
    sizes.push_back(size);
  }
  return sizes.empty() ? std::nullopt : std::optional(sizes);
}

bool hasShape(const SearchTerm& term, const protocol::GraphValue& value) {
  if (!value.has_shape) return false;
  if (term.isPattern) return found(term, formatShape(value.shape));
  if (value.shape.empty()) return term.text == u"scalar";
  const auto wanted = sizesIn(term.text);
  if (!wanted) return false;
  return std::search(value.shape.begin(), value.shape.end(), wanted->begin(), wanted->end(),
                     [](int64_t have, int64_t want) { return want < -1 || have == want; }) != value.shape.end();
}

template <class Test>
bool anyValue(const protocol::GraphNode& node, const ModelIndex& index, Test test) {
  for (const auto* ids : {&node.outputs, &node.inputs}) {
    for (const int id : *ids) {
      const protocol::GraphValue* value = index.value(id);
      if (value != nullptr && test(*value)) return true;
    }
  }
  return false;
}

bool hasAttribute(const SearchTerm& term, const protocol::GraphNode& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const auto& attribute) {
    return found(term, text(attribute.first) + u'=' + text(attribute.second));
  });
}

int rankTerm(const SearchTerm& term, const protocol::GraphNode& node, const ModelIndex& index) {
  const auto elsewhere = [](bool is) { return is ? SearchQuery::kElsewhere : SearchQuery::kNoMatch; };
  switch (term.field) {
    case SearchField::Name:
      return rankIn(term, index.nodeTitle(node.id));
    case SearchField::Op:
      return elsewhere(found(term, text(node.op)));
    case SearchField::Shape:
      return elsewhere(anyValue(node, index, [&](const auto& value) { return hasShape(term, value); }));
    case SearchField::Dtype:
      return elsewhere(anyValue(node, index, [&](const auto& value) { return found(term, text(value.dtype)); }));
    case SearchField::Attribute:
      return elsewhere(hasAttribute(term, node));
    case SearchField::Anywhere:
      break;
  }
  const int byName = rankIn(term, index.nodeTitle(node.id));
  return byName != SearchQuery::kNoMatch ? byName : elsewhere(found(term, text(node.op)));
}

// The worst of the terms; all must match.
template <class Rank>
int together(const std::vector<SearchTerm>& terms, Rank rank) {
  int worst = terms.empty() ? SearchQuery::kNoMatch : SearchQuery::kWhole;
  for (const SearchTerm& term : terms) {
    const int one = rank(term);
    if (one == SearchQuery::kNoMatch) return one;
    worst = std::max(worst, one);
  }
  return worst;
}

bool isNameField(const SearchTerm& term) {
  return term.field == SearchField::Name || term.field == SearchField::Anywhere;
}

}  // namespace

SearchQuery::SearchQuery(const QString& typed) {
  for (QString word : wordsOf(typed)) {
    SearchTerm term;
    for (const Prefix& prefix : kPrefixes) {
      if (!word.startsWith(QLatin1String(prefix.word), Qt::CaseInsensitive)) continue;
      term.field = prefix.field;
      word.remove(0, static_cast<int>(qstrlen(prefix.word)));
      break;
    }
    const bool slashes = word.size() > 2 && word.startsWith(u'/') && word.endsWith(u'/');
    if (word.isEmpty()) continue;  // a prefix without a word yet
    term.isPattern = slashes;
    term.text = slashes ? word.mid(1, word.size() - 2) : word;
    if (term.isPattern) {
      term.pattern = QRegularExpression(term.text, QRegularExpression::CaseInsensitiveOption);
      if (!term.pattern.isValid()) {
        error_ = QCoreApplication::translate("SearchQuery", "The regular expression is not complete: %1.")
                     .arg(term.pattern.errorString());
        terms_.clear();
        return;
      }
    }
    terms_.push_back(std::move(term));
  }
}

int SearchQuery::rankName(const QString& name) const {
  return together(terms_, [&](const SearchTerm& term) { return isNameField(term) ? rankIn(term, name) : kNoMatch; });
}

int SearchQuery::rankScope(const protocol::GraphScope& scope) const {
  return together(terms_, [&](const SearchTerm& term) {
    if (!isNameField(term)) return kNoMatch;
    const int byName = rankIn(term, text(scope.path));
    if (byName != kNoMatch || term.field == SearchField::Name) return byName;
    return found(term, text(scope.type)) ? kElsewhere : kNoMatch;
  });
}

int SearchQuery::rankNode(const protocol::GraphNode& node, const ModelIndex& index) const {
  return together(terms_, [&](const SearchTerm& term) { return rankTerm(term, node, index); });
}

}  // namespace normlens::ui
