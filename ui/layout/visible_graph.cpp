#include "ui/layout/visible_graph.h"

#include <algorithm>
#include <map>
#include <utility>

namespace normlens::layout {
namespace {

constexpr size_t kMaxPorts = 6;
constexpr int kRest = -2;  // the port that the values beyond kMaxPorts share

class GraphBuilder {
 public:
  GraphBuilder(const Hierarchy& hierarchy, const GroupSet& expanded)
      : h_(hierarchy),
        expanded_(expanded),
        shownAs_(hierarchy.items.size(), kNone),
        boxIndex_(hierarchy.items.size(), kNone) {}

  VisibleGraph build() {
    open(0);
    keys_.resize(graph_.groups.size());
    for (size_t i = 0; i < h_.edges.size(); ++i) route(static_cast<int>(i));
    return std::move(graph_);
  }

 private:
  bool isOpen(int item) const {
    return item == 0 || (h_.item(item).kind == ItemKind::Group && expanded_.contains(item));
  }

  void open(int group) {
    graph_.indexOfGroup[group] = static_cast<int>(graph_.groups.size());
    LocalGraph local;
    local.group = group;
    local.boxes = h_.item(group).children;
    for (size_t i = 0; i < local.boxes.size(); ++i)
      boxIndex_[static_cast<size_t>(local.boxes[i])] = static_cast<int>(i);
    graph_.groups.push_back(std::move(local));
    for (const int child : h_.item(group).children) {
      if (isOpen(child)) {
        open(child);
      } else {
        markShown(child, child);
      }
    }
  }

  void markShown(int item, int as) {
    shownAs_[static_cast<size_t>(item)] = as;
    for (const int child : h_.item(item).children) markShown(child, as);
  }

  // Open groups from the model down to the one that holds the box.
  std::vector<int> groupsAbove(int box) const {
    std::vector<int> chain;
    for (int group = h_.item(box).parent; group >= 0; group = h_.item(group).parent) chain.push_back(group);
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  void route(int index) {
    const DataEdge& edge = h_.edges[static_cast<size_t>(index)];
    const int from = shownAs_[static_cast<size_t>(edge.from)], to = shownAs_[static_cast<size_t>(edge.to)];
    if (from == to) return;
    const std::vector<int> up = groupsAbove(from), down = groupsAbove(to);
    size_t common = 0;
    while (common < up.size() && common < down.size() && up[common] == down[common]) ++common;
    Place tail{PlaceKind::Box, boxIndex_[static_cast<size_t>(from)], kNone};
    for (size_t level = up.size(); level > common; --level) {
      const int port = portOf(up[level - 1], PlaceKind::Out, edge);
      addEdge(up[level - 1], tail, {PlaceKind::Out, kNone, port}, index);
      tail = {PlaceKind::Box, boxIndex_[static_cast<size_t>(up[level - 1])], port};
    }
    for (size_t level = common; level < down.size(); ++level) {
      const int port = portOf(down[level], PlaceKind::In, edge);
      addEdge(down[level - 1], tail, {PlaceKind::Box, boxIndex_[static_cast<size_t>(down[level])], port}, index);
      tail = {PlaceKind::In, kNone, port};
    }
    addEdge(down.back(), tail, {PlaceKind::Box, boxIndex_[static_cast<size_t>(to)], kNone}, index);
  }

  LocalGraph& local(int group) { return graph_.groups[static_cast<size_t>(graph_.indexOfGroup.at(group))]; }

  int portOf(int group, PlaceKind side, const DataEdge& edge) {
    LocalGraph& graph = local(group);
    std::vector<bool>& ports = side == PlaceKind::In ? graph.inPorts : graph.outPorts;
    auto& known = keys_[static_cast<size_t>(graph_.indexOfGroup.at(group))].ports;
    const int next = static_cast<int>(ports.size());
    const auto [port, isNew] = known.try_emplace({side, edge.value}, next);
    if (isNew && ports.size() >= kMaxPorts && !edge.stream) {
      const auto [rest, isFirst] = known.try_emplace({side, kRest}, next);
      if (isFirst) ports.push_back(false);
      port->second = rest->second;
    } else if (isNew) {
      ports.push_back(edge.stream);
    }
    return port->second;
  }

  void addEdge(int group, const Place& from, const Place& to, int data) {
    LocalGraph& graph = local(group);
    auto& known = keys_[static_cast<size_t>(graph_.indexOfGroup.at(group))].edges;
    const auto [entry, isNew] = known.try_emplace({from, to}, static_cast<int>(graph.edges.size()));
    const DataEdge& source = h_.edges[static_cast<size_t>(data)];
    if (isNew) graph.edges.push_back({from, to, false, true, {}});
    LocalEdge& edge = graph.edges[static_cast<size_t>(entry->second)];
    edge.stream = edge.stream || source.stream;
    edge.bridge = edge.bridge && source.value == kNone;
    edge.data.push_back(data);
  }

  struct Keys {
    std::map<std::pair<PlaceKind, int>, int> ports;
    std::map<std::pair<Place, Place>, int> edges;
  };

  const Hierarchy& h_;
  const GroupSet& expanded_;
  VisibleGraph graph_;
  std::vector<Keys> keys_;     // by group
  std::vector<int> shownAs_;   // item -> the box it is drawn as or in
  std::vector<int> boxIndex_;  // child item -> its place among its siblings
};

}  // namespace

VisibleGraph visibleGraph(const Hierarchy& hierarchy, const GroupSet& expanded) {
  return GraphBuilder(hierarchy, expanded).build();
}

}  // namespace normlens::layout
