#include "core/formats/onnx/edit/dead_nodes.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/formats/onnx/source/bodies.h"

namespace normlens::formats::onnx {
namespace {

struct Scope {
  Scope* outer = nullptr;
  GraphProto* graph = nullptr;
  std::unordered_map<std::string, const NodeProto*> made;  // null: an input or an initializer
  std::unordered_map<std::string, int> reads;
  std::unordered_set<const NodeProto*> dead;
  std::unordered_set<std::string> gone;  // names that nothing makes any more
};

class Sweep {
 public:
  explicit Sweep(GraphProto& graph) { addGraph(nullptr, graph); }

  void run(const std::vector<LostRead>& lost) {
    for (const auto& scope : scopes_) countReads(*scope);
    for (const auto& read : lost) {
      const auto scope = std::ranges::find(scopes_, read.graph, [](const auto& each) { return each->graph; });
      if (scope != scopes_.end()) look(**scope, read.name);
    }
    while (!waiting_.empty()) {
      const auto [scope, name] = waiting_.back();
      waiting_.pop_back();
      drop(*scope, name);
    }
    for (const auto& scope : scopes_) erase(*scope);
  }

  [[nodiscard]] std::unordered_set<std::string>& goneFromRoot() { return scopes_.front()->gone; }

 private:
  void addGraph(Scope* outer, GraphProto& graph) {
    scopes_.push_back(std::make_unique<Scope>());
    Scope& scope = *scopes_.back();
    scope.outer = outer;
    scope.graph = &graph;
    for (const auto& input : graph.input()) scope.made.emplace(input.name(), nullptr);
    for (const auto& tensor : graph.initializer()) scope.made.emplace(tensor.name(), nullptr);
    for (const auto& tensor : graph.sparse_initializer()) scope.made.emplace(tensor.values().name(), nullptr);
    for (auto& node : *graph.mutable_node()) {
      for (const auto& output : node.output()) scope.made.emplace(output, &node);
      eachBody(node, [&](GraphProto& body) { addGraph(&scope, body); });
    }
    scope.made.erase("");
  }

  // Returns the scope in which a name is made; null: no scope makes it.
  static Scope* scopeOf(Scope& from, const std::string& name) {
    Scope* at = &from;
    while (at != nullptr && !at->made.contains(name)) at = at->outer;
    return at;
  }

  static void countReads(Scope& scope) {
    const auto count = [&](const std::string& name) {
      if (Scope* at = scopeOf(scope, name)) ++at->reads[name];
    };
    for (const auto& node : scope.graph->node()) std::ranges::for_each(node.input(), count);
    for (const auto& output : scope.graph->output()) count(output.name());
  }

  Scope* look(Scope& from, const std::string& name) {
    Scope* at = scopeOf(from, name);
    if (at != nullptr) waiting_.emplace_back(at, name);
    return at;
  }

  void drop(Scope& scope, const std::string& name) {
    if (scope.reads[name] > 0) return;
    const NodeProto* node = scope.made.at(name);
    if (node == nullptr) {
      // Inputs are the model's face: only a tensor that is no input as well may go.
      const auto isIt = [&](const auto& input) { return input.name() == name; };
      if (std::ranges::none_of(scope.graph->input(), isIt)) scope.gone.insert(name);
      return;
    }
    const auto unread = [&](const std::string& output) { return output.empty() || scope.reads[output] == 0; };
    if (!std::ranges::all_of(node->output(), unread) || holdsBody(*node) || !scope.dead.insert(node).second) return;
    scope.gone.insert(node->output().begin(), node->output().end());
    for (const auto& input : node->input()) {
      if (Scope* from = look(scope, input)) --from->reads[input];
    }
  }

  static void erase(Scope& scope) {
    if (scope.gone.empty()) return;
    const auto present = [&](const auto& info) { return !scope.gone.contains(info.name()); };
    keepOnly(*scope.graph->mutable_node(), [&](const NodeProto& node) { return !scope.dead.contains(&node); });
    keepOnly(*scope.graph->mutable_initializer(), present);
    keepOnly(*scope.graph->mutable_sparse_initializer(), [&](const auto& t) { return present(t.values()); });
    keepOnly(*scope.graph->mutable_value_info(), present);
    keepOnly(*scope.graph->mutable_quantization_annotation(),
             [&](const auto& note) { return !scope.gone.contains(note.tensor_name()); });
  }

  std::vector<std::unique_ptr<Scope>> scopes_;  // outer ones first
  std::vector<std::pair<Scope*, std::string>> waiting_;
};

}  // namespace

std::unordered_set<std::string> sweepDead(GraphProto& graph, const std::vector<LostRead>& lost) {
  Sweep sweep(graph);
  sweep.run(lost);
  return std::move(sweep.goneFromRoot());
}

}  // namespace normlens::formats::onnx
