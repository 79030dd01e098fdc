#include "core/analysis/decomposed_norm.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <set>

#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

namespace {

// "aten::rsqrt_" and "Rsqrt" are both "rsqrt".
std::string functionName(const Node& node) {
  std::string name = node.op.substr(node.op.rfind(':') == std::string::npos ? 0 : node.op.rfind(':') + 1);
  while (!name.empty() && name.back() == '_') name.pop_back();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

const Node* producer(const Graph& graph, ValueId value) {
  if (value == kNoValue || graph.value(value).producer == kNone) return nullptr;
  return &graph.node(graph.value(value).producer);
}

std::optional<double> number(const Graph& graph, ValueId id) {
  if (id == kNoValue) return std::nullopt;
  const auto& value = graph.value(id);
  if (value.literal) return value.literal;
  if (value.constant == kNone || !graph.constant(value.constant).volatileReason.empty()) return std::nullopt;
  const auto& view = graph.constant(value.constant).view;
  if (graph::elementCount(view.shape) != 1) return std::nullopt;
  const auto numbers = graph::toDoubles(view);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

std::vector<int64_t> trailingAxes(size_t rank, size_t count) {
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(rank - count));
  return axes;
}

// Which operand of a Mul or Div, or of a view, is not the number that it is scaled by.
size_t besideFactor(const Graph& graph, const Node& node) {
  return node.kind == OpKind::Mul && number(graph, node.operands.at(0)) ? 1 : 0;
}

// What a square is of; kNoValue: not a square.
ValueId squareBase(const Graph& graph, const Node& node) {
  const std::string function = functionName(node);
  const bool squares =
      (node.kind == OpKind::Mul && node.operands.size() == 2 && node.operands[0] == node.operands[1]) ||
      function == "square" || (function == "pow" && node.operands.size() > 1 && number(graph, node.operands[1]) == 2.0);
  return squares ? graph::operandAt(node, 0) : kNoValue;
}

class DecomposedMatcher {
 public:
  DecomposedMatcher(const Graph& graph, NodeId end) : graph_(graph) {
    norm_.form = NormForm::Decomposed;
    norm_.node = end;
    norm_.output = graph.node(end).outputs[0];
    members_.insert(end);
  }

  // centered / deviation, or centered * inverse deviation; `centered` is what a Sub makes.
  std::optional<LayerNorm> match(ValueId centered, ValueId scale, bool inverse) {
    const Node* sub = producer(graph_, centered);
    if (sub->operands.size() != 2 || !ops::plainAlpha(*sub)) return std::nullopt;
    norm_.input = sub->operands[0];
    norm_.centered = centered;
    members_.insert(idOf(centered));
    if (!findAxes(sub->operands[1]) || !isMean(sub->operands[1], norm_.input)) return std::nullopt;
    norm_.asOne = !ops::explicitCentering(graph_, *sub);
    const ValueId deviation = inverse ? withoutGamma(scale) : scale;
    const auto variance = meetsInput(deviation) ? varianceOf(deviation, inverse) : std::nullopt;
    if (!variance || !(isVariance(*variance) || isSquareLessMean(*variance))) return std::nullopt;
    norm_.asOne = norm_.asOne || norm_.squareLessMean != kNone;
    if (norm_.asOne && !isClosed()) norm_.blockedReason = "its mean or deviation is used elsewhere";
    norm_.members.assign(members_.begin(), members_.end());
    return std::move(norm_);
  }

 private:
  [[nodiscard]] NodeId idOf(ValueId value) const { return graph_.value(value).producer; }

  // The axes of the reduction that the mean comes from: the last ones of the input.
  bool findAxes(ValueId mean) {
    const Shape* shape = ops::shapeOf(graph_, norm_.input);
    const Node* node = producer(graph_, mean);
    while (node != nullptr && node->kind != OpKind::Reduce) {
      const bool scales = node->kind == OpKind::Mul || node->kind == OpKind::Div;
      if (!scales && !isView(*node)) return false;
      node = producer(graph_, node->operands.at(besideFactor(graph_, *node)));
    }
    if (node == nullptr || shape == nullptr || graph::operandAt(*node, 0) != norm_.input) return false;
    auto axes = graph::intsAttribute(*node, "axes");
    if (!axes || axes->empty()) return false;
    std::sort(axes->begin(), axes->end());
    if (*axes != trailingAxes(shape->size(), axes->size())) return false;
    norm_.axes = std::move(*axes);
    full_ = *shape;
    kept_ = *shape;
    for (const int64_t axis : norm_.axes) {
      norm_.normalizedShape.push_back(full_[static_cast<size_t>(axis)]);
      kept_[static_cast<size_t>(axis)] = 1;
    }
    return true;
  }

  static bool isView(const Node& node) {
    return node.kind == OpKind::Reshape || node.kind == OpKind::Expand || node.kind == OpKind::Identity;
  }

  // One number per group may be written with or without the axes of 1, or repeated over the group.
  ValueId behindViews(ValueId value) {
    for (const Node* node = producer(graph_, value); node != nullptr && isView(*node); node = producer(graph_, value)) {
      const Shape* from = ops::shapeOf(graph_, node->operands.at(0));
      const Shape* to = ops::shapeOf(graph_, value);
      if (from == nullptr || to == nullptr) break;
      const bool repeats = *from == kept_ && (*to == kept_ || *to == full_);
      const bool reshapes = node->kind == OpKind::Reshape && graph::elementCount(*from) == graph::elementCount(kept_);
      if (!repeats && !reshapes && *from != *to) break;
      members_.insert(idOf(value));
      value = node->operands[0];
    }
    return value;
  }

  // Whether it can meet the input element by element.
  [[nodiscard]] bool meetsInput(ValueId value) const {
    const Shape* shape = ops::shapeOf(graph_, value);
    return shape != nullptr && (*shape == kept_ || *shape == full_);
  }

  // The mean of `of` over the norm's groups, as a mean or as a sum by its count.
  bool isMeanOf(ValueId value, ValueId of) {
    const ValueId inner = behindViews(value);
    const Node* node = producer(graph_, inner);
    if (node == nullptr) return false;
    if (node->kind == OpKind::Reduce) return isReduction(inner, of, "mean");
    if ((node->kind != OpKind::Mul && node->kind != OpKind::Div) || node->operands.size() != 2) return false;
    const size_t data = besideFactor(graph_, *node);
    const auto factor = number(graph_, node->operands[1 - data]);
    if (!factor) return false;
    const auto count = static_cast<double>(graph::elementCount(norm_.normalizedShape).value_or(0));
    const double ratio = node->kind == OpKind::Mul ? *factor * count : count / *factor;
    constexpr double kRounding = 1e-6;  // of 1/n in float32
    if (!(std::abs(ratio - 1) < kRounding)) return false;
    if (ratio != 1) norm_.blockedReason = "it takes its means with a rounded 1/" + std::to_string(std::llround(count));
    members_.insert(idOf(inner));
    return isReduction(behindViews(node->operands[data]), of, "sum");
  }

  bool isMean(ValueId value, ValueId of) { return meetsInput(value) && isMeanOf(value, of); }

  bool isReduction(ValueId value, ValueId of, std::string_view wanted) {
    const Node* reduce = producer(graph_, value);
    if (reduce == nullptr || reduce->kind != OpKind::Reduce || reduce->operands.at(0) != of) return false;
    auto axes = graph::intsAttribute(*reduce, "axes");
    if (!axes || graph::stringAttribute(*reduce, "op") != wanted) return false;
    std::sort(axes->begin(), axes->end());
    members_.insert(idOf(value));
    return *axes == norm_.axes;
  }

  // gamma * inverse deviation -> inverse deviation
  ValueId withoutGamma(ValueId scale) {
    const Node* node = producer(graph_, scale);
    if (node == nullptr || node->kind != OpKind::Mul || node->operands.size() != 2) return scale;
    for (const size_t gamma : {size_t{0}, size_t{1}}) {
      if (graph_.value(node->operands[gamma]).constant == kNone) continue;
      members_.insert(idOf(scale));
      norm_.asOne = true;
      return node->operands[1 - gamma];
    }
    return scale;
  }

  // sqrt(v + eps), rsqrt(v + eps), pow(v + eps, +-0.5), 1 / sqrt(v + eps) -> v
  std::optional<ValueId> varianceOf(ValueId outer, bool inverse) {
    const ValueId scale = behindViews(outer);
    const Node* root = producer(graph_, scale);
    if (root == nullptr) return std::nullopt;
    const std::string function = functionName(*root);
    members_.insert(idOf(scale));
    if (inverse &&
        (function == "reciprocal" || (root->kind == OpKind::Div && number(graph_, root->operands[0]) == 1.0))) {
      return varianceOf(root->kind == OpKind::Div ? root->operands[1] : root->operands[0], false);
    }
    const double power = inverse ? -0.5 : 0.5;
    const bool isRoot = function == (inverse ? "rsqrt" : "sqrt") ||
                        (function == "pow" && root->operands.size() > 1 && number(graph_, root->operands[1]) == power);
    if (!isRoot) return std::nullopt;
    const ValueId sum = behindViews(root->operands[0]);
    const Node* add = producer(graph_, sum);
    if (add == nullptr || add->kind != OpKind::Add || !ops::plainAlpha(*add)) return std::nullopt;
    members_.insert(idOf(sum));
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const auto eps = number(graph_, add->operands[side]);
      if (!eps) continue;
      norm_.eps = *eps;
      return add->operands[1 - side];
    }
    return std::nullopt;
  }

  // mean((x - mean)^2) over the same axes, or the biased variance of x itself.
  bool isVariance(ValueId value) {
    const Node* reduce = producer(graph_, value);
    if (reduce != nullptr && reduce->kind == OpKind::Reduce && graph::boolAttribute(*reduce, "keepdim") &&
        isReduction(value, norm_.input, "var")) {
      return !graph::boolAttribute(*reduce, "unbiased", true);
    }
    const ValueId square = summedBehind(value);
    const Node* node = producer(graph_, square);
    const ValueId base = node == nullptr ? kNoValue : squareBase(graph_, *node);
    const Node* sub = base == kNoValue ? nullptr : producer(graph_, base);
    if (sub == nullptr || sub->kind != OpKind::Sub || sub->operands.size() != 2 || !ops::plainAlpha(*sub) ||
        sub->operands[0] != norm_.input) {
      return false;
    }
    members_.insert({idOf(square), idOf(base)});
    if (!isMean(sub->operands[1], norm_.input) || !isMeanOf(value, square)) return false;
    norm_.asOne = norm_.asOne || !ops::explicitCentering(graph_, *sub);
    return true;
  }

  // mean(x^2) - mean(x)^2, kept from being negative or not.
  bool isSquareLessMean(ValueId value) {
    ValueId at = behindViews(value);
    const Node* node = producer(graph_, at);
    if (node == nullptr) return false;
    if (const ValueId inner = limitedBelow(*node); inner != kNoValue) {
      members_.insert(idOf(at));
      at = behindViews(inner);
      node = producer(graph_, at);
    }
    if (node == nullptr || node->kind != OpKind::Sub || node->operands.size() != 2 || !ops::plainAlpha(*node))
      return false;
    const Shape* a = ops::shapeOf(graph_, node->operands[0]);
    const Shape* b = ops::shapeOf(graph_, node->operands[1]);
    if (a == nullptr || b == nullptr || *a != *b) return false;
    const ValueId meanSquare = behindViews(node->operands[1]), square = summedBehind(node->operands[0]);
    const Node* ofMean = producer(graph_, meanSquare);
    const Node* ofInput = producer(graph_, square);
    if (ofMean == nullptr || ofInput == nullptr || squareBase(graph_, *ofInput) != norm_.input) return false;
    const ValueId mean = squareBase(graph_, *ofMean);
    if (mean == kNoValue || !isMeanOf(mean, norm_.input) || !isMeanOf(node->operands[0], square)) return false;
    members_.insert({idOf(at), idOf(meanSquare), idOf(square)});
    norm_.squareLessMean = idOf(at);
    return true;
  }

  // What the reduction behind views and a factor reduces; kNoValue where there is none.
  ValueId summedBehind(ValueId value) {
    const Node* node = producer(graph_, behindViews(value));
    if (node != nullptr && (node->kind == OpKind::Mul || node->kind == OpKind::Div) && node->operands.size() == 2) {
      node = producer(graph_, behindViews(node->operands[besideFactor(graph_, *node)]));
    }
    return node == nullptr || node->kind != OpKind::Reduce ? kNoValue : graph::operandAt(*node, 0);
  }

  // max(v, 0), relu(v) -> v
  [[nodiscard]] ValueId limitedBelow(const Node& node) const {
    const std::string function = functionName(node);
    if (function == "relu") return graph::operandAt(node, 0);
    if ((function != "max" && function != "maximum") || node.operands.size() != 2) return kNoValue;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      if (number(graph_, node.operands[side]) == 0.0) return node.operands[1 - side];
    }
    return kNoValue;
  }

