#include "core/analysis/norms/decomposed_rms_norm.h"

#include <algorithm>

#include "core/analysis/norms/norm_tail.h"
#include "core/analysis/norms/written_parts.h"

namespace normlens::analysis {

using graph::Function;
using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

constexpr int kLongestWay = 12;  // from the product to the reduction, views and casts included

bool isRoot(const Node& node) {
  return node.function == Function::SquareRoot || node.function == Function::InverseSquareRoot ||
         node.function == Function::Reciprocal || node.function == Function::Power;
}

// The operand that the way to the reduction goes on by: what is not a number or a constant gamma.
ValueId wayOf(const Graph& graph, const Node& node) {
  if (isView(node) || node.kind == OpKind::Cast || isRoot(node)) return graph::operandAt(node, 0);
  const bool joins = node.kind == OpKind::Mul || node.kind == OpKind::Div || node.kind == OpKind::Add;
  if (!joins || node.operands.size() != 2) return kNoValue;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ValueId other = node.operands[1 - side];
    const bool fixed = other != kNoValue && (graph.value(other).constant != kNone || graph.value(other).literal);
    if (fixed) return node.operands[side];
  }
  return kNoValue;
}

const Node* reductionBehind(const Graph& graph, ValueId value) {
  const Node* node = producerOf(graph, value);
  for (int step = 0; node != nullptr && node->kind != OpKind::Reduce && step < kLongestWay; ++step) {
    node = producerOf(graph, wayOf(graph, *node));
  }
  return node != nullptr && node->kind == OpKind::Reduce ? node : nullptr;
}

// Before the casts that round nothing.
ValueId beforeCasts(const Graph& graph, ValueId value) {
  for (const Node* node = producerOf(graph, value); node != nullptr && isTypeCast(*node);
       node = producerOf(graph, value)) {
    const ValueId source = graph::operandAt(*node, 0);
    if (source == kNoValue || !graph::castIsExact(graph.value(source).dtype, graph.value(value).dtype)) break;
    value = source;
  }
  return value;
}

class RmsMatcher {
 public:
  RmsMatcher(const Graph& graph, NodeId middle) : graph_(graph), parts_(graph) {
    norm_.kind = "RMSNorm";
    norm_.form = NormForm::Decomposed;
    norm_.output = graph.node(middle).outputs[0];
    parts_.addMember(norm_.output);
  }

  // data / root, or data * inverse root; `reduce` is on the way to the root.
  std::optional<OtherNorm> match(const Node& reduce, ValueId data, ValueId scale, bool inverse) {
    const ValueId square = graph::operandAt(reduce, 0);
    const Node* squaring = producerOf(graph_, square);
    const ValueId base = squaring == nullptr ? kNoValue : squareBase(graph_, *squaring);
    norm_.input = beforeCasts(graph_, data);
    if (base == kNoValue || beforeCasts(graph_, base) != norm_.input || !parts_.setGroups(reduce)) return std::nullopt;
    if (!areLastAxes(parts_.axes(), parts_.shape().size())) return std::nullopt;
    parts_.addMember(square);
    const ValueId root = withoutGamma(withoutCast(scale), inverse);
    const auto mean = parts_.meetsInput(root) ? parts_.radicand(root, inverse) : std::nullopt;
    if (!mean || !parts_.isMeanOf(*mean, square) || !parts_.meetsInput(*mean)) return std::nullopt;
    addTail();
    for (const ValueId before : {data, base, norm_.gamma}) addIfOnlyRead(before);
    return finished();
  }

 private:
  ValueId withoutCast(ValueId scale) {
    const Node* node = producerOf(graph_, scale);
    if (node == nullptr || node->kind != OpKind::Cast) return scale;
    parts_.addMember(scale);
    return graph::operandAt(*node, 0);
  }

  // gamma * inverse root -> inverse root
  ValueId withoutGamma(ValueId scale, bool inverse) {
    const ValueId root = inverse ? parts_.withoutGamma(scale) : kNoValue;
    if (root == kNoValue) return scale;
    const auto& operands = producerOf(graph_, scale)->operands;
    norm_.gamma = operands[operands[0] == root ? 1 : 0];
    return root;
  }

  void addTail() {
    const NormTail tail = tailOf(graph_, norm_.output, parts_.normalizedShape(), graph_.value(norm_.input).dtype,
                                 {.gamma = norm_.gamma == kNoValue, .beta = false});
    for (const NodeId node : tail.nodes) parts_.addMember(graph_.node(node).outputs[0]);
    if (tail.gamma != kNoValue) norm_.gamma = tail.gamma;
    norm_.output = tail.output;
  }

  // Casts of x, and what makes 1 + gamma, belong to the norm unless somebody else reads them, too.
  void addIfOnlyRead(ValueId value) {
    if (value == kNoValue || value == norm_.input) return;
    const Node* node = producerOf(graph_, value);
    if (node == nullptr || node->outputs.size() != 1) return;
    const bool onlyHere =
        std::ranges::all_of(graph_.value(value).uses, [&](const graph::Use& use) { return parts_.isMember(use.node); });
    if (!onlyHere) return;
    parts_.addMember(value);
    for (const ValueId operand : node->operands) addIfOnlyRead(operand);
  }

  std::optional<OtherNorm> finished() {
    norm_.node = graph_.value(norm_.output).producer;
    norm_.members = parts_.members();
    if (!writtenInBetween(graph_, norm_.members, norm_.input, norm_.output).empty()) return std::nullopt;
    norm_.axes = parts_.axes();
    norm_.eps = parts_.eps();
    norm_.exactMeans = parts_.rounded().empty();
    return std::move(norm_);
  }

  const Graph& graph_;
  WrittenParts parts_;
  OtherNorm norm_;
};

}  // namespace

std::optional<OtherNorm> matchDecomposedRmsNorm(const Graph& graph, NodeId middle) {
  const Node& node = graph.node(middle);
  if (node.operands.size() != 2 || node.operands[0] == kNoValue || node.operands[1] == kNoValue) return std::nullopt;
  const auto match = [&](size_t data, bool inverse) -> std::optional<OtherNorm> {
    const ValueId scale = node.operands[1 - data];
    const Node* reduce = reductionBehind(graph, scale);
    if (reduce == nullptr) return std::nullopt;  // nearly all of them
    return RmsMatcher(graph, middle).match(*reduce, node.operands[data], scale, inverse);
  };
  if (node.kind == OpKind::Div) return match(0, false);
  if (node.kind != OpKind::Mul) return std::nullopt;
  if (auto found = match(0, true)) return found;
  return match(1, true);
}

}  // namespace normlens::analysis
