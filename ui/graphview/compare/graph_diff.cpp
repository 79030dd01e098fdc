#include "ui/graphview/compare/graph_diff.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>

namespace normlens::graphview {
namespace {

using protocol::GraphDocument;
using protocol::GraphNode;

// Nodes of one name in one module, in the order in which they run.
using Groups = std::map<std::pair<std::string, std::string>, std::vector<int>>;

std::string moduleOf(const GraphDocument& graph, const GraphNode& node) {
  const bool known = node.scope >= 0 && static_cast<size_t>(node.scope) < graph.scopes.size();
  return known ? graph.scopes[static_cast<size_t>(node.scope)].path : std::string();
}

Groups groupsOf(const GraphDocument& graph) {
  Groups groups;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    groups[{moduleOf(graph, node), node.name}].push_back(static_cast<int>(i));
  }
  return groups;
}

// Returns the number of letters that two op names share at their ends: "layer_norm" and "rms_norm" end alike.
size_t commonEnd(const std::string& a, const std::string& b) {
  const auto [endA, endB] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<size_t>(endA - a.rbegin());
}

// A norm that is written out counts at the op that ends it.
bool isNorm(const GraphNode& node) { return node.role == NodeClass::LayerNorm || node.role == NodeClass::RmsNorm; }

// The weights that a node reads, in order.
std::vector<std::string> weightsOf(const GraphNode& node, const WeightTexts& known) {
  std::vector<std::string> weights;
  for (const int input : node.inputs) {
    if (const auto found = known.find(input); found != known.end()) weights.push_back(found->second);
  }
  return weights;
}

// By family, what the formats call its operators.
constexpr std::pair<const char*, std::string_view> kFamilies[] = {{"matmul", " linear gemm addmm mm bmm "},
                                                                  {"embedding", " gather gathernd index "},
                                                                  {"layernorm", " layernormalization nativelayernorm "},
                                                                  {"reshape", " view flatten squeeze unsqueeze "},
                                                                  {"transpose", " permute t "},
                                                                  {"concat", " cat "},
                                                                  {"conv", " convolution conv1d conv2d "},
                                                                  {"cast", " to tocopy "},
                                                                  {"range", " arange "},
                                                                  {"and", " bitwiseand "},
                                                                  {"greaterorequal", " ge "},
                                                                  {"greater", " gt "},
                                                                  {"lessorequal", " le "},
                                                                  {"less", " lt "},
                                                                  {"equal", " eq "},
                                                                  {"attention", " scaleddotproductattention "}};

// Names what an operator does, whatever its format calls it; its own name where no other is known.
std::string familyOf(const GraphNode& node) {
  if (isNorm(node)) return "layernorm";
  if (node.role == NodeClass::Input || node.role == NodeClass::Output) return std::string(nameOf(node.role));
  std::string name = node.op.substr(node.op.rfind(':') + 1);  // npos + 1 is 0
  name = name.substr(0, name.find('.'));
  std::erase(name, '_');
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  for (const auto& [family, names] : kFamilies) {
    if (names.find(' ' + name + ' ') != std::string_view::npos) return family;
  }
  return name;
}

// These hand their numbers on, in inference.
constexpr auto kUnchanged =
    std::to_array<std::string_view>({"alias", "clone", "contiguous", "detach", "dropout", "identity", "liftfreshcopy"});
// These move numbers, or round them. Exporters split and join them as they like.
constexpr auto kMoves = std::to_array<std::string_view>({"cast", "expand", "reshape", "slice", "transpose"});

// A graph beside one of another format of its model, by place in GraphDocument::nodes.
struct OfTwoFormats {
  const GraphDocument& graph;
  GraphDiff::Side& side;
  std::vector<std::string> modules{}, families{};
  std::vector<std::vector<size_t>> makers{};  // of what each node reads
  std::vector<size_t> wholes{};  // the node that each is a part of if the other format has no such part; else itself

