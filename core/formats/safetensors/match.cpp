#include "core/formats/safetensors/match.h"

#include <algorithm>
#include <set>

#include "core/base/plural.h"
#include "core/base/printable.h"
#include "core/formats/safetensors/numbers.h"
#include "core/graph/queries.h"

namespace normlens::formats::safetensors {
namespace {

using graph::ConstantId;
using graph::OpKind;

std::vector<std::string> partsOf(const std::string& path) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : path) {
    if (c != '.' && c != '/') {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, {}));
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

// What only moves or converts a constant on its way to who computes with it.
bool passesOn(OpKind kind) {
  return kind == OpKind::Permute || kind == OpKind::Reshape || kind == OpKind::Identity || kind == OpKind::Cast;
}

// "h.0.ln_1" of "h.0.ln_1.weight".
std::string moduleOf(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? std::string() : name.substr(0, dot);
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " more" : text;
}

}  // namespace

size_t commonEnd(const std::string& a, const std::string& b) {
  const auto partsA = partsOf(a), partsB = partsOf(b);
  const auto [endA, endB] = std::mismatch(partsA.rbegin(), partsA.rend(), partsB.rbegin(), partsB.rend());
  return static_cast<size_t>(endA - partsA.rbegin());
}

Matcher::Matcher(const graph::Graph& graph, const Checkpoint& checkpoint)
    : graph_(graph), checkpoint_(checkpoint), values_(graph::valuesOfConstants(graph)) {}

std::vector<Equal> Matcher::equalsOf(ConstantId constant) const {
  const graph::TensorView& wanted = graph_.constant(constant).view;
  std::vector<Equal> found;
  for (const auto& place : checkpoint_.places()) {
    const auto held = checkpoint_.view(place);
    if (held.data == nullptr) continue;
    for (const bool exchanged : {false, true}) {
      auto view = arranged(held, wanted.shape, exchanged);
      if (view && sameNumbers(wanted, *view)) found.push_back({place, exchanged, std::move(*view)});
    }
  }
  return found;
}

std::vector<ConstantId> Matcher::twins(ConstantId constant) const {
  const graph::TensorView& own = graph_.constant(constant).view;
  std::vector<ConstantId> found;
  for (size_t c = 0; c < graph_.constants.size(); ++c) {
    const auto& other = graph_.constants[c].view;
    if (static_cast<ConstantId>(c) == constant || other.data == nullptr || values_[c] == graph::kNoValue) continue;
    graph::TensorView exchanged = other;
    std::ranges::reverse(exchanged.shape);
    std::ranges::reverse(exchanged.strides);
    if (sameNumbers(own, other) || (other.shape.size() == 2 && sameNumbers(own, exchanged)))
      found.push_back(static_cast<ConstantId>(c));
  }
  return found;
}

std::vector<std::string> Matcher::modulesOf(const graph::Uses& uses) const {
  std::set<std::string> modules;
  std::vector<graph::Use> open(uses.begin(), uses.end());
  constexpr size_t kMost = 10'000;
  for (size_t i = 0; i < open.size() && i < kMost; ++i) {
    if (open[i].node == graph::kNone) continue;
    const auto& node = graph_.node(open[i].node);
    modules.insert(graph_.scope(node.scope).path);
    if (!passesOn(node.kind)) continue;
    for (const auto output : node.outputs) {
      const auto& further = graph_.value(output).uses;
      open.insert(open.end(), further.begin(), further.end());
    }
  }
  modules.erase("");
  return {modules.begin(), modules.end()};
}

std::string Matcher::inModule(const std::string& module, const std::string& name) {
  const size_t dot = name.rfind('.');
  return module + "." + (dot == std::string::npos ? name : name.substr(dot + 1));
}

