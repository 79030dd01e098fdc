#include "core/analysis/min_cut.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

namespace normlens::analysis {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct EdgeData {
  int64_t capacity = 0;
  int64_t residual = 0;
  Traits::edge_descriptor reverse;
};
struct NodeData {
  boost::default_color_type color = boost::white_color;
  int64_t distance = 0;
  Traits::edge_descriptor predecessor;
};
using Network = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, NodeData, EdgeData>;

// Nodes that still reach the sink through residual capacity.
std::vector<bool> reachingSink(const Network& network, int sink) {
  std::vector<bool> seen(boost::num_vertices(network), false);
  std::vector<Network::vertex_descriptor> queue{static_cast<size_t>(sink)};
  seen[static_cast<size_t>(sink)] = true;
  while (!queue.empty()) {
    const auto node = queue.back();
    queue.pop_back();
    // Every edge has its reverse at the other end: walk the reverses of what leaves the node.
    for (auto [it, end] = boost::out_edges(node, network); it != end; ++it) {
      const auto source = boost::target(*it, network);
      if (seen[source] || network[network[*it].reverse].residual == 0) continue;
      seen[source] = true;
      queue.push_back(source);
    }
  }
  return seen;
}

}  // namespace

FlowNetwork::Cut FlowNetwork::solve(int source, int sink) const {
  Network network(static_cast<size_t>(nodes_));
  for (const Edge& edge : edges_) {
    const auto from = static_cast<size_t>(edge.from);
    const auto to = static_cast<size_t>(edge.to);
    const auto forward = boost::add_edge(from, to, network).first;
    const auto backward = boost::add_edge(to, from, network).first;
    network[forward].capacity = edge.capacity;
    network[forward].reverse = backward;
    network[backward].reverse = forward;
  }
  Cut cut;
  cut.flow = boost::boykov_kolmogorov_max_flow(
      network, boost::get(&EdgeData::capacity, network), boost::get(&EdgeData::residual, network),
      boost::get(&EdgeData::reverse, network), boost::get(&NodeData::predecessor, network),
      boost::get(&NodeData::color, network), boost::get(&NodeData::distance, network),
      boost::get(boost::vertex_index, network), static_cast<size_t>(source), static_cast<size_t>(sink));
  cut.onSinkSide = reachingSink(network, sink);
  return cut;
}

}  // namespace normlens::analysis