  OfTwoFormats(const GraphDocument& of, GraphDiff::Side& found) : graph(of), side(found) {
    std::unordered_map<int, size_t> makerOf;
    for (const GraphNode& node : graph.nodes) {
      for (const int output : node.outputs) makerOf.emplace(output, wholes.size());
      wholes.push_back(wholes.size());
      modules.push_back(moduleOf(graph, node));
      families.push_back(familyOf(node));
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      auto& made = makers.emplace_back();
      for (const int input : graph.nodes[i].inputs) {
        if (const auto maker = makerOf.find(input); maker != makerOf.end()) made.push_back(maker->second);
      }
      const bool isUnchanged = std::ranges::find(kUnchanged, families[i]) != kUnchanged.end() && !made.empty();
      const auto layer = std::ranges::find_if(
          made, [&](size_t maker) { return modules[maker] == modules[i] && families[maker] == "matmul"; });
      const bool isBias = families[i] == "add" && graph.nodes[i].role != NodeClass::Residual && layer != made.end();
      if (isUnchanged || isBias) wholes[i] = wholes[isBias ? *layer : made.front()];
    }
  }

  [[nodiscard]] bool isMove(size_t node) const { return std::ranges::find(kMoves, families[node]) != kMoves.end(); }
  // A node that is left belongs to its whole, or to a move before it. Each format has helpers of its own.
  void joinLeft() {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (side.partners[i] >= 0) continue;
      if (graph.nodes[i].helper) {
        side.marks[i] = NodeMark::Same;
        continue;
      }
      size_t whole = wholes[i];
      for (const size_t maker : makers[i]) {
        if (whole == i && isMove(i) && isMove(maker) && modules[maker] == modules[i]) whole = maker;
      }
      if (side.partners[whole] < 0) continue;
      side.partners[i] = side.partners[whole];
      side.marks[i] = NodeMark::Same;  // the whole itself is listed
    }
  }
};

// One of the two is the other, or its transpose.
bool sameContent(const std::string& a, const std::string& b) {
  const std::string_view own = std::string_view(a).substr(0, a.find('|'));
  const size_t bar = b.find('|');
  return own == std::string_view(b).substr(0, bar) ||
         (bar != std::string::npos && own == std::string_view(b).substr(bar + 1));
}

class Comparison {
 public:
  Comparison(const GraphDocument& a, const GraphDocument& b, const WeightTexts& weightsOfA,
             const WeightTexts& weightsOfB)
      : a_(a), b_(b), weightsOfA_(weightsOfA), weightsOfB_(weightsOfB) {
    diff_.a = {std::vector(a.nodes.size(), NodeMark::Only), std::vector(a.nodes.size(), -1)};
    diff_.b = {std::vector(b.nodes.size(), NodeMark::Only), std::vector(b.nodes.size(), -1)};
  }

  GraphDiff run() {
    const Groups groupsA = groupsOf(a_), groupsB = groupsOf(b_);
    for (const auto& [key, nodesA] : groupsA) {
      const auto found = groupsB.find(key);
      if (found != groupsB.end()) compare(nodesA, found->second, key.second.empty());
    }
    if (areOfTwoFormats()) pairByModules();
    return std::move(diff_);
  }

 private:
  void pair(int a, int b, NodeMark mark) {
    diff_.a.marks[static_cast<size_t>(a)] = diff_.b.marks[static_cast<size_t>(b)] = mark;
    diff_.a.partners[static_cast<size_t>(a)] = b;
    diff_.b.partners[static_cast<size_t>(b)] = a;
  }

  // Fewer than half of the nodes that are shown found one of their name.
  [[nodiscard]] bool areOfTwoFormats() const {
    size_t shown = 0, paired = 0;
    for (size_t i = 0; i < a_.nodes.size(); ++i) {
      if (a_.nodes[i].helper) continue;
      ++shown;
      paired += diff_.a.partners[i] >= 0 ? 1 : 0;
    }
    return 2 * paired < shown;
  }

