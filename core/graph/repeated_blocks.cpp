#include "core/graph/repeated_blocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

namespace normlens::graph {
namespace {

constexpr size_t kFewNodes = 40;  // a scope of so many is drawn as it is
constexpr size_t kMostChildren = 200;
constexpr size_t kShortestBlock = 3;  // nodes
constexpr size_t kLongPair = 10;      // nodes of a block that comes twice only
constexpr size_t kMostPeriods = 24;   // that are tried

struct Stretch {
  size_t begin = 0;
  size_t period = 0;
  size_t repeats = 0;
  [[nodiscard]] size_t covered() const { return period * repeats; }
  [[nodiscard]] size_t end() const { return begin + covered(); }
};

// A scope to be, or one node.
struct Group {
  const char* kind = nullptr;  // null: a node
  size_t number = 0;           // among those of its kind around it
  size_t begin = 0, end = 0;   // places of nodes
  std::vector<Group> children;
};

// Places are those in the list of the main block's nodes that lie directly in the model.
class Grouping {
 public:
  explicit Grouping(const Graph& graph) : graph_(graph) {
    for (const NodeId id : graph.block(0).nodes) {
      if (graph.node(id).scope == 0) nodes_.push_back(id);
    }
  }

  [[nodiscard]] bool isFlat() const {
    return nodes_.size() > kFewNodes && nodes_.size() * 2 > graph_.block(0).nodes.size();
  }
  [[nodiscard]] NodeId nodeAt(size_t place) const { return nodes_[place]; }

  std::vector<Group> run() {
    readTokens();
    countCrossings();
    return childrenOf(0, nodes_.size());
  }

 private:
  // Reads of each node what has to agree in a repetition.
  void readTokens() {
    std::map<std::pair<std::string_view, size_t>, uint32_t> known;
    for (const NodeId id : nodes_) {
      const Node& node = graph_.node(id);
      const auto next = static_cast<uint32_t>(known.size() + 1);
      tokens_.push_back(known.try_emplace({node.op, node.operands.size()}, next).first->second);
    }
  }

  // crossings_[i]: nodes before the i-th whose values are read by it or later.
  void countCrossings() {
    std::unordered_map<NodeId, size_t> place;
    for (size_t i = 0; i < nodes_.size(); ++i) place[nodes_[i]] = i;
    std::vector<int> begun(nodes_.size() + 1, 0);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      size_t last = i;
      for (const ValueId output : graph_.node(nodes_[i]).outputs) {
        for (const Use& use : graph_.value(output).uses) {
          if (const auto reader = place.find(use.node); reader != place.end()) last = std::max(last, reader->second);
        }
      }
      ++begun[i + 1];
      --begun[last + 1];
    }
    crossings_.resize(begun.size());
    std::partial_sum(begun.begin(), begun.end(), crossings_.begin());
  }

  [[nodiscard]] uint64_t windowAt(size_t begin, size_t length) const {
    uint64_t hash = 1469598103934665603ULL;  // FNV-1a
    for (size_t i = begin; i < begin + length; ++i) hash = (hash ^ tokens_[i]) * 1099511628211ULL;
    return hash;
  }

  // Distances at which windows of nodes come again, the most frequent first.
  [[nodiscard]] std::vector<size_t> likelyPeriods(size_t begin, size_t end) const {
    std::unordered_map<size_t, size_t> counts;
    for (const size_t window : {size_t{4}, size_t{16}}) {
      std::unordered_map<uint64_t, size_t> last;
      for (size_t i = begin; i + window <= end; ++i) {
        const auto [seen, fresh] = last.try_emplace(windowAt(i, window), i);
        if (!fresh) ++counts[i - std::exchange(seen->second, i)];
      }
    }
    std::vector<std::pair<size_t, size_t>> byCount;  // count, distance
    for (const auto& [distance, count] : counts) {
      if (distance >= kShortestBlock) byCount.emplace_back(count, distance);
    }
    std::ranges::sort(byCount, std::greater{});
    if (byCount.size() > kMostPeriods) byCount.resize(kMostPeriods);
    std::vector<size_t> periods;
    for (const auto& [count, distance] : byCount) periods.push_back(distance);
    return periods;
  }

  // The stretch of this period with most repetitions.
  [[nodiscard]] Stretch longestOf(size_t period, size_t begin, size_t end) const {
    Stretch best{begin, period, 0};
    size_t from = begin;
    for (size_t i = begin; i + period <= end; ++i) {
      if (i + period < end && tokens_[i] == tokens_[i + period]) continue;
      const size_t repeats = i > from ? (i - from) / period + 1 : 0;
      if (repeats > best.repeats) best = {from, period, repeats};
      from = i + 1;
    }
    return best;
  }

