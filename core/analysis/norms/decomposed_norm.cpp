#include "core/analysis/norms/decomposed_norm.h"

#include <algorithm>

#include "core/analysis/norms/multiplied_out.h"
#include "core/analysis/norms/norm_tail.h"
#include "core/analysis/norms/written_parts.h"
#include "core/graph/queries.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Function;
using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

namespace {

class DecomposedMatcher {
 public:
  DecomposedMatcher(const Graph& graph, NodeId end) : graph_(graph), parts_(graph) {
    norm_.form = NormForm::Decomposed;
    norm_.node = end;
    norm_.output = graph.node(end).outputs[0];
    parts_.addMember(norm_.output);
  }

  // What is divided has gamma in it already: gamma * centered.
  void takeGamma(ValueId product, ValueId gamma) {
    parts_.addMember(product);
    norm_.asOne = true;
    norm_.innerGamma = gamma;
  }

  // centered / deviation, or centered * inverse deviation; `centered` is what a Sub makes.
  std::optional<LayerNorm> match(ValueId centered, ValueId scale, bool inverse) {
    if (!findCentering(centered) || !isScale(scale, inverse)) return std::nullopt;
    return finished();
  }

  std::optional<LayerNorm> match(const MultipliedOut& form) {
    norm_.input = form.input;
    norm_.innerBeta = form.beta;
    norm_.leftOut.push_back(form.withoutMean);
    norm_.asOne = true;
    for (const ValueId made : form.made) parts_.addMember(made);
    if (!findAxes(form.mean) || !isMean(form.mean, form.input) || !isScale(form.scale, true)) return std::nullopt;
    return finished();
  }

  // The RMSNorm `end` of what is centered over the same axes, for it alone: what is read elsewhere, too, is a stream
  // that is centered once for several norms.
  std::optional<LayerNorm> matchRmsNorm(const Node& end) {
    const ValueId centered = end.operands[0];
    const auto eps = graph::floatAttribute(end, "eps");
    if (!eps || !findCentering(centered) || !graph::sameTypeAndShape(graph_, norm_.input, centered))
      return std::nullopt;
    if (graph_.value(centered).uses.size() != 1 || centeringsOf(norm_.input) > 1) return std::nullopt;
    if (graph::intsAttribute(end, "axes") != norm_.axes) return std::nullopt;
    norm_.eps = *eps;
    norm_.innerGamma = graph::operandAt(end, 1);
    return finished();
  }

 private:
  // Each module that reads a centered stream may compute it anew.
  [[nodiscard]] std::ptrdiff_t centeringsOf(ValueId x) const {
    const auto& uses = graph_.value(x).uses;
    return std::count_if(uses.begin(), uses.end(), [&](const graph::Use& use) {
      return use.node != kNone && use.operand == 0 && ops::explicitCentering(graph_, graph_.node(use.node));
    });
  }

  // The deviation, or with gamma or without it the `inverse` deviation.
  bool isScale(ValueId scale, bool inverse) {
    const ValueId deviation = inverse ? withoutGamma(scale) : scale;
    const auto variance = parts_.meetsInput(deviation) ? parts_.radicand(deviation, inverse) : std::nullopt;
    if (!variance || !(isVariance(*variance) || isSquareLessMean(*variance))) return false;
    norm_.eps = parts_.eps();
    return true;
  }

  // x and the axes of c = x - mean(x).
  bool findCentering(ValueId centered) {
    const Node* sub = producerOf(graph_, centered);
    if (sub->operands.size() != 2 || !ops::plainAlpha(*sub)) return false;
    norm_.input = sub->operands[0];
    norm_.centered = centered;
    parts_.addMember(centered);
    norm_.asOne = norm_.asOne || !ops::explicitCentering(graph_, *sub);
    return findAxes(sub->operands[1]) && isMean(sub->operands[1], norm_.input);
  }

  LayerNorm finished() {
    norm_.blockedReason = parts_.rounded();
    norm_.members = parts_.members();
    if (const auto reason = writtenInBetween(graph_, norm_.members, norm_.input, norm_.output); !reason.empty())
      norm_.blockedReason = reason;
    // What is left out has another shape, perhaps; the others keep theirs.
    std::vector<NodeId> staying = norm_.members;
    std::erase_if(staying, [&](NodeId member) {
      return std::ranges::any_of(norm_.leftOut, [&](const auto& leftOut) { return leftOut.node == member; });
    });
    if (norm_.asOne && !isClosed(graph_, norm_.members, norm_.output, staying))
      norm_.blockedReason = "its mean or deviation is used elsewhere";
    return std::move(norm_);
  }

  // The axes of the reduction that the mean comes from: the last ones of the input.
  bool findAxes(ValueId mean) {
    const Node* node = producerOf(graph_, mean);
    while (node != nullptr && node->kind != OpKind::Reduce) {
      const bool scales = node->kind == OpKind::Mul || node->kind == OpKind::Div;
      if (!scales && !isView(*node)) return false;
      node = producerOf(graph_, node->operands.at(besideFactor(graph_, *node)));
    }
    if (node == nullptr || graph::operandAt(*node, 0) != norm_.input || !parts_.setGroups(*node)) return false;
    norm_.axes = parts_.axes();
    norm_.normalizedShape = parts_.normalizedShape();
    return true;
  }

  bool isMean(ValueId value, ValueId of) { return parts_.meetsInput(value) && parts_.isMeanOf(value, of); }

