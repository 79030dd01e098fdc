#include "core/analysis/plan/min_cut.h"

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/property_map.hpp>
#include <numeric>

namespace normlens::analysis {
namespace {

// All arcs in one block: a list of arcs per node would be an allocation for each arc.
using Network = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                   boost::no_property, uint32_t, uint32_t>;
using Arc = boost::graph_traits<Network>::edge_descriptor;

// Nodes that still reach the sink through residual capacity.
std::vector<bool> reachingSink(const Network& network, const std::vector<Arc>& reverse,
                               const std::vector<int64_t>& residual, uint32_t sink) {
  const auto index = boost::get(boost::edge_index, network);
  std::vector<bool> seen(boost::num_vertices(network), false);
  std::vector<uint32_t> queue{sink};
  seen[sink] = true;
  while (!queue.empty()) {
    const auto node = queue.back();
    queue.pop_back();
    // Every arc has its reverse at the other end: walk the reverses of what leaves the node.
    for (auto [it, end] = boost::out_edges(node, network); it != end; ++it) {
      const auto source = boost::target(*it, network);
      if (seen[source] || residual[get(index, reverse[get(index, *it)])] == 0) continue;
      seen[source] = true;
      queue.push_back(source);
    }
  }
  return seen;
}

}  // namespace

FlowNetwork::Cut FlowNetwork::solve(int source, int sink) const {
  const auto nodes = static_cast<size_t>(nodes_);
  // Each edge is an arc and its reverse, which has no capacity; arcs lie by the node that they leave.
  std::vector<uint32_t> next(nodes + 1, 0);
  for (const Edge& edge : edges_) {
    ++next[edge.from + 1];
    ++next[edge.to + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::pair<uint32_t, uint32_t>> ends(2 * edges_.size());
  std::vector<Arc> reverse(ends.size());
  std::vector<int64_t> capacity(ends.size(), 0), residual(ends.size(), 0);
  std::vector<uint32_t> arcOf;  // by edge
  for (const Edge& edge : edges_) {
    const uint32_t forward = next[edge.from]++, backward = next[edge.to]++;
    ends[forward] = {edge.from, edge.to};
    ends[backward] = {edge.to, edge.from};
    reverse[forward] = Arc(edge.to, backward);
    reverse[backward] = Arc(edge.from, forward);
    capacity[forward] = edge.capacity;
    arcOf.push_back(forward);
  }
  const Network network(boost::edges_are_sorted, ends.begin(), ends.end(), static_cast<uint32_t>(nodes));
  const auto index = boost::get(boost::edge_index, network);
  std::vector<Arc> predecessor(nodes);
  std::vector<int64_t> distance(nodes, 0);
  std::vector<boost::default_color_type> color(nodes);
  const auto byArc = [&](auto& values) { return boost::make_iterator_property_map(values.begin(), index); };
  const auto nodeIndex = boost::get(boost::vertex_index, network);
  const auto byNode = [&](auto& values) { return boost::make_iterator_property_map(values.begin(), nodeIndex); };
  Cut cut;
  cut.flow = boost::boykov_kolmogorov_max_flow(network, byArc(capacity), byArc(residual), byArc(reverse),
                                               byNode(predecessor), byNode(color), byNode(distance), nodeIndex,
                                               static_cast<uint32_t>(source), static_cast<uint32_t>(sink));
  for (const uint32_t arc : arcOf) cut.flows.push_back(std::max<int64_t>(0, capacity[arc] - residual[arc]));
  cut.onSinkSide = reachingSink(network, reverse, residual, static_cast<uint32_t>(sink));
  return cut;
}

}  // namespace normlens::analysis
