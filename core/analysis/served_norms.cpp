#include "core/analysis/served_norms.h"

#include <map>
#include <set>

namespace normlens::analysis {

using fold::InsertCentering;
using graph::ValueId;

void findServedNorms(const Analysis& analysis, Plan& plan) {
  const graph::Graph& graph = analysis.scales.graph();
  std::map<graph::NodeId, int> normAt;
  for (const int norm : plan.folded) {
    for (const graph::NodeId member : analysis.norms.layerNorms[static_cast<size_t>(norm)].members)
      normAt[member] = norm;
  }
  for (PlannedEdit& planned : plan.edits) {
    const auto* insert = std::get_if<InsertCentering>(&planned.edit);
    if (insert == nullptr) continue;
    std::set<graph::NodeId> seen;
    std::vector<graph::NodeId> queue;
    const auto enqueue = [&](const graph::Uses& uses) {
      for (const auto& use : uses) {
        const graph::NodeId reader = use.node != graph::kNone ? use.node : graph.block(use.block).owner;
        if (reader != graph::kNone && seen.insert(reader).second) queue.push_back(reader);
      }
    };
    enqueue(insert->uses);
    while (!queue.empty()) {
      const graph::NodeId node = queue.back();
      queue.pop_back();
      if (const auto norm = normAt.find(node); norm != normAt.end()) {
        planned.frees.add(norm->second);  // its results are made anew
        continue;
      }
      for (const ValueId output : graph.node(node).outputs) enqueue(graph.value(output).uses);
    }
  }
}

}  // namespace normlens::analysis