  // By what nodes read that belongs together already, then by their order alone.
  void pairByModules() {
    OfTwoFormats a(a_, diff_.a), b(b_, diff_.b);
    constexpr int kShown = -1, kHelper = -2;  // in place of what a node reads
    constexpr ptrdiff_t kNextOfAKind = 8;
    std::map<std::tuple<int, std::string, std::string>, std::vector<int>> waiting;  // B's nodes, the first last
    for (size_t i = b_.nodes.size(); i-- > 0;) {
      const auto add = [&](int reads) { waiting[{reads, b.modules[i], b.families[i]}].push_back(static_cast<int>(i)); };
      add(b_.nodes[i].helper ? kHelper : kShown);
      for (const size_t maker : b.makers[i]) add(static_cast<int>(b.wholes[maker]));
    }
    const auto pairLike = [&](size_t node, int reads) {
      auto& same = waiting[{reads, a.modules[node], a.families[node]}];
      while (!same.empty() && diff_.b.partners[static_cast<size_t>(same.back())] >= 0) same.pop_back();
      if (same.empty() || a_.nodes[node].helper || diff_.a.partners[node] >= 0) return;
      const int place = static_cast<int>(node);
      // The one with the same weights goes first: exporters order the layers that read one value as they like.
      const auto next = std::views::reverse(same) | std::views::take(kNextOfAKind);
      const auto equal = std::ranges::find_if(next, [&](int other) {
        return diff_.b.partners[static_cast<size_t>(other)] < 0 && sameContents(place, other);
      });
      const bool found = equal != next.end();
      pair(place, found ? *equal : same.back(), found ? NodeMark::Same : NodeMark::Changed);
    };
    for (size_t i = 0; i < a_.nodes.size(); ++i) {
      if (a_.nodes[i].role == NodeClass::Input) pairLike(i, kShown);
    }
    for (size_t i = 0; i < a_.nodes.size(); ++i) {
      for (const size_t maker : a.makers[i]) {
        const int partner = diff_.a.partners[a.wholes[maker]];
        if (partner >= 0) pairLike(i, static_cast<int>(b.wholes[static_cast<size_t>(partner)]));
      }
    }
    for (const int reads : {kShown, kHelper}) {
      for (size_t i = 0; i < a_.nodes.size(); ++i) pairLike(i, reads);
    }
    a.joinLeft();
    b.joinLeft();
  }

  // The node with fewer weights has each of them from the other.
  [[nodiscard]] bool sameContents(int a, int b) const {
    const auto ours = weightsOf(a_.nodes[static_cast<size_t>(a)], weightsOfA_);
    const auto theirs = weightsOf(b_.nodes[static_cast<size_t>(b)], weightsOfB_);
    const bool fewer = ours.size() <= theirs.size();
    const auto &few = fewer ? ours : theirs, &many = fewer ? theirs : ours;
    return std::ranges::all_of(few, [&](const std::string& one) {
      return std::ranges::any_of(many, [&](const std::string& other) { return sameContent(one, other); });
    });
  }

  [[nodiscard]] bool sameWeights(int a, int b) const {
    if (weightsOfA_.empty() || weightsOfB_.empty()) return true;
    return weightsOf(a_.nodes[static_cast<size_t>(a)], weightsOfA_) ==
           weightsOf(b_.nodes[static_cast<size_t>(b)], weightsOfB_);
  }

  void compare(const std::vector<int>& nodesA, const std::vector<int>& nodesB, bool nameless) {
    std::map<std::string, std::vector<int>> waiting;  // B's nodes by operator, the first one last.
    for (const int node : std::views::reverse(nodesB)) {
      waiting[b_.nodes[static_cast<size_t>(node)].op].push_back(node);
    }
    std::vector<int> restA;
    for (const int node : nodesA) {
      auto& same = waiting[a_.nodes[static_cast<size_t>(node)].op];
      if (same.empty()) {
        restA.push_back(node);
      } else {
        pair(node, same.back(), sameWeights(node, same.back()) ? NodeMark::Same : NodeMark::Changed);
        same.pop_back();
      }
    }
    if (nameless) return;  // two different operators of a module need not belong together
    std::vector<int> restB;
    for (const int node : nodesB) {
      if (diff_.b.partners[static_cast<size_t>(node)] < 0) restB.push_back(node);
    }
    for (const int node : restA) {
      const auto likeness = [&](int other) {
        const GraphNode &ours = a_.nodes[static_cast<size_t>(node)], &theirs = b_.nodes[static_cast<size_t>(other)];
        return std::pair(isNorm(ours) && isNorm(theirs), commonEnd(ours.op, theirs.op));
      };
      const auto best = std::ranges::max_element(restB, {}, likeness);
      if (best == restB.end()) break;
      pair(node, *best, NodeMark::Changed);
      restB.erase(best);
    }
  }

