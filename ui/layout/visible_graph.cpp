#include "ui/layout/visible_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ui/layout/hierarchy_steps.h"

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
    Endpoint tail{EndpointKind::Box, boxIndex_[static_cast<size_t>(from)], kNone};
    for (size_t level = up.size(); level > common; --level) {
      const int port = portOf(up[level - 1], EndpointKind::Out, edge);
      addEdge(up[level - 1], tail, {EndpointKind::Out, kNone, port}, index);
      tail = {EndpointKind::Box, boxIndex_[static_cast<size_t>(up[level - 1])], port};
    }
    for (size_t level = common; level < down.size(); ++level) {
      const int port = portOf(down[level], EndpointKind::In, edge);
      addEdge(down[level - 1], tail, {EndpointKind::Box, boxIndex_[static_cast<size_t>(down[level])], port}, index);
      tail = {EndpointKind::In, kNone, port};
    }
    addEdge(down.back(), tail, {EndpointKind::Box, boxIndex_[static_cast<size_t>(to)], kNone}, index);
  }

  LocalGraph& local(int group) { return graph_.groups[static_cast<size_t>(graph_.indexOfGroup.at(group))]; }

  int portOf(int group, EndpointKind side, const DataEdge& edge) {
    LocalGraph& graph = local(group);
    std::vector<bool>& ports = side == EndpointKind::In ? graph.inPorts : graph.outPorts;
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

  void addEdge(int group, const Endpoint& from, const Endpoint& to, int data) {
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
    std::map<std::pair<EndpointKind, int>, int> ports;
    std::map<std::pair<Endpoint, Endpoint>, int> edges;
  };

  const Hierarchy& h_;
  const GroupSet& expanded_;
  VisibleGraph graph_;
  std::vector<Keys> keys_;     // by group
  std::vector<int> shownAs_;   // item -> the box it is drawn as or in
  std::vector<int> boxIndex_;  // child item -> its place among its siblings
};

class Builder {
 public:
  Builder(Hierarchy& hierarchy, bool showHelpers)
      : h_(hierarchy),
        document_(*hierarchy.document),
        producer_(document_.values.size(), kNone),
        shown_(document_.nodes.size()),
        widths_(normWidths(*hierarchy.document)) {
    for (size_t i = 0; i < document_.nodes.size(); ++i) {
      shown_[i] = showHelpers || (!document_.nodes[i].helper && document_.nodes[i].role != NodeClass::Helper);
      for (const int id : document_.nodes[i].outputs) {
        if (const int value = h_.values.of(id); value >= 0) producer_[static_cast<size_t>(value)] = static_cast<int>(i);
      }
    }
  }

  std::vector<bool> build() {
    for (size_t i = 0; i < document_.nodes.size(); ++i) {
      if (shown_[i]) addInputs(static_cast<int>(i));
    }
    keepStreamThin();
    return std::move(shown_);
  }

 private:
  void addInputs(int consumer) {
    std::set<int> seen;  // values: x * x is one edge
    bool joined = false;
    for (const int id : document_.nodes[static_cast<size_t>(consumer)].inputs) {
      const int value = h_.values.of(id);
      if (value < 0 || document_.values[static_cast<size_t>(value)].constant || !seen.insert(value).second) continue;
      const int producer = producer_[static_cast<size_t>(value)];
      if (producer < 0 || producer == consumer || !shown_[static_cast<size_t>(producer)]) continue;
      h_.edges.push_back({producer, consumer, value, document_.values[static_cast<size_t>(value)].stream});
      joined = true;
    }
    if (!joined) bridge(consumer);
  }

  // A stream value is read by the branches too; the stream itself goes on to whoever makes the next stream value, and
  // ends at a lone last reader.
  void keepStreamThin() {
    const std::vector<bool> stream = residualValues();
    std::vector<bool> makesStream(document_.nodes.size(), false);
    for (size_t v = 0; v < stream.size(); ++v) {
      if (stream[v] && producer_[v] >= 0) makesStream[static_cast<size_t>(producer_[v])] = true;
    }
    std::vector<int> readers(document_.values.size(), 0);
    for (const DataEdge& edge : h_.edges) {
      if (edge.value >= 0) ++readers[static_cast<size_t>(edge.value)];
    }
    for (DataEdge& edge : h_.edges) {
      if (edge.value < 0) continue;
      const auto value = static_cast<size_t>(edge.value);
      edge.stream = stream[value] && (makesStream[static_cast<size_t>(edge.to)] || readers[value] == 1);
    }
  }

