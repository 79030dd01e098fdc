#include "core/formats/einsum_equation.h"

#include <algorithm>
#include <set>

namespace normlens::formats {
namespace {

struct Equation {
  std::vector<std::string> inputs;
  std::optional<std::string> output;
};

// Letters and at most one "...".
bool isTerm(std::string term) {
  if (const size_t dots = term.find("..."); dots != std::string::npos) term.erase(dots, 3);
  return std::ranges::all_of(term, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// The letters of each operand and of the result.
std::optional<Equation> parsed(std::string text) {
  std::erase(text, ' ');
  Equation equation;
  if (const size_t arrow = text.find("->"); arrow != std::string::npos) {
    equation.output = text.substr(arrow + 2);
    text.erase(arrow);
  }
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    equation.inputs.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  const bool good = std::ranges::all_of(equation.inputs, isTerm) && isTerm(equation.output.value_or(""));
  return good ? std::optional(std::move(equation)) : std::nullopt;
}

// The letters that stand for "..." in an operand of this rank: the last `count` of `pool`, as ellipses align right.
std::optional<std::string> expanded(const std::string& term, const std::string& pool, int64_t count) {
  const size_t dots = term.find("...");
  if (dots == std::string::npos) return term;
  if (count < 0 || count > static_cast<int64_t>(pool.size())) return std::nullopt;
  return term.substr(0, dots) + pool.substr(pool.size() - static_cast<size_t>(count)) + term.substr(dots + 3);
}

}  // namespace

bool isEquation(std::string_view text) { return parsed(std::string(text)).has_value(); }

std::optional<std::string> plainEquation(const std::string& text,
                                         const std::vector<std::optional<graph::Shape>>& shapes) {
  auto equation = parsed(text);
  if (!equation) return std::nullopt;
  std::string pool;
  for (char c = 'A'; c <= 'Z'; ++c) {
    if (text.find(c) == std::string::npos) pool += c;
  }
  int64_t widest = 0;
  for (size_t i = 0; i < equation->inputs.size(); ++i) {
    std::string& term = equation->inputs[i];
    if (term.find("...") == std::string::npos) continue;
    if (i >= shapes.size() || !shapes[i]) return std::nullopt;
    const int64_t count = static_cast<int64_t>(shapes[i]->size()) - static_cast<int64_t>(term.size() - 3);
    auto plain = expanded(term, pool, count);
    if (!plain) return std::nullopt;
    term = std::move(*plain);
    widest = std::max(widest, count);
  }
  std::string output;
  if (equation->output) {
    auto plain = expanded(*equation->output, pool, widest);
    if (!plain) return std::nullopt;
    output = std::move(*plain);
  } else {  // letters that occur once, in alphabetical order, behind those of the ellipsis
    std::multiset<char> letters;
    for (const std::string& term : equation->inputs) letters.insert(term.begin(), term.end());
    output = pool.substr(pool.size() - static_cast<size_t>(widest));
    for (const char c : std::set<char>(letters.begin(), letters.end())) {
      if (letters.count(c) == 1 && output.find(c) == std::string::npos) output += c;
    }
  }
  std::string plain;
  for (const std::string& term : equation->inputs) plain += (plain.empty() ? "" : ",") + term;
  return plain + "->" + output;
}

}  // namespace normlens::formats