Matcher::Likeness Matcher::likeness(ConstantId constant, const std::string& name) const {
  const auto& held = graph_.constant(constant);
  Likeness best;
  const auto compare = [](const std::string& a, const std::string& b, bool& whole) {
    const size_t common = commonEnd(a, b);
    whole = whole || (common > 0 && common == std::min(partsOf(a).size(), partsOf(b).size()));
    return common;
  };
  best.parts = compare(held.name, name, best.whole);
  for (const auto& alias : held.aliases) best.parts = std::max(best.parts, compare(alias, name, best.whole));
  const graph::ValueId value = values_[static_cast<size_t>(constant)];
  if (value == graph::kNoValue) return best;
  for (const auto& module : modulesOf(graph_.value(value).uses)) {
    const size_t common = compare(module, moduleOf(name), best.wholeModule);
    if (common > 0) best.parts = std::max(best.parts, common + 1);
  }
  return best;
}

const Match& Matcher::match(ConstantId constant) {
  auto found = matches_.find(constant);
  if (found == matches_.end()) found = matches_.emplace(constant, choose(constant)).first;
  return found->second;
}

// Whether names say that the constant is this one of the equal tensors, and that no other constant is.
bool Matcher::isNamed(ConstantId constant, const std::vector<Equal>& equal, const std::string& name,
                      const std::vector<ConstantId>& others) const {
  const Likeness own = likeness(constant, name);
  if (own.parts == 0) return false;
  if (std::ranges::any_of(others, [&](ConstantId other) { return likeness(other, name).parts >= own.parts; }))
    return false;
  if (own.whole) return true;
  bool nearest = true, aloneInModule = true;
  for (const Equal& other : equal) {
    const std::string& its = checkpoint_.at(other.place).name;
    if (its == name) continue;
    nearest = nearest && likeness(constant, its).parts < own.parts;
    aloneInModule = aloneInModule && moduleOf(its) != moduleOf(name);
  }
  return nearest || (own.wholeModule && aloneInModule);
}

Match Matcher::choose(ConstantId constant) const {
  Match match;
  match.equal = equalsOf(constant);
  std::set<std::string> names;
  for (const Equal& equal : match.equal) names.insert("'" + checkpoint_.at(equal.place).name + "'");
  const auto others = twins(constant);
  // What is no row of one number, and there once, is what it is under whatever name.
  const bool known = names.size() == 1 && (others.empty() || !isUniform(graph_.constant(constant).view));
  for (const Equal& equal : match.equal) {
    if (known || isNamed(constant, match.equal, checkpoint_.at(equal.place).name, others))
      match.chosen.push_back(equal);
  }
  if (match.chosen.empty() && !match.equal.empty())
    match.unsure = listed({names.begin(), names.end()}) + (names.size() > 1 ? " hold" : " holds") + " its numbers" +
                   (others.empty() ? "" : ", which other constants of the model have as well") +
                   ", and no name tells which it is";
  return match;
}

std::string Matcher::whyNotFound(ConstantId constant) const {
  const auto& held = graph_.constant(constant);
  const int64_t count = graph::elementCount(held.view.shape).value_or(0);
  std::string nearest;
  std::optional<int64_t> least;
  for (const auto& place : checkpoint_.places()) {
    const auto tensor = checkpoint_.view(place);
    if (tensor.data == nullptr) continue;
    for (const bool exchanged : {false, true}) {
      const auto view = arranged(tensor, held.view.shape, exchanged);
      const auto differ = view ? differing(held.view, *view, least.value_or(count)) : std::nullopt;
      if (!differ || (least && *differ >= *least)) continue;
      least = differ;
      nearest = checkpoint_.at(place).name;
    }
  }
  std::string text = "no tensor of the checkpoint has the numbers of '" + held.name + "'";
  if (least) {
    text +=
        "; '" + nearest + "' is nearest, which differs in " + std::to_string(*least) + " of " + plural(count, "number");
  } else {
    text += ", nor its shape";
  }
  return printable(text);
}

}  // namespace normlens::formats::safetensors
