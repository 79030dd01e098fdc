#include "core/formats/onnx/edit/dead_nodes.h"
#include "core/formats/onnx/read/bodies.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::FunctionProto;

struct Scope {
  Scope* outer = nullptr;
  GraphProto* graph = nullptr;
  FunctionProto* function = nullptr;
  std::unordered_map<std::string, const NodeProto*> made;  // null: an input or an initializer
  std::unordered_map<std::string, int> reads;
  std::unordered_set<const NodeProto*> dead;
  std::unordered_set<std::string> gone;  // names that nothing makes any more
};

class Sweep {
 public:
  explicit Sweep(GraphProto& graph) { addGraph(nullptr, graph); }

  explicit Sweep(FunctionProto& function) {
    Scope& scope = add(nullptr);
    scope.function = &function;
    for (const auto& input : function.input()) scope.made.emplace(input, nullptr);
    addNodes(scope, *function.mutable_node());
  }

  void run(const std::vector<LostRead>& lost) {
    for (const auto& scope : scopes_) countReads(*scope);
    for (const auto& read : lost) {
      for (const auto& scope : scopes_) {
        const bool here = read.graph != nullptr ? scope->graph == read.graph : scope->function == read.function;
        if (here) queue(*scope, read.name);
      }
    }
    while (!waiting_.empty()) {
      const auto [scope, name] = waiting_.back();
      waiting_.pop_back();
      drop(*scope, name);
    }
    for (const auto& scope : scopes_) erase(*scope);
  }

  [[nodiscard]] const std::unordered_set<std::string>& goneFromRoot() const { return scopes_.front()->gone; }

 private:
  Scope& add(Scope* outer) {
    scopes_.push_back(std::make_unique<Scope>());
    scopes_.back()->outer = outer;
    return *scopes_.back();
  }

  void addGraph(Scope* outer, GraphProto& graph) {
    Scope& scope = add(outer);
    scope.graph = &graph;
    for (const auto& input : graph.input()) scope.made.emplace(input.name(), nullptr);
    for (const auto& tensor : graph.initializer()) scope.made.emplace(tensor.name(), nullptr);
    for (const auto& tensor : graph.sparse_initializer()) scope.made.emplace(tensor.values().name(), nullptr);
    addNodes(scope, *graph.mutable_node());
  }

  template <class Nodes>
  void addNodes(Scope& scope, Nodes& nodes) {
    for (auto& node : nodes) {
      for (const auto& output : node.output()) scope.made.emplace(output, &node);
      eachBody(node, [&](GraphProto& graph) { addGraph(&scope, graph); });
    }
  }

  static Scope* scopeOf(Scope& from, const std::string& name) {
    for (Scope* at = &from; at != nullptr; at = at->outer) {
      if (at->made.count(name) != 0) return at;
    }
    return nullptr;
  }

  static void countRead(Scope& from, const std::string& name) {
    if (Scope* at = name.empty() ? nullptr : scopeOf(from, name)) ++at->reads[name];
  }

  static void countReads(Scope& scope) {
    const auto& nodes = scope.graph != nullptr ? scope.graph->node() : scope.function->node();
    for (const auto& node : nodes) {
      for (const auto& input : node.input()) countRead(scope, input);
    }
    if (scope.graph != nullptr) {
      for (const auto& output : scope.graph->output()) countRead(scope, output.name());
    } else {
      for (const auto& output : scope.function->output()) countRead(scope, output);
    }
  }

  void queue(Scope& from, const std::string& name) {
    if (Scope* at = name.empty() ? nullptr : scopeOf(from, name)) waiting_.emplace_back(at, name);
  }

  void drop(Scope& scope, const std::string& name) {
    if (scope.reads[name] > 0) return;
    const NodeProto* node = scope.made.at(name);
    if (node == nullptr) {
      dropTensor(scope, name);
      return;
    }
    const auto unread = [&](const std::string& output) { return output.empty() || scope.reads[output] == 0; };
    if (!std::all_of(node->output().begin(), node->output().end(), unread)) return;
    if (holdsBody(*node)) return;
    if (!scope.dead.insert(node).second) return;
    for (const auto& output : node->output()) scope.gone.insert(output);
    for (const auto& input : node->input()) {
      Scope* from = input.empty() ? nullptr : scopeOf(scope, input);
      if (from == nullptr) continue;
      --from->reads[input];
      waiting_.emplace_back(from, input);
    }
  }

  // Inputs are the model's face: only a tensor that is no input as well may go.
  static void dropTensor(Scope& scope, const std::string& name) {
    if (scope.graph == nullptr) return;
    const auto& inputs = scope.graph->input();
    if (std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.name() == name; })) return;
    scope.gone.insert(name);
  }

  template <class Field, class Keep>
  static void keepOnly(Field& field, const Keep& keep) {
    const auto end = std::stable_partition(field.pointer_begin(), field.pointer_end(),
                                           [&](const auto* item) { return keep(*item); });
    field.DeleteSubrange(static_cast<int>(end - field.pointer_begin()), static_cast<int>(field.pointer_end() - end));
  }

  static void erase(Scope& scope) {
    if (scope.gone.empty()) return;
    const auto alive = [&](const NodeProto& node) { return scope.dead.count(&node) == 0; };
    const auto present = [&](const auto& info) { return scope.gone.count(info.name()) == 0; };
    if (scope.function != nullptr) {
      keepOnly(*scope.function->mutable_node(), alive);
      keepOnly(*scope.function->mutable_value_info(), present);
      return;
    }
    keepOnly(*scope.graph->mutable_node(), alive);
    keepOnly(*scope.graph->mutable_initializer(), present);
    keepOnly(*scope.graph->mutable_sparse_initializer(), [&](const auto& t) { return present(t.values()); });
    keepOnly(*scope.graph->mutable_value_info(), present);
    keepOnly(*scope.graph->mutable_quantization_annotation(),
             [&](const auto& note) { return scope.gone.count(note.tensor_name()) == 0; });
  }

  std::vector<std::unique_ptr<Scope>> scopes_;  // outer ones first
  std::vector<std::pair<Scope*, std::string>> waiting_;
};

}  // namespace

void sweepGraph(GraphProto& graph, const std::vector<LostRead>& lost, std::vector<std::string>& droppedWeights) {
  Sweep sweep(graph);
  sweep.run(lost);
  droppedWeights.insert(droppedWeights.end(), sweep.goneFromRoot().begin(), sweep.goneFromRoot().end());
}

void sweepFunction(FunctionProto& function, const std::vector<LostRead>& lost) { Sweep(function).run(lost); }

}  // namespace normlens::formats::onnx
