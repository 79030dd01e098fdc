#include "ui/layout/layers/layers.h"

#include <algorithm>
#include <map>
#include <utility>

namespace normlens::layout {
namespace {

constexpr int kLongSpan = 24;     // ranks; longer edges are lanes
constexpr int kFan = 4;           // that many edges over more than a rank from one place share a lane
constexpr size_t kPassShare = 4;  // passes for each box and edge at most, so that memory stays linear
constexpr int kOrderSweeps = 8;
constexpr double kStreamWeight = 1e6, kPassWeight = 4;  // how straight an edge is kept; 1: any other

bool ranks(const DotEdge& edge) { return !edge.guide && !edge.routed && edge.from != edge.to; }

double portShift(const DotBox& box, const std::vector<double>& ports, int port) {
  return port < 0 ? 0 : ports[static_cast<size_t>(port)] - box.width / 2;
}

class Builder {
 public:
  explicit Builder(const DotGraph& graph) : graph_(graph) {}

  Layers build() {
    layers_.rank = findRanks(graph_);
    for (const DotBox& box : graph_.boxes) {
      layers_.width.push_back(box.width);
      layers_.stream.push_back(box.stream);
    }
    layers_.passes.resize(graph_.edges.size());
    layers_.inLane.assign(graph_.edges.size(), false);
    findFans();
    // The stream first: it has a place wherever there is room for any.
    for (const bool stream : {true, false}) {
      for (size_t i = 0; i < graph_.edges.size(); ++i) {
        if (graph_.edges[i].stream == stream && graph_.edges[i].hasCurve()) addEdge(i);
      }
    }
    makeRows();
    order();
    return std::move(layers_);
  }

 private:
  [[nodiscard]] int span(const DotEdge& edge) const {
    return layers_.rank[static_cast<size_t>(edge.to)] - layers_.rank[static_cast<size_t>(edge.from)];
  }

  void findFans() {
    for (const DotEdge& edge : graph_.edges) {
      if (edge.hasCurve() && !edge.stream && span(edge) > 1) ++fans_[{edge.from, edge.fromPort}];
    }
  }

  void addEdge(size_t index) {
    const DotEdge& edge = graph_.edges[index];
    const int ranks = span(edge);
    const size_t passes = layers_.rank.size() - graph_.boxes.size() + static_cast<size_t>(std::max(ranks, 0));
    const bool longWay = !edge.stream && ranks > 1 && (ranks > kLongSpan || fans_[{edge.from, edge.fromPort}] >= kFan);
    if (ranks < 1 || longWay || passes > kPassShare * (graph_.boxes.size() + graph_.edges.size())) {
      layers_.inLane[index] = true;
      return;
    }
    const DotBox &from = graph_.boxes[static_cast<size_t>(edge.from)], &to = graph_.boxes[static_cast<size_t>(edge.to)];
    int above = edge.from;
    double shift = portShift(from, from.bottomPorts, edge.fromPort);
    for (int rank = layers_.rank[static_cast<size_t>(edge.from)] + 1; rank < layers_.rank[static_cast<size_t>(edge.to)];
         ++rank) {
      const int cell = static_cast<int>(layers_.rank.size());
      layers_.rank.push_back(rank);
      layers_.width.push_back(0);
      layers_.stream.push_back(edge.stream);
      layers_.passes[index].push_back(cell);
      layers_.links.push_back({above, cell, shift, 0, edge.stream ? kStreamWeight : kPassWeight});
      above = cell;
      shift = 0;
    }
    const double weight = edge.stream ? kStreamWeight : edge.chain || ranks > 1 ? kPassWeight : 1;
    layers_.links.push_back({above, edge.to, shift, portShift(to, to.topPorts, edge.toPort), weight});
  }

  void makeRows() {
    const int most = layers_.rank.empty() ? 0 : *std::ranges::max_element(layers_.rank) + 1;
    layers_.rows.resize(static_cast<size_t>(most));
    for (size_t i = 0; i < layers_.rank.size(); ++i)
      layers_.rows[static_cast<size_t>(layers_.rank[i])].push_back(static_cast<int>(i));
    place_.resize(layers_.rank.size());
    for (const auto& row : layers_.rows) number(row);
  }

  void number(const std::vector<int>& row) {
    for (size_t i = 0; i < row.size(); ++i) place_[static_cast<size_t>(row[i])] = static_cast<double>(i);
  }