  // Keeps of the values marked as stream those around a sum that takes in a branch with weights or a norm. The sum
  // inside a GELU (x + c x^3) has the form of a residual and is none.
  [[nodiscard]] std::vector<bool> residualValues() const {
    std::vector<bool> residual(document_.values.size(), false);
    for (size_t i = 0; i < document_.nodes.size(); ++i) {
      const protocol::GraphNode& node = document_.nodes[i];
      if (node.role == NodeClass::Residual && !takesInBranch(static_cast<int>(i))) continue;
      for (const auto* ids : {&node.inputs, &node.outputs}) {
        for (const int id : *ids) markStream(id, node.role == NodeClass::Residual || ids == &node.outputs, residual);
      }
    }
    return residual;
  }

  // The last axes of what the norms read.
  static std::set<int64_t> normWidths(const protocol::GraphDocument& document) {
    std::set<int> inputs;
    for (const protocol::GraphNode& node : document.nodes) {
      if (node.role == NodeClass::LayerNorm || node.role == NodeClass::RmsNorm)
        inputs.insert(node.inputs.begin(), node.inputs.end());
    }
    std::set<int64_t> widths;
    for (const protocol::GraphValue& value : document.values) {
      if (!value.constant && value.has_shape && !value.shape.empty() && inputs.contains(value.id))
        widths.insert(value.shape.back());
    }
    return widths;
  }

  // A stream is as wide as a norm, in the last axis or, of images, in the second. Masks, scores and positions are not;
  // before shapes are known, no value is.
  [[nodiscard]] bool carriesStream(const protocol::GraphValue& value) const {
    if (!value.stream || !value.has_shape || value.shape.empty()) return false;
    return widths_.contains(value.shape.back()) || (value.shape.size() == 4 && widths_.contains(value.shape[1]));
  }

  void markStream(int id, bool evidence, std::vector<bool>& residual) const {
    const int value = h_.values.of(id);
    if (value < 0 || !evidence || !carriesStream(document_.values[static_cast<size_t>(value)])) return;
    const int producer = producer_[static_cast<size_t>(value)];
    const bool doubtful = producer >= 0 && document_.nodes[static_cast<size_t>(producer)].role == NodeClass::Residual &&
                          !takesInBranch(producer);
    residual[static_cast<size_t>(value)] = residual[static_cast<size_t>(value)] || !doubtful;
  }

  // The first node found upstream that is `wanted`; kNone. Leads on only through the values that it `follows`.
  template <class Follows, class Wanted>
  [[nodiscard]] int findUpstream(int start, size_t most, Follows follows, Wanted wanted) const {
    std::set<int> visited{start};
    std::vector<int> open{start};
    while (!open.empty() && visited.size() <= most) {
      const int node = open.back();
      open.pop_back();
      for (const int id : document_.nodes[static_cast<size_t>(node)].inputs) {
        const int value = h_.values.of(id);
        const int producer = value < 0 ? kNone : producer_[static_cast<size_t>(value)];
        if (producer < 0 || !follows(document_.values[static_cast<size_t>(value)]) || !visited.insert(producer).second)
          continue;
        if (wanted(producer)) return producer;
        open.push_back(producer);
      }
    }
    return kNone;
  }

  [[nodiscard]] bool takesInBranch(int sum) const {
    const auto branches = [](const protocol::GraphValue& value) { return !value.stream; };
    return findUpstream(sum, 300, branches, [this](int node) {
             const NodeClass role = document_.nodes[static_cast<size_t>(node)].role;
             return role == NodeClass::Linear || role == NodeClass::LayerNorm;
           }) != kNone;
  }

  // A shown node whose inputs all come out of hidden ones (positions made from sizes) hangs in the air otherwise: it is
  // joined to the model's input that its sizes come from.
  void bridge(int consumer) {
    const auto all = [](const protocol::GraphValue&) { return true; };
    const int input = findUpstream(consumer, 500, all, [this](int node) {
      return document_.nodes[static_cast<size_t>(node)].role == NodeClass::Input && shown_[static_cast<size_t>(node)];
    });
    if (input != kNone) h_.edges.push_back({input, consumer, kNone, false});
  }

  Hierarchy& h_;
  const protocol::GraphDocument& document_;
  std::vector<int> producer_;  // by value index
  std::vector<bool> shown_;    // by node index
  std::set<int64_t> widths_;
};

}  // namespace

VisibleGraph visibleGraph(const Hierarchy& hierarchy, const GroupSet& expanded) {
  return GraphBuilder(hierarchy, expanded).build();
}

std::vector<bool> findEdges(Hierarchy& hierarchy, bool showHelpers) { return Builder(hierarchy, showHelpers).build(); }

}  // namespace normlens::layout