  // Nobody else sees what is between the input and the output.
  [[nodiscard]] bool isClosed() const {
    return std::all_of(members_.begin(), members_.end(), [&](NodeId member) {
      if (member == norm_.node) return true;
      const auto& outputs = graph_.node(member).outputs;
      return std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) {
        const auto& uses = graph_.value(output).uses;
        return std::all_of(uses.begin(), uses.end(),
                           [&](const graph::Use& use) { return members_.contains(use.node); });
      });
    });
  }

  const Graph& graph_;
  LayerNorm norm_;
  std::set<NodeId> members_;
  Shape full_, kept_;  // of the input, and with its normalized axes as 1
};

}  // namespace

std::optional<LayerNorm> matchDecomposedNorm(const Graph& graph, NodeId end) {
  const Node& node = graph.node(end);
  if (node.operands.size() != 2) return std::nullopt;
  const auto match = [&](size_t centered, bool inverse) -> std::optional<LayerNorm> {
    const Node* sub = producer(graph, node.operands[centered]);
    if (sub == nullptr || sub->kind != OpKind::Sub) return std::nullopt;  // nearly all of them
    return DecomposedMatcher(graph, end).match(node.operands[centered], node.operands[1 - centered], inverse);
  };
  if (node.kind == OpKind::Div) return match(0, false);
  if (node.kind != OpKind::Mul) return std::nullopt;
  if (auto found = match(0, true)) return found;
  return match(1, true);
}

}  // namespace normlens::analysis
