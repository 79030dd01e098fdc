#include "core/analysis/streams/norm_readers.h"

#include <algorithm>

#include "core/analysis/claims/kept_channels.h"
#include "core/analysis/norms/constant_behind.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::Shape;
using graph::Use;
using graph::ValueId;

namespace {

constexpr int64_t kLargestBeta = int64_t{1} << 24;

class Readers {
 public:
  Readers(const Graph& graph, const LayerNorm& norm, const Plan& plan) : graph_(graph), norm_(norm), plan_(plan) {}

  std::optional<NormReaders> find() {
    const Shape* shape = ops::shapeOf(graph_, norm_.input);
    const bool oneOp = norm_.form == NormForm::Op && graph_.node(norm_.node).kind == OpKind::LayerNorm;
    if (!oneOp || shape == nullptr || norm_.axes.size() != 1 || !areLastAxes(norm_.axes, shape->size()))
      return std::nullopt;
    channels_ = shape->back();
    const auto type = graph_.value(norm_.input).dtype;
    if (graph_.value(norm_.output).dtype != type || !isGammaKnown() || !isBetaGone()) return std::nullopt;
    if (!follow(norm_.output)) return std::nullopt;
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool isGammaKnown() {
    if (norm_.gamma == kNoValue) return true;
    gamma_ = {norm_.node, 1, kNone};
    const auto found = constantBehind(graph_, gamma_, 0);
    return found && found->use == gamma_ && graph::isFloat(graph_.value(norm_.gamma).dtype);
  }

  [[nodiscard]] bool isBetaGone() const {
    if (norm_.beta == kNoValue) return true;
    const auto moves = [&](const PlannedEdit& planned) {
      const auto* shift = std::get_if<fold::AbsorbShift>(&planned.edit);
      return shift != nullptr && shift->norm == norm_.index;
    };
    if (std::ranges::any_of(plan_.edits, moves)) return true;
    const auto constant = graph_.value(norm_.beta).constant;
    if (constant == kNone || !graph_.constant(constant).volatileReason.empty()) return false;
    return graph::isZero(graph_.constant(constant).view, kLargestBeta);
  }

  // Down to linears on every path.
  bool follow(ValueId first) {
    std::vector<ValueId> open{first};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      const auto& value = graph_.value(id);
      if (!value.opaqueReason.empty() || !graph::isFloat(value.dtype) || !value.shape) return false;
      out_.between.push_back({id, static_cast<int>(value.shape->size()) - 1, {}});
      for (const Use& use : value.uses) {
        if (use.node == kNone) return false;
        const Node& node = graph_.node(use.node);
        if (use.operand == 0 && keepsChannels(graph_, node, channels_)) {
          passOn(use.node, open);
        } else if (node.kind == OpKind::ShapeQuery && !graph::floatAttribute(node, "fill")) {
          out_.written.push_back({use.node, static_cast<int>(value.shape->size()) - 1});
        } else if (!readsLinearly(use, node)) {
          return false;
        }
      }
    }
    return !out_.linears.empty();
  }

  void passOn(graph::NodeId id, std::vector<ValueId>& open) {
    const Node& node = graph_.node(id);
    open.insert(open.end(), node.outputs.begin(), node.outputs.end());
    if (node.kind != OpKind::Reshape && node.kind != OpKind::Expand) return;
    out_.written.push_back({id, static_cast<int>(ops::shapeOf(graph_, node.outputs[0])->size()) - 1});
  }

  bool readsLinearly(const Use& use, const Node& node) {
    switch (node.kind) {
      case OpKind::Linear:
        return use.operand == 0 && addLinear({use.node, 1, kNone}, 1);
      case OpKind::AddMatMul:
        return use.operand == 1 && addLinear({use.node, 2, kNone}, 0);
      case OpKind::MatMul:
        return use.operand == 0 && addLinear({use.node, 1, kNone}, 0);
      default:
        return false;
    }
  }

  // inputAxis: of the weight operand, the one that is summed with the channels.
  bool addLinear(const Use& weightUse, int64_t inputAxis) {
    const Shape* shape =
        ops::shapeOf(graph_, graph::operandAt(graph_.node(weightUse.node), static_cast<size_t>(weightUse.operand)));
    if (shape == nullptr || shape->size() != 2 || (*shape)[static_cast<size_t>(inputAxis)] != channels_) return false;
    const auto weight = constantBehind(graph_, weightUse, inputAxis);
    if (!weight || !addViews(weightUse, static_cast<int>(inputAxis)) ||
        graph_.constant(weight->constant).view.shape.size() != 2)
      return false;
    const auto same = std::ranges::find_if(out_.linears, [&](const fold::ReadNarrow& linear) {
      return linear.weight == weight->constant && linear.inputDim == weight->axis;
    });
    if (same != out_.linears.end()) {
      if (std::ranges::find(same->uses, weight->use) == same->uses.end()) same->uses.push_back(weight->use);
      return true;
    }
    out_.linears.push_back({weight->constant, static_cast<int>(weight->axis), {weight->use}, gamma_, {}});
    return true;
  }

  // Adds what is made of the constant on the way to this operand. False where something else reads it, too.
  bool addViews(Use use, int axis) {
    for (;;) {
      const auto id = graph::operandAt(graph_.node(use.node), static_cast<size_t>(use.operand));
      const auto& value = graph_.value(id);
      if (value.producer == kNone) return true;
      if (value.uses.size() != 1) return false;
      out_.between.push_back({id, axis, {}});
      const Node& node = graph_.node(value.producer);
      if (const auto perm = graph::intsAttribute(node, "perm"); perm && node.kind == OpKind::Permute)
        axis = static_cast<int>(perm->at(static_cast<size_t>(axis)));
      use = {value.producer, 0, kNone};
    }
  }

  const Graph& graph_;
  const LayerNorm& norm_;
  const Plan& plan_;
  int64_t channels_ = 0;
  Use gamma_;
  NormReaders out_;
};

}  // namespace

std::optional<NormReaders> linearsBehind(const Graph& graph, const LayerNorm& norm, const Plan& plan) {
  return Readers(graph, norm, plan).find();
}

}  // namespace normlens::analysis
