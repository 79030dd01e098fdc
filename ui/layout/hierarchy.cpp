#include "ui/layout/hierarchy.h"

#include <utility>

#include "ui/layout/hierarchy_rules.h"
#include "ui/layout/scope_tree.h"
#include "ui/layout/visible_edges.h"

namespace normlens::layout {
namespace {

int at(const std::vector<int>& table, int id) {
  return id < 0 || static_cast<size_t>(id) >= table.size() ? kNone : table[static_cast<size_t>(id)];
}

EdgesByItem edgesAt(const Hierarchy& hierarchy, int DataEdge::*end) {
  EdgesByItem table;
  table.start.assign(hierarchy.items.size() + 1, 0);
  for (const DataEdge& edge : hierarchy.edges) ++table.start[static_cast<size_t>(edge.*end) + 1];
  for (size_t i = 1; i < table.start.size(); ++i) table.start[i] += table.start[i - 1];
  table.edges.resize(hierarchy.edges.size());
  std::vector<int> next(table.start.begin(), table.start.end() - 1);
  for (size_t i = 0; i < hierarchy.edges.size(); ++i)
    table.edges[static_cast<size_t>(next[static_cast<size_t>(hierarchy.edges[i].*end)]++)] = static_cast<int>(i);
  return table;
}

}  // namespace

int Hierarchy::nodeIndex(int nodeId) const { return at(nodeOfId, nodeId); }
int Hierarchy::valueIndex(int valueId) const { return at(valueOfId, valueId); }
int Hierarchy::outputOf(int item) const {
  const int node = this->item(item).node;
  if (node < 0) return -1;
  const auto& outputs = document->nodes[static_cast<size_t>(node)].outputs;
  return outputs.empty() ? -1 : outputs.front();
}
int Hierarchy::itemOfId(int nodeId) const { return at(itemOfNode, nodeIndex(nodeId)); }

bool Hierarchy::contains(int ancestor, int index) const {
  for (; index >= 0; index = item(index).parent) {
    if (index == ancestor) return true;
  }
  return false;
}

std::string Hierarchy::path(int index) const {
  const Item& it = item(index);
  if (it.scope != kNone) {
    const std::string& path = document->scopes[static_cast<size_t>(it.scope)].path;
    return path.empty() ? it.title : path;
  }
  const int parent = it.parent;
  const std::string above = parent > 0 ? path(parent) : std::string();
  return above.empty() ? it.title : above + "." + it.title;
}

Hierarchy buildHierarchy(std::shared_ptr<const protocol::GraphDocument> document, const HierarchyOptions& options) {
  Hierarchy hierarchy;
  hierarchy.document = std::move(document);
  hierarchy.nodeOfId = indexById(hierarchy.document->nodes);
  hierarchy.valueOfId = indexById(hierarchy.document->values);
  const VisibleEdges visible = visibleEdges(*hierarchy.document, hierarchy.valueOfId, options.showHelpers);
  ScopeTree tree = buildScopeTree(*hierarchy.document, visible);
  hierarchy.items = std::move(tree.items);
  hierarchy.itemOfNode = std::move(tree.itemOfNode);
  hierarchy.edges.reserve(visible.edges.size());
  for (const NodeEdge& edge : visible.edges) {
    hierarchy.edges.push_back(
        {at(hierarchy.itemOfNode, edge.from), at(hierarchy.itemOfNode, edge.to), edge.value, edge.stream});
  }
  applyHierarchyRules(hierarchy, options);
  hierarchy.entering = edgesAt(hierarchy, &DataEdge::to);
  hierarchy.leaving = edgesAt(hierarchy, &DataEdge::from);
  return hierarchy;
}

std::vector<int> defaultExpanded(const Hierarchy& hierarchy) {
  constexpr int kFewOps = 30;
  constexpr double kNearlyAll = 0.6;
  std::vector<int> open{0};
  const int total = hierarchy.item(0).ops;
  for (size_t i = 0; i < open.size(); ++i) {
    for (const int child : hierarchy.item(open[i]).children) {
      const Item& item = hierarchy.item(child);
      if (item.kind != ItemKind::Group || item.slim || item.repeats > 1) continue;
      if (total <= kFewOps || item.ops >= kNearlyAll * total) open.push_back(child);
    }
  }
  return open;
}

}  // namespace normlens::layout
