#include "core/formats/einsum_equation.h"

#include <algorithm>
#include <set>

namespace normlens::formats {
namespace {

// Splits an equation into the letters of each operand and of the result; spaces dropped. Lower and upper case letters
// that are free to stand for an ellipsis follow.
struct Equation {
  std::vector<std::string> inputs;
  std::optional<std::string> output;
};

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Equation parseEquation(const std::string& text) {
  Equation equation;
  equation.inputs.emplace_back();
  bool inOutput = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '-') {
      inOutput = true;
      equation.output.emplace();
      ++i;  // the '>'
    } else if (c == ',') {
      equation.inputs.emplace_back();
    } else {
      (inOutput ? *equation.output : equation.inputs.back()) += c;
    }
  }
  return equation;
}

// The letters that stand for "..." in an operand of this rank: the last `count` of `pool`, as ellipses align right.
std::optional<std::string> expanded(const std::string& term, const std::string& pool, int64_t count) {
  const size_t dots = term.find("...");
  if (dots == std::string::npos) return term;
  if (count < 0 || count > static_cast<int64_t>(pool.size())) return std::nullopt;
  return term.substr(0, dots) + pool.substr(pool.size() - static_cast<size_t>(count)) + term.substr(dots + 3);
}

bool isTerm(std::string_view term) {
  bool dots = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (!dots && term.substr(i, 3) == "...") {
      dots = true;
      i += 2;
    } else if (term[i] != ' ' && !isLetter(term[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool isEquation(std::string_view text) {
  const size_t arrow = text.find("->");
  if (arrow != std::string_view::npos && !isTerm(text.substr(arrow + 2))) return false;
  std::string_view inputs = text.substr(0, arrow);
  for (size_t comma = inputs.find(','); comma != std::string_view::npos; comma = inputs.find(',')) {
    if (!isTerm(inputs.substr(0, comma))) return false;
    inputs.remove_prefix(comma + 1);
  }
  return isTerm(inputs);
}

std::optional<std::string> plainEquation(const std::string& text,
                                         const std::vector<std::optional<graph::Shape>>& shapes) {
  if (!isEquation(text)) return std::nullopt;
  Equation equation = parseEquation(text);
  std::string pool;
  for (char c = 'A'; c <= 'Z'; ++c) {
    if (text.find(c) == std::string::npos) pool += c;
  }
  int64_t widest = 0;
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    std::string& term = equation.inputs[i];
    if (term.find("...") == std::string::npos) continue;
    if (i >= shapes.size() || !shapes[i]) return std::nullopt;
    const int64_t count = static_cast<int64_t>(shapes[i]->size()) - static_cast<int64_t>(term.size() - 3);
    auto plain = expanded(term, pool, count);
    if (!plain) return std::nullopt;
    term = std::move(*plain);
    widest = std::max(widest, count);
  }
  std::string output;
  if (equation.output) {
    auto plain = expanded(*equation.output, pool, widest);
    if (!plain) return std::nullopt;
    output = std::move(*plain);
  } else {  // letters that occur once, in alphabetical order, behind those of the ellipsis
    std::multiset<char> letters;
    for (const std::string& term : equation.inputs) letters.insert(term.begin(), term.end());
    output = pool.substr(pool.size() - static_cast<size_t>(widest));
    for (const char c : std::set<char>(letters.begin(), letters.end())) {
      if (letters.count(c) == 1 && output.find(c) == std::string::npos) output += c;
    }
  }
  std::string plain;
  for (const std::string& term : equation.inputs) plain += (plain.empty() ? "" : ",") + term;
  return plain + "->" + output;
}

}  // namespace normlens::formats