  // Each cell goes to the mean place of what it hangs on, above and below in turns.
  void order() {
    const Buckets above = layers_.linksBy(&Link::lower), below = layers_.linksBy(&Link::upper);
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      const size_t count = layers_.rows.size();
      for (size_t i = 0; i < count; ++i) orderRow(layers_.rows[down ? i : count - 1 - i], down ? above : below, down);
    }
  }

  void orderRow(std::vector<int>& row, const Buckets& links, bool down) {
    std::vector<std::pair<std::pair<bool, double>, int>> wanted;
    for (const int cell : row) {
      double sum = 0;
      const auto its = links.of(static_cast<size_t>(cell));
      for (const int i : its) {
        const Link& link = layers_.links[static_cast<size_t>(i)];
        sum += place_[static_cast<size_t>(down ? link.upper : link.lower)];
      }
      const double place = its.empty() ? place_[static_cast<size_t>(cell)] : sum / static_cast<double>(its.size());
      wanted.push_back({{!layers_.stream[static_cast<size_t>(cell)], place}, cell});
    }
    std::ranges::stable_sort(wanted, {}, [](const auto& one) { return one.first; });
    for (size_t i = 0; i < row.size(); ++i) row[i] = wanted[i].second;
    number(row);
  }

  const DotGraph& graph_;
  Layers layers_;
  std::map<std::pair<int, int>, int> fans_;  // by box and port: edges that leave there for more than the next rank
  std::vector<double> place_;                // by cell, in its row
};

}  // namespace

std::vector<int> findRanks(const DotGraph& graph) {
  const size_t count = graph.boxes.size();
  const Buckets leaving(count, [&](auto put) {
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      if (ranks(graph.edges[i])) put(static_cast<size_t>(graph.edges[i].from), static_cast<int>(i));
    }
  });
  std::vector<int> rank(count, 0), missing(count, 0), entering(count, 0), order;
  for (const DotEdge& edge : graph.edges) {
    missing[static_cast<size_t>(edge.to)] += ranks(edge);
    entering[static_cast<size_t>(edge.to)] += ranks(edge) && !edge.order;
  }
  std::vector<bool> done(count, false), pinned(count, false);
  for (const auto* pins : {&graph.sources, &graph.sinks}) {
    for (const int pin : *pins) pinned[static_cast<size_t>(pin)] = true;
  }
  for (size_t i = 0; i < count; ++i) rank[i] = !graph.sources.empty() && !pinned[i];
  const auto take = [&](int box) {
    done[static_cast<size_t>(box)] = true;
    order.push_back(box);
  };
  size_t next = 0, first = 0;  // Indexes order; the first box that may not be done.
  for (size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) take(static_cast<int>(i));
  }
  while (order.size() < count || next < order.size()) {
    if (next == order.size()) {  // the rest is circles: one is cut at its earliest box
      while (done[first]) ++first;
      take(static_cast<int>(first));
    }
    const int box = order[next++];
    for (const int i : leaving.of(static_cast<size_t>(box))) {
      const auto to = static_cast<size_t>(graph.edges[static_cast<size_t>(i)].to);
      if (done[to]) continue;
      rank[to] = std::max(rank[to], rank[static_cast<size_t>(box)] + 1);
      if (--missing[to] == 0) take(static_cast<int>(to));
    }
  }
  // A box that no edge enters is placed right above its first reader.
  for (const int box : order) {
    const auto edges = leaving.of(static_cast<size_t>(box));
    if (entering[static_cast<size_t>(box)] > 0 || pinned[static_cast<size_t>(box)] || edges.empty()) continue;
    int nearest = rank[static_cast<size_t>(graph.edges[static_cast<size_t>(edges.front())].to)];
    for (const int i : edges)
      nearest = std::min(nearest, rank[static_cast<size_t>(graph.edges[static_cast<size_t>(i)].to)]);
    rank[static_cast<size_t>(box)] = std::max(rank[static_cast<size_t>(box)], nearest - 1);
  }
  int last = 0;
  for (size_t i = 0; i < count; ++i) last = std::max(last, pinned[i] ? 0 : rank[i]);
  for (const int pin : graph.sinks) rank[static_cast<size_t>(pin)] = last + 1;
  for (const int pin : graph.sources) rank[static_cast<size_t>(pin)] = 0;
  return rank;
}

Buckets Layers::linksBy(int Link::*end) const {
  return Buckets(rank.size(), [&](auto put) {
    for (size_t i = 0; i < links.size(); ++i) put(static_cast<size_t>(links[i].*end), static_cast<int>(i));
  });
}

Layers makeLayers(const DotGraph& graph) { return Builder(graph).build(); }

}  // namespace normlens::layout