  const GraphDocument& a_;
  const GraphDocument& b_;
  const WeightTexts& weightsOfA_;
  const WeightTexts& weightsOfB_;
  GraphDiff diff_;
};

}  // namespace

GraphDiff compareGraphs(const GraphDocument& a, const GraphDocument& b, const WeightTexts& weightsOfA,
                        const WeightTexts& weightsOfB) {
  return Comparison(a, b, weightsOfA, weightsOfB).run();
}

std::vector<std::pair<int, double>> timesInPlacesOf(const GraphDocument& a, const GraphDocument& b,
                                                    const std::vector<std::pair<int, double>>& timesOfB) {
  const GraphDiff diff = compareGraphs(a, b);
  std::unordered_map<int, size_t> makers, readers, places;
  for (size_t i = 0; i < b.nodes.size(); ++i) {
    places.emplace(b.nodes[i].id, i);
    for (const int value : b.nodes[i].outputs) makers.emplace(value, i);
    for (const int value : b.nodes[i].inputs) readers.emplace(value, i);
  }
  // The first node from here on that has a partner; nullopt: there is none.
  const auto nearest = [&](size_t from, bool before) -> std::optional<size_t> {
    for (size_t at = from, steps = 0; steps < b.nodes.size(); ++steps) {
      if (diff.b.partners[at] >= 0) return at;
      const auto& known = before ? makers : readers;
      const auto& values = before ? b.nodes[at].inputs : b.nodes[at].outputs;
      const auto next = std::ranges::find_if(values, [&](int value) { return known.contains(value); });
      if (next == values.end()) break;
      at = known.at(*next);
    }
    return std::nullopt;
  };
  std::vector<std::pair<int, double>> times;
  for (const auto& [node, ms] : timesOfB) {
    const auto place = places.find(node);
    if (place == places.end()) continue;
    const auto behind = nearest(place->second, false), before = nearest(place->second, true);
    const bool ofNorm =
        behind && isNorm(b.nodes[*behind]) && moduleOf(b, b.nodes[*behind]) == moduleOf(b, b.nodes[place->second]);
    if (const auto at = ofNorm || !before ? behind : before)
      times.emplace_back(a.nodes[static_cast<size_t>(diff.b.partners[*at])].id, ms);
  }
  return times;
}

GraphDocument withShapesOf(const GraphDocument& open, const GraphDocument& other, const GraphDiff& diff) {
  std::unordered_map<int, const protocol::GraphValue*> known;
  for (const auto& value : open.values) known[value.id] = &value;
  std::unordered_map<int, const protocol::GraphValue*> wanted;  // by id in the other
  std::vector<int> partsOfOurs(open.nodes.size()), partsOfTheirs(other.nodes.size());
  for (const int partner : diff.b.partners) {
    if (partner >= 0) ++partsOfOurs[static_cast<size_t>(partner)];
  }
  for (const int partner : diff.a.partners) {
    if (partner >= 0) ++partsOfTheirs[static_cast<size_t>(partner)];
  }
  for (size_t i = 0; i < other.nodes.size(); ++i) {
    if (diff.b.partners[i] < 0) continue;
    const bool several = partsOfTheirs[i] > 1 || partsOfOurs[static_cast<size_t>(diff.b.partners[i])] > 1;
    if (several && std::ranges::find(kMoves, familyOf(other.nodes[i])) != kMoves.end()) continue;  // of other shapes
    const auto& ours = open.nodes[static_cast<size_t>(diff.b.partners[i])].outputs;
    const auto& theirs = other.nodes[i].outputs;
    for (size_t output = 0; output < std::min(ours.size(), theirs.size()); ++output)
      wanted[theirs[output]] = known[ours[output]];
  }
  GraphDocument shaped = other;
  for (auto& value : shaped.values) {
    const auto found = wanted.find(value.id);
    if (found == wanted.end() || found->second == nullptr) continue;
    value.stream = value.stream || found->second->stream;
    if (value.has_shape) continue;
    value.shape = found->second->shape;
    value.has_shape = found->second->has_shape;
  }
  return shaped;
}

}  // namespace normlens::graphview
