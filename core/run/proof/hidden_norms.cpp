#include "core/run/proof/hidden_norms.h"

#include <unordered_set>

#include "core/graph/contains.h"

namespace normlens::run {
namespace {

using graph::DType;
using graph::Graph;
using graph::OpKind;
using graph::ValueId;

// An unknown type is of a branch that was not taken, or no tensor.
bool holdsNumbers(const graph::Value& value) {
  const bool some = !value.shape || graph::elementCount(*value.shape).value_or(0) > 0;
  const bool complex = value.dtype == DType::Complex64 || value.dtype == DType::Complex128;
  return some && (graph::isFloat(value.dtype) || complex || value.dtype == DType::Unknown);
}

// Follows the output of one norm through its readers.
class Trace {
 public:
  Trace(const Graph& graph, const std::vector<ValueId>& shown, UnknownOps unknown)
      : graph_(graph), shown_(shown), unknown_(unknown) {}

  [[nodiscard]] bool reachesOutput(ValueId norm) {
    reach(norm);
    while (!open_.empty() && !isShown_) {
      const ValueId value = open_.back();
      open_.pop_back();
      bool ends = false;
      for (const graph::Use& use : graph_.value(value).uses) ends = !follow(use) || ends;
      if (ends) before_.push_back(value);
    }
    return isShown_;
  }
  [[nodiscard]] std::vector<ValueId> before() && { return std::move(before_); }

 private:
  // Follows one read; false where something of what is read ends there.
  bool follow(const graph::Use& use) {
    if (use.node == graph::kNone) return leave(use.block, static_cast<size_t>(use.operand));
    const graph::Node& node = graph_.node(use.node);
    if (node.kind == OpKind::ShapeQuery) return true;
    if (node.kind == OpKind::Opaque && unknown_ == UnknownOps::Hide) return false;
    if (node.function == graph::Function::Step) return false;
    if (node.kind == OpKind::Loop) return enter(node, static_cast<size_t>(use.operand));
    bool all = !node.outputs.empty() && node.kind != OpKind::If;
    for (size_t i = 0; all && i < node.outputs.size(); ++i) reach(node.outputs[i]);
    for (const ValueId output : node.outputs) all = all && holdsNumbers(graph_.value(output));
    return all;
  }

  bool leave(graph::BlockId block, size_t index) {
    if (block == 0) return isShown_ = true;
    const graph::NodeId id = graph_.block(block).owner;
    const graph::Node& owner = graph_.node(id);
    const bool loops = owner.kind == OpKind::Loop;
    if (loops && index == 0) return false;  // the condition
    const size_t output = index - (loops ? 1 : 0);
    if ((!loops && owner.kind != OpKind::If) || output >= owner.outputs.size()) return false;
    if (loops) reach(graph_.block(block).params[index]);
    return reach(owner.outputs[output]);
  }

  bool enter(const graph::Node& loop, size_t operand) {
    if (operand < 2) return false;  // the trip count, the condition
    reach(graph_.block(loop.blocks.front()).params[operand - 1]);
    return reach(loop.outputs[operand - 2]);
  }

  bool reach(ValueId value) {
    if (!holdsNumbers(graph_.value(value))) return false;
    if (contains(shown_, value)) isShown_ = true;
    if (!seen_.insert(value).second) return true;
    open_.push_back(value);
    return true;
  }

  const Graph& graph_;
  const std::vector<ValueId>& shown_;
  UnknownOps unknown_;
  std::unordered_set<ValueId> seen_;
  std::vector<ValueId> open_, before_;
  bool isShown_ = false;
};

}  // namespace

std::vector<HiddenNorm> hiddenNorms(const Graph& graph, const std::vector<ValueId>& outputs,
                                    const std::vector<ValueId>& shown, UnknownOps unknown) {
  std::vector<HiddenNorm> hidden;
  for (const ValueId output : outputs) {
    Trace trace(graph, shown, unknown);
    if (trace.reachesOutput(output)) continue;
    std::vector<ValueId> before = std::move(trace).before();
    if (!before.empty()) hidden.push_back({output, std::move(before)});
  }
  return hidden;
}

std::string whyHidden(const std::string& norm) {
  return "the outputs do not show what the LayerNorm '" + norm +
         "' gives, and it could not be compared itself: nothing is proved of it";
}

}  // namespace normlens::run
