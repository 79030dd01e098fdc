#include "core/analysis/min_cut.h"

#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/property_map.hpp>

#include "core/base/grouped.h"

namespace normlens::analysis {
namespace {

// All arcs in one block: a list of arcs per node would be an allocation for each arc.
using Network = boost::compressed_sparse_row_graph<boost::directedS>;
using Arc = boost::graph_traits<Network>::edge_descriptor;

// Nodes that still reach the sink through residual capacity.
std::vector<bool> reachingSink(const Network& network, const std::vector<Arc>& reverse,
                               const std::vector<int64_t>& residual, size_t sink) {
  const auto index = boost::get(boost::edge_index, network);
  std::vector<bool> seen(boost::num_vertices(network), false);
  std::vector<size_t> queue{sink};
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
  // Arc 2e is edge e, arc 2e + 1 its reverse, without capacity.
  const auto fromOf = [&](size_t arc) { return arc % 2 == 0 ? edges_[arc / 2].from : edges_[arc / 2].to; };
  const auto toOf = [&](size_t arc) { return arc % 2 == 0 ? edges_[arc / 2].to : edges_[arc / 2].from; };
  std::vector<std::pair<int, size_t>> leaving;
  for (size_t arc = 0; arc < 2 * edges_.size(); ++arc) leaving.emplace_back(fromOf(arc), arc);
  const Grouped<size_t> arcsFrom(nodes, leaving);
  std::vector<std::pair<size_t, size_t>> ends;
  std::vector<size_t> placeOf(leaving.size());
  for (size_t node = 0; node < nodes; ++node) {
    for (const size_t arc : arcsFrom[node]) {
      placeOf[arc] = ends.size();
      ends.emplace_back(node, static_cast<size_t>(toOf(arc)));
    }
  }
  const Network network(boost::edges_are_sorted, ends.begin(), ends.end(), nodes);
  const auto index = boost::get(boost::edge_index, network);
  std::vector<Arc> arcs(ends.size());
  for (auto [it, end] = boost::edges(network); it != end; ++it) arcs[get(index, *it)] = *it;
  std::vector<Arc> reverse(ends.size()), predecessor(nodes);
  std::vector<int64_t> capacity(ends.size(), 0), residual(ends.size(), 0), distance(nodes, 0);
  std::vector<boost::default_color_type> color(nodes);
  for (size_t e = 0; e < edges_.size(); ++e) {
    const size_t forward = placeOf[2 * e], backward = placeOf[2 * e + 1];
    capacity[forward] = edges_[e].capacity;
    reverse[forward] = arcs[backward];
    reverse[backward] = arcs[forward];
  }
  const auto byArc = [&](auto& values) { return boost::make_iterator_property_map(values.begin(), index); };
  const auto nodeIndex = boost::get(boost::vertex_index, network);
  const auto byNode = [&](auto& values) { return boost::make_iterator_property_map(values.begin(), nodeIndex); };
  Cut cut;
  cut.flow = boost::boykov_kolmogorov_max_flow(network, byArc(capacity), byArc(residual), byArc(reverse),
                                               byNode(predecessor), byNode(color), byNode(distance), nodeIndex,
                                               static_cast<size_t>(source), static_cast<size_t>(sink));
  cut.onSinkSide = reachingSink(network, reverse, residual, static_cast<size_t>(sink));
  return cut;
}

}  // namespace normlens::analysis
