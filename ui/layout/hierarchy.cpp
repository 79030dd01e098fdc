#include "ui/layout/hierarchy.h"

#include <utility>

#include "ui/layout/hierarchy_steps.h"

namespace normlens::layout {
namespace {

std::vector<int> itemsOfScopes(const Hierarchy& hierarchy) {
  const auto& scopes = hierarchy.document->scopes;
  std::vector<int> items(scopes.size(), kNone);
  const auto firstIn = [&](int scope) -> int& { return items[static_cast<size_t>(scope)]; };
  for (size_t i = 0; i < hierarchy.items.size(); ++i) {
    const int scope = hierarchy.items[i].scope;
    if (scope != kNone && firstIn(scope) == kNone) firstIn(scope) = static_cast<int>(i);
  }
  // A container that was dissolved is its first block.
  for (size_t i = 1; i < hierarchy.items.size(); ++i) {
    if (hierarchy.items[i].scope == kNone) continue;
    const auto above = [&](int scope) { return hierarchy.scopes.of(scopes[static_cast<size_t>(scope)].parent); };
    for (int scope = above(hierarchy.items[i].scope); scope != kNone && firstIn(scope) == kNone; scope = above(scope))
      firstIn(scope) = static_cast<int>(i);
  }
  return items;
}

Buckets edgesAt(const Hierarchy& hierarchy, int DataEdge::*end) {
  return {hierarchy.items.size(), [&](auto put) {
            for (size_t i = 0; i < hierarchy.edges.size(); ++i)
              put(static_cast<size_t>(hierarchy.edges[i].*end), static_cast<int>(i));
          }};
}

}  // namespace

int Hierarchy::nodeId(int item) const {
  const int node = this->item(item).node;
  return node < 0 ? -1 : document->nodes[static_cast<size_t>(node)].id;
}

int Hierarchy::scopeId(int item) const {
  const int scope = this->item(item).scope;
  return scope < 0 ? -1 : document->scopes[static_cast<size_t>(scope)].id;
}

int Hierarchy::outputOf(int item) const {
  const int node = this->item(item).node;
  if (node < 0) return -1;
  const auto& outputs = document->nodes[static_cast<size_t>(node)].outputs;
  return outputs.empty() ? -1 : outputs.front();
}

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
  hierarchy.nodes = IdIndex(hierarchy.document->nodes);
  hierarchy.values = IdIndex(hierarchy.document->values);
  hierarchy.scopes = IdIndex(hierarchy.document->scopes);
  buildScopeTree(hierarchy, findEdges(hierarchy, options.showHelpers));
  applyHierarchyRules(hierarchy, options);
  hierarchy.itemsOfScopes = itemsOfScopes(hierarchy);
  hierarchy.entering = edgesAt(hierarchy, &DataEdge::to);
  hierarchy.leaving = edgesAt(hierarchy, &DataEdge::from);
  return hierarchy;
}

GroupSet defaultExpanded(const Hierarchy& hierarchy) {
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
  return {open.begin(), open.end()};
}

}  // namespace normlens::layout