  // gamma * inverse deviation -> inverse deviation
  ValueId withoutGamma(ValueId scale) {
    if (norm_.innerGamma != kNoValue) return scale;
    const ValueId deviation = parts_.withoutGamma(scale);
    if (deviation == kNoValue) return scale;
    norm_.asOne = true;
    const auto& operands = producerOf(graph_, scale)->operands;
    norm_.innerGamma = operands[operands[0] == deviation ? 1 : 0];
    return deviation;
  }

  // mean((x - mean)^2) over the same axes, or the biased variance of x itself.
  bool isVariance(ValueId value) {
    const Node* reduce = producerOf(graph_, value);
    if (reduce != nullptr && reduce->kind == OpKind::Reduce && graph::boolAttribute(*reduce, "keepdim") &&
        parts_.isReduction(value, norm_.input, "var")) {
      return !graph::boolAttribute(*reduce, "unbiased", true);
    }
    const ValueId square = parts_.reducedBehind(value);
    const Node* node = producerOf(graph_, square);
    const ValueId base = node == nullptr ? kNoValue : squareBase(graph_, *node);
    const Node* sub = base == kNoValue ? nullptr : producerOf(graph_, base);
    if (sub == nullptr || sub->kind != OpKind::Sub || sub->operands.size() != 2 || !ops::plainAlpha(*sub) ||
        sub->operands[0] != norm_.input) {
      return false;
    }
    parts_.addMembers({square, base});
    if (!isMean(sub->operands[1], norm_.input) || !parts_.isMeanOf(value, square)) return false;
    norm_.asOne = norm_.asOne || !ops::explicitCentering(graph_, *sub);
    return true;
  }

  // mean(x^2) - mean(x)^2, kept from being negative or not.
  bool isSquareLessMean(ValueId value) {
    ValueId at = parts_.behindViews(value);
    const Node* node = producerOf(graph_, at);
    if (node == nullptr) return false;
    if (const ValueId inner = limitedBelow(*node); inner != kNoValue) {
      parts_.addMember(at);
      at = parts_.behindViews(inner);
      node = producerOf(graph_, at);
    }
    if (node == nullptr || node->kind != OpKind::Sub || node->operands.size() != 2 || !ops::plainAlpha(*node))
      return false;
    const Shape* a = ops::shapeOf(graph_, node->operands[0]);
    const Shape* b = ops::shapeOf(graph_, node->operands[1]);
    if (a == nullptr || b == nullptr || *a != *b) return false;
    const ValueId meanSquare = parts_.behindViews(node->operands[1]), square = parts_.reducedBehind(node->operands[0]);
    const Node* ofMean = producerOf(graph_, meanSquare);
    const Node* ofInput = producerOf(graph_, square);
    if (ofMean == nullptr || ofInput == nullptr || squareBase(graph_, *ofInput) != norm_.input) return false;
    const ValueId mean = squareBase(graph_, *ofMean);
    if (mean == kNoValue || !parts_.isMeanOf(mean, norm_.input) || !parts_.isMeanOf(node->operands[0], square))
      return false;
    parts_.addMembers({at, meanSquare, square});
    norm_.leftOut.push_back({graph_.value(at).producer, 0});
    norm_.asOne = true;
    return true;
  }

  // max(v, 0), relu(v) -> v
  [[nodiscard]] ValueId limitedBelow(const Node& node) const {
    if (node.function == Function::Relu) return graph::operandAt(node, 0);
    if (node.function != Function::Maximum || node.operands.size() != 2) return kNoValue;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      if (numberOf(graph_, node.operands[side]) == 0.0) return node.operands[1 - side];
    }
    return kNoValue;
  }

  const Graph& graph_;
  WrittenParts parts_;
  LayerNorm norm_;
};

std::optional<LayerNorm> matchMultipliedOut(const Graph& graph, NodeId end) {
  for (const MultipliedOut& form : readMultipliedOut(graph, end)) {
    if (auto found = DecomposedMatcher(graph, end).match(form)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LayerNorm> matchDecomposedNorm(const Graph& graph, NodeId end) {
  const Node& node = graph.node(end);
  if (node.operands.size() != 2) return std::nullopt;
  const auto match = [&](size_t centered, bool inverse) -> std::optional<LayerNorm> {
    const Node* made = producerOf(graph, node.operands[centered]);
    const auto isSub = [](const Node* maker) { return maker != nullptr && maker->kind == OpKind::Sub; };
    if (isSub(made))
      return DecomposedMatcher(graph, end).match(node.operands[centered], node.operands[1 - centered], inverse);
    if (made == nullptr || made->kind != OpKind::Mul || made->operands.size() != 2) return std::nullopt;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const ValueId gamma = made->operands[1 - side];
      if (!isSub(producerOf(graph, made->operands[side])) || !isOfConstants(graph, gamma)) continue;
      DecomposedMatcher matcher(graph, end);
      matcher.takeGamma(node.operands[centered], gamma);
      return matcher.match(made->operands[side], node.operands[1 - centered], inverse);
    }
    return std::nullopt;
  };
  if (node.kind == OpKind::Add || node.kind == OpKind::Sub) return matchMultipliedOut(graph, end);
  if (node.kind == OpKind::Div) return match(0, false);
  if (node.kind != OpKind::Mul) return std::nullopt;
  if (auto found = match(0, true)) return found;
  return match(1, true);
}

std::optional<LayerNorm> matchCenteredRmsNorm(const Graph& graph, NodeId end) {
  const Node& node = graph.node(end);
  if (graph::boolAttribute(node, "fused")) return std::nullopt;
  const Node* sub = producerOf(graph, graph::operandAt(node, 0));
  if (sub == nullptr || sub->kind != OpKind::Sub) return std::nullopt;
  return DecomposedMatcher(graph, end).matchRmsNorm(node);
}

}  // namespace normlens::analysis