  // A stretch can begin anywhere within its first period: best where the fewest values pass from block to block.
  [[nodiscard]] Stretch wellCut(const Stretch& stretch, size_t end) const {
    size_t last = stretch.end();
    while (last < end && tokens_[last] == tokens_[last - stretch.period]) ++last;
    const auto cost = [&](const Stretch& cut) {
      int64_t sum = 0;
      for (size_t k = 0; k <= cut.repeats; ++k) sum += crossings_[cut.begin + k * cut.period];
      return static_cast<double>(sum) / static_cast<double>(cut.repeats + 1);
    };
    constexpr double kLostBlock = 0.5;  // values that one repetition less has to save
    Stretch best = stretch;
    double bestCost = cost(stretch);
    for (size_t begin = stretch.begin + 1; begin < stretch.begin + stretch.period; ++begin) {
      const Stretch moved{begin, stretch.period, (last - begin) / stretch.period};
      if (moved.repeats < 2) break;
      const double movedCost = cost(moved) + (moved.repeats < stretch.repeats ? kLostBlock : 0);
      if (movedCost >= bestCost) continue;
      best = moved;
      bestCost = movedCost;
    }
    return best;
  }

  [[nodiscard]] std::optional<Stretch> bestStretch(size_t begin, size_t end) const {
    if (end - begin <= kFewNodes) return std::nullopt;
    std::optional<Stretch> best;
    for (const size_t period : likelyPeriods(begin, end)) {
      const Stretch found = longestOf(period, begin, end);
      if (found.repeats < 2 || (found.repeats == 2 && period < kLongPair)) continue;
      // Two blocks at a time cover as much as one at a time; the shorter period shows more.
      const bool more = !best || found.covered() * 19 > best->covered() * 20;
      const bool shorter = best && found.period < best->period && found.covered() * 20 >= best->covered() * 19;
      if (more || shorter) best = found;
    }
    if (!best || best->covered() < kFewNodes / 2) return std::nullopt;
    return wellCut(*best, end);
  }

  [[nodiscard]] std::vector<Group> childrenOf(size_t begin, size_t end) const {
    std::vector<Group> children;
    size_t blocks = 0;
    split(begin, end, blocks, children);
    return children.size() > kMostChildren ? partsOf(std::move(children)) : children;
  }

  void split(size_t begin, size_t end, size_t& blocks, std::vector<Group>& children) const {
    const auto stretch = bestStretch(begin, end);
    if (!stretch) {
      for (size_t i = begin; i < end; ++i) children.push_back({nullptr, 0, i, i + 1, {}});
      return;
    }
    split(begin, stretch->begin, blocks, children);
    for (size_t k = 0; k < stretch->repeats; ++k) {
      const size_t from = stretch->begin + k * stretch->period, to = from + stretch->period;
      children.push_back({"block", blocks++, from, to, childrenOf(from, to)});
    }
    split(stretch->end(), end, blocks, children);
  }

  // About as many parts as each has children, cut where little passes.
  [[nodiscard]] std::vector<Group> partsOf(std::vector<Group> children) const {
    const auto target = static_cast<size_t>(std::sqrt(static_cast<double>(children.size())));
    std::vector<Group> parts;
    for (size_t from = 0; from < children.size();) {
      size_t to = children.size();
      if (to - from > target + target / 2) {
        to = from + target;
        for (size_t other = to - target / 4; other <= from + target + target / 4; ++other) {
          if (crossings_[children[other].begin] < crossings_[children[to].begin]) to = other;
        }
      }
      Group part{"part", parts.size(), children[from].begin, children[to - 1].end, {}};
      const auto first = children.begin() + static_cast<std::ptrdiff_t>(from);
      const auto last = children.begin() + static_cast<std::ptrdiff_t>(to);
      part.children.assign(std::make_move_iterator(first), std::make_move_iterator(last));
      parts.push_back(std::move(part));
      from = to;
    }
    return parts;
  }

  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::vector<uint32_t> tokens_;  // by place
  std::vector<int> crossings_;
};

// Recursion is bounded: a block or part is at most half of what it lies in.
void putInScopes(const std::vector<Group>& groups, const Grouping& places, ScopeId around, Graph& graph) {
  for (const Group& group : groups) {
    if (group.kind == nullptr) {
      graph.nodes[static_cast<size_t>(places.nodeAt(group.begin))].scope = around;
      continue;
    }
    const ScopeId scope = graph.addScope(around, std::string(group.kind) + "_" + std::to_string(group.number), "");
    putInScopes(group.children, places, scope, graph);
  }
}

}  // namespace

void groupRepeatedBlocks(Graph& graph) {
  Grouping grouping(graph);
  if (grouping.isFlat()) putInScopes(grouping.run(), grouping, 0, graph);
}

}  // namespace normlens::graph
