#include "ui/layout/visible_edges.h"

#include <algorithm>
#include <set>

namespace normlens::layout {
namespace {

int at(const std::vector<int>& table, int id) {
  return id < 0 || static_cast<size_t>(id) >= table.size() ? -1 : table[static_cast<size_t>(id)];
}

class Builder {
 public:
  Builder(const protocol::GraphDocument& document, const std::vector<int>& valueOfId, bool showHelpers)
      : document_(document), valueOfId_(valueOfId), producer_(document.values.size(), -1) {
    result_.shown.resize(document.nodes.size());
    for (size_t i = 0; i < document.nodes.size(); ++i) {
      result_.shown[i] = showHelpers || (!document.nodes[i].helper && document.nodes[i].role != "H");
      for (const int id : document.nodes[i].outputs) {
        if (const int value = at(valueOfId_, id); value >= 0)
          producer_[static_cast<size_t>(value)] = static_cast<int>(i);
      }
    }
  }

  VisibleEdges build() {
    for (size_t i = 0; i < document_.nodes.size(); ++i) {
      if (result_.shown[i]) addInputs(static_cast<int>(i));
    }
    keepStreamThin();
    return std::move(result_);
  }

 private:
  void addInputs(int consumer) {
    std::set<int> seen;  // values: x * x is one edge
    bool joined = false;
    for (const int id : document_.nodes[static_cast<size_t>(consumer)].inputs) {
      const int value = at(valueOfId_, id);
      if (value < 0 || document_.values[static_cast<size_t>(value)].constant || !seen.insert(value).second) continue;
      const int producer = producer_[static_cast<size_t>(value)];
      if (producer < 0 || producer == consumer || !result_.shown[static_cast<size_t>(producer)]) continue;
      result_.edges.push_back({producer, consumer, value, document_.values[static_cast<size_t>(value)].stream});
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
    for (const NodeEdge& edge : result_.edges) {
      if (edge.value >= 0) ++readers[static_cast<size_t>(edge.value)];
    }
    for (NodeEdge& edge : result_.edges) {
      if (edge.value < 0) continue;
      const auto value = static_cast<size_t>(edge.value);
      edge.stream = stream[value] && (makesStream[static_cast<size_t>(edge.to)] || readers[value] == 1);
    }
  }

  // Of the values that are marked as stream, those around a sum that takes in a branch with weights or a norm. The sum
  // inside a GELU (x + c x^3) has the form of a residual and is none.
  std::vector<bool> residualValues() const {
    std::vector<bool> residual(document_.values.size(), false);
    for (size_t i = 0; i < document_.nodes.size(); ++i) {
      const protocol::GraphNode& node = document_.nodes[i];
      if (node.role == "R" && !takesInBranch(static_cast<int>(i))) continue;
      for (const auto* ids : {&node.inputs, &node.outputs}) {
        for (const int id : *ids) markStream(id, node.role == "R" || ids == &node.outputs, residual);
      }
    }
    return residual;
  }

  void markStream(int id, bool evidence, std::vector<bool>& residual) const {
    const int value = at(valueOfId_, id);
    if (value < 0 || !evidence || !document_.values[static_cast<size_t>(value)].stream) return;
    const int producer = producer_[static_cast<size_t>(value)];
    const bool doubtful =
        producer >= 0 && document_.nodes[static_cast<size_t>(producer)].role == "R" && !takesInBranch(producer);
    residual[static_cast<size_t>(value)] = residual[static_cast<size_t>(value)] || !doubtful;
  }

  bool takesInBranch(int sum) const {
    std::set<int> visited;
    std::vector<int> open{sum};
    while (!open.empty() && visited.size() < 300) {
      const int node = open.back();
      open.pop_back();
      for (const int id : document_.nodes[static_cast<size_t>(node)].inputs) {
        const int value = at(valueOfId_, id);
        const int producer = value < 0 ? -1 : producer_[static_cast<size_t>(value)];
        if (producer < 0 || document_.values[static_cast<size_t>(value)].stream || !visited.insert(producer).second)
          continue;
        const std::string& role = document_.nodes[static_cast<size_t>(producer)].role;
        if (role == "L" || role == "N") return true;
        open.push_back(producer);
      }
    }
    return false;
  }

  // A shown node whose inputs all come out of hidden ones (positions made from sizes) hangs in the air otherwise: it is
  // joined to the model's input that its sizes come from.
  void bridge(int consumer) {
    std::set<int> visited;
    std::vector<int> open{consumer};
    while (!open.empty() && visited.size() < 500) {
      const int node = open.back();
      open.pop_back();
      for (const int id : document_.nodes[static_cast<size_t>(node)].inputs) {
        const int value = at(valueOfId_, id);
        const int producer = value < 0 ? -1 : producer_[static_cast<size_t>(value)];
        if (producer < 0 || producer == consumer || !visited.insert(producer).second) continue;
        if (document_.nodes[static_cast<size_t>(producer)].role == "I" &&
            result_.shown[static_cast<size_t>(producer)]) {
          result_.edges.push_back({producer, consumer, -1, false});
          return;
        }
        open.push_back(producer);
      }
    }
  }

  const protocol::GraphDocument& document_;
  const std::vector<int>& valueOfId_;
  std::vector<int> producer_;  // by value index
  VisibleEdges result_;
};

}  // namespace

VisibleEdges visibleEdges(const protocol::GraphDocument& document, const std::vector<int>& valueOfId,
                          bool showHelpers) {
  return Builder(document, valueOfId, showHelpers).build();
}

}  // namespace normlens::layout
