#include "core/analysis/claims/scales.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/constant_behind.h"
#include "core/graph/queries.h"
#include "core/ops/axis_size.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

// A constant factor per channel, and which of a value's axes its channels are: read off a broadcast operand, and
// followed upwards through what only moves elements.
struct ChannelScale {
  std::vector<int64_t> axes;    // They index the value that is scaled.
  graph::Shape sizes;           // Has one size for each of these axes.
  std::vector<double> numbers;  // row-major over them

  [[nodiscard]] bool isAlong(int64_t axis) const { return axes.size() == 1 && axes[0] == axis; }
};

// More are no channels, but a file that is to take up memory.
constexpr int64_t kMostFactors = 1 << 20;

bool areFixedFrom(const Graph& graph, ValueId value, size_t first) {
  for (size_t axis = first; axis < ops::shapeOf(graph, value)->size(); ++axis) {
    if (!ops::isSizeFixed(graph, value, axis)) return false;
  }
  return true;
}

// The last axes with so many elements.
std::optional<size_t> lastAxesOf(const Shape& shape, int64_t elements) {
  int64_t count = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    count *= std::max<int64_t>(shape[axis], 1);
    if (count == elements) return axis;
    if (count > elements) break;
  }
  return std::nullopt;
}

// One factor per element of the axes of `shape` from `first` on.
std::vector<double> writtenOut(const ChannelScale& scale, const Shape& shape, size_t first, int64_t elements) {
  std::vector<double> numbers(static_cast<size_t>(elements));
  for (int64_t i = 0; i < elements; ++i) {
    std::vector<int64_t> index(shape.size(), 0);
    int64_t rest = i;
    for (size_t axis = shape.size(); axis-- > first;) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    int64_t at = 0;
    for (size_t k = 0; k < scale.axes.size(); ++k) at = at * scale.sizes[k] + index[static_cast<size_t>(scale.axes[k])];
    numbers[static_cast<size_t>(i)] = scale.numbers[static_cast<size_t>(at)];
  }
  return numbers;
}

// The operand of a Mul or Div as factors of `data`, in every run. nullopt where it is no constant, or one number.
std::optional<ChannelScale> channelScale(const Graph& graph, ValueId operand, ValueId data) {
  const ValueId held = constantInView(graph, operand);
  const Shape* shape = ops::shapeOf(graph, operand);
  const Shape* full = ops::shapeOf(graph, data);
  if (held == kNoValue || shape == nullptr || full == nullptr || shape->size() > full->size()) return std::nullopt;
  const auto& view = graph.constant(graph.value(held).constant).view;
  if (!graph::isFloat(view.dtype)) return std::nullopt;
  ChannelScale scale;
  for (size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i] == 1) continue;
    const size_t axis = i + full->size() - shape->size();
    if ((*shape)[i] != (*full)[axis]) return std::nullopt;
    scale.axes.push_back(static_cast<int64_t>(axis));
    scale.sizes.push_back((*shape)[i]);
  }
  if (scale.axes.empty()) return std::nullopt;
  auto numbers = graph::toDoubles(view);
  if (!numbers) return std::nullopt;
  scale.numbers = std::move(*numbers);
  return scale;
}

// The scale of what a Permute or Reshape makes, as one of what it reads. nullopt where another run may have it
// elsewhere.
std::optional<ChannelScale> beforePermute(const Node& permute, ChannelScale scale) {
  const auto perm = graph::intsAttribute(permute, "perm");
  if (!perm) return std::nullopt;
  for (int64_t& axis : scale.axes) axis = perm->at(static_cast<size_t>(axis));
  return scale;
}

// The last axes of both, of which the file fixes the sizes, hold the same elements at every size of the others.
std::optional<ChannelScale> beforeReshape(const Graph& graph, const Node& reshape, const ChannelScale& scale) {
  const Shape* in = ops::shapeOf(graph, reshape.operands[0]);
  const Shape* out = ops::shapeOf(graph, reshape.outputs[0]);
  if (in == nullptr || out == nullptr) return std::nullopt;
  const auto outermost = static_cast<size_t>(*std::ranges::min_element(scale.axes));
  int64_t elements = 1;
  for (size_t last = out->size(); last-- > 0;) {
    if ((*out)[last] < 1 || (*out)[last] > kMostFactors / elements) return std::nullopt;
    elements *= (*out)[last];
    const auto first = last > outermost ? std::nullopt : lastAxesOf(*in, elements);
    if (!first) continue;
    if (!areFixedFrom(graph, reshape.outputs[0], last) || !areFixedFrom(graph, reshape.operands[0], *first))
      return std::nullopt;
    ChannelScale before;
    for (size_t axis = *first; axis < in->size(); ++axis) {
      if ((*in)[axis] == 1) continue;
      before.axes.push_back(static_cast<int64_t>(axis));
      before.sizes.push_back((*in)[axis]);
    }
    before.numbers = writtenOut(scale, *out, last, elements);
    return before;
  }
  return std::nullopt;
}

// The scale of a broadcast result, as one of an operand that has all of its channels.
std::optional<ChannelScale> ofOperand(const Shape& result, const Shape& operand, ChannelScale scale) {
  for (int64_t& axis : scale.axes) {
    const int64_t size = result.at(static_cast<size_t>(axis));
    axis -= static_cast<int64_t>(result.size()) - static_cast<int64_t>(operand.size());
    if (axis < 0 || operand[static_cast<size_t>(axis)] != size) return std::nullopt;
  }
  return scale;
}

bool allFinite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

class Absorber {
 public:
  explicit Absorber(const Graph& graph) : original_(graph), out_{&graph, std::nullopt, {}} {}

  AbsorbedScales run() {
    for (NodeId id = 0; id < static_cast<NodeId>(original_.nodes.size()); ++id) {
      const OpKind kind = original_.node(id).kind;
      if (kind == OpKind::BatchNorm) tryBatchNorm(id);
      if (kind != OpKind::Mul && kind != OpKind::Div) continue;
      if (!tryOperand(id, 0) && kind == OpKind::Mul) tryOperand(id, 1);
    }
    return std::move(out_);
  }

 private:
  bool tryOperand(NodeId id, size_t data) {
    const Node& node = original_.node(id);
    if (node.operands.size() != 2 || node.operands[data] == kNoValue || node.operands[1 - data] == kNoValue)
      return false;
    if (!graph::sameTypeAndShape(original_, node.operands[data], node.outputs[0])) return false;
    auto scale = channelScale(original_, node.operands[1 - data], node.operands[data]);
    if (!scale) return false;
    if (node.kind == OpKind::Div) {
      for (double& number : scale->numbers) number = 1.0 / number;
    }
    if (!allFinite(scale->numbers)) return false;
    fold::AbsorbScale edit;
    edit.scaleNode = id;
    edit.dataOperand = static_cast<int>(data);
    if (!collect(node.operands[data], std::move(*scale), edit)) return false;
    bypass(id, data);
    out_.edits.push_back(std::move(edit));
    return true;
  }

  // The numbers of an operand, one per channel; `absent` where there is none.
  [[nodiscard]] std::optional<std::vector<double>> perChannel(const Node& node, size_t operand, size_t channels,
                                                              double absent) const {
    const ValueId id = graph::operandAt(node, operand);
    if (id == kNoValue) return std::vector<double>(channels, absent);
    const auto& value = original_.value(id);
    if (value.constant == kNone || !value.opaqueReason.empty()) return std::nullopt;
    const auto& constant = original_.constant(value.constant);
    if (!constant.volatileReason.empty()) return std::nullopt;
    auto numbers = graph::toDoubles(constant.view);
    return numbers && numbers->size() == channels ? std::move(numbers) : std::nullopt;
  }

  // y = x * scale + shift per channel.
  void tryBatchNorm(NodeId id) {
    const Node& node = original_.node(id);
    const Shape* shape = ops::shapeOf(original_, node.operands.at(0));
    const auto eps = graph::floatAttribute(node, "eps");
    if (node.operands.size() != 5 || node.outputs.size() != 1 || shape == nullptr || shape->size() < 2 || !eps) return;
    if (!graph::sameTypeAndShape(original_, node.operands[0], node.outputs[0])) return;
    const auto channels = static_cast<size_t>((*shape)[1]);
    const auto gamma = perChannel(node, 1, channels, 1.0), beta = perChannel(node, 2, channels, 0.0);
    const auto mean = perChannel(node, 3, channels, 0.0), variance = perChannel(node, 4, channels, 1.0);
    if (!gamma || !beta || !mean || !variance) return;
    std::vector<double> scale(channels), shift(channels);
    for (size_t i = 0; i < channels; ++i) {
      scale[i] = (*gamma)[i] / std::sqrt((*variance)[i] + *eps);
      shift[i] = (*beta)[i] - (*mean)[i] * scale[i];
    }
    if (!allFinite(scale) || !allFinite(shift)) return;
    fold::AbsorbScale edit;
    edit.scaleNode = id;
    biasPart_.reset();
    if (!collect(node.operands[0], {{1}, {(*shape)[1]}, scale}, edit)) return;
    if (biasPart_) {
      edit.parts[*biasPart_].addend = shift;
      bypass(id, 0);
    } else if (!shiftOnly(id, *eps, shift, edit)) {
      return;
    }
    out_.edits.push_back(std::move(edit));
  }

  // gamma = 1, variance = 1 - eps, and all of the shift in beta, or in the mean where there is no beta.
  bool shiftOnly(NodeId id, double eps, const std::vector<double>& shift, fold::AbsorbScale& edit) {
    const bool hasBeta = valueAt(operandOf(id, 2)) != kNoValue;
    const std::vector<double> nothing(shift.size(), 0.0);
    const auto becomes = [&](int operand, std::vector<double> numbers) {
      if (valueAt(operandOf(id, operand)) == kNoValue) return true;
      if (!part(operandOf(id, operand), 0, nothing, edit)) return false;
      edit.parts.back().addend = std::move(numbers);
      return true;
    };
    std::vector<double> negative = shift;
    for (double& number : negative) number = -number;
    const std::vector<double> ones(shift.size(), 1.0), variance(shift.size(), 1.0 - eps);
    if (!becomes(1, ones) || !becomes(2, shift) || !becomes(3, hasBeta ? nothing : negative) || !becomes(4, variance)) {
      return false;
    }
    edit.nodeStays = true;
    changed().nodes[static_cast<size_t>(id)].attributes.emplace_back("shift_operand", int64_t{hasBeta ? 2 : 3});
    return true;
  }

  // A value on the way up from the scale. once: what is added to it reaches the scale as it is, one time.
  struct Step {
    ValueId id = kNoValue;
    ChannelScale scale;
    bool once = true;
  };

  // Walks up from the scale's data to all linears and constants that it is a sum of; every value on the way has one
  // reader, besides those of its shape.
  bool collect(ValueId data, ChannelScale scale, fold::AbsorbScale& edit) {
    std::vector<Step> open{{data, std::move(scale), true}};
    while (!open.empty()) {
      Step step = std::move(open.back());
      open.pop_back();
      const auto& value = original_.value(step.id);
      if (!graph::onlyReader(original_, step.id) || value.producer == kNone || !value.opaqueReason.empty())
        return false;
      if (ops::shapeOf(original_, step.id) == nullptr || !stepUp(std::move(step), edit, open)) return false;
    }
    return !edit.parts.empty();
  }

  bool stepUp(Step step, fold::AbsorbScale& edit, std::vector<Step>& open) {
    const NodeId made = original_.value(step.id).producer;
    const Node& node = original_.node(made);
    switch (node.kind) {
      case OpKind::Identity:
        break;
      case OpKind::Permute:
        return goOn(node.operands[0], beforePermute(node, std::move(step.scale)), step.once, open);
      case OpKind::Reshape:
        return goOn(node.operands[0], beforeReshape(original_, node, step.scale), step.once, open);
      case OpKind::Add:
      case OpKind::Sub:
        return addends(made, step, edit, open);
      default:
        return linear(made, step, edit);
    }
    open.push_back({node.operands[0], std::move(step.scale), step.once});
    return true;
  }

  static bool goOn(ValueId id, std::optional<ChannelScale> scale, bool once, std::vector<Step>& open) {
    if (!scale || id == kNoValue) return false;
    open.push_back({id, std::move(*scale), once});
    return true;
  }

  // s (a + alpha b) = s a + alpha (s b)
  bool addends(NodeId id, const Step& step, fold::AbsorbScale& edit, std::vector<Step>& open) {
    const Node& node = original_.node(id);
    for (const int operand : {0, 1}) {
      const ValueId addend = node.operands[static_cast<size_t>(operand)];
      const Shape* shape = ops::shapeOf(original_, addend);
      if (shape == nullptr) return false;
      auto scale = ofOperand(*ops::shapeOf(original_, step.id), *shape, step.scale);
      if (!scale) return false;
      const bool once = step.once && (operand == 0 || (node.kind == OpKind::Add && ops::plainAlpha(node)));
      if (!constantBehind(original_, operandOf(id, operand), 0)) {
        open.push_back({addend, std::move(*scale), once});
      } else if (scale->axes.size() != 1 || !part(operandOf(id, operand), scale->axes[0], scale->numbers, edit)) {
        return false;
      } else if (once) {
        biasPart_ = edit.parts.size() - 1;
      }
    }
    return true;
  }

  // The linear at the end of the way.
  bool linear(NodeId id, const Step& step, fold::AbsorbScale& edit) {
    const Node& node = original_.node(id);
    const auto rank = static_cast<int64_t>(ops::shapeOf(original_, step.id)->size());
    const auto& factor = step.scale.numbers;
    const auto hasWeight = [&](size_t operand, int64_t axes) {
      const Shape* shape = ops::shapeOf(original_, graph::operandAt(node, operand));
      return shape != nullptr && static_cast<int64_t>(shape->size()) == axes;
    };
    switch (node.kind) {
      case OpKind::Linear:
        return step.scale.isAlong(rank - 1) && hasWeight(1, 2) && part(operandOf(id, 1), 0, factor, edit) &&
               bias(operandOf(id, 2), step, step.once, edit);
      case OpKind::MatMul:
        return step.scale.isAlong(rank - 1) && hasWeight(1, 2) && part(operandOf(id, 1), 1, factor, edit);
      case OpKind::AddMatMul:
        // A number added to a bias would be multiplied by beta.
        return step.scale.isAlong(rank - 1) && hasWeight(2, 2) && part(operandOf(id, 2), 1, factor, edit) &&
               bias(operandOf(id, 0), step, step.once && ops::plainBeta(node), edit);
      case OpKind::Conv:
        return step.scale.isAlong(1) && hasWeight(1, rank) && !graph::boolAttribute(node, "transposed") &&
               part(operandOf(id, 1), 0, factor, edit) && bias(operandOf(id, 2), step, step.once, edit);
      default:
        return false;
    }
  }

  static graph::Use operandOf(NodeId node, int operand) { return {node, operand, kNone}; }

  [[nodiscard]] ValueId valueAt(const graph::Use& use) const {
    return graph::operandAt(original_.node(use.node), static_cast<size_t>(use.operand));
  }

  // An absent bias is fine; one that is there has the channels last.
  bool bias(const graph::Use& use, const Step& step, bool once, fold::AbsorbScale& edit) {
    const ValueId id = valueAt(use);
    if (id == kNoValue) return true;
    const Shape* shape = ops::shapeOf(original_, id);
    if (shape == nullptr || !part(use, static_cast<int64_t>(shape->size()) - 1, step.scale.numbers, edit)) return false;
    if (once) biasPart_ = edit.parts.size() - 1;
    return true;
  }

  // `axis` of the operand itself.
  bool part(const graph::Use& use, int64_t axis, const std::vector<double>& factor, fold::AbsorbScale& edit) const {
    const Shape* shape = ops::shapeOf(original_, valueAt(use));
    if (shape == nullptr) return false;
    const auto rank = static_cast<int64_t>(shape->size());
    if (axis < 0 || axis >= rank || (*shape)[static_cast<size_t>(axis)] != static_cast<int64_t>(factor.size()))
      return false;
    const auto own = constantBehind(original_, use, axis);
    if (!own || !own->soleReader || !graph::isFloat(original_.constant(own->constant).view.dtype)) return false;
    edit.parts.push_back({own->constant, factor, {}, static_cast<int>(own->axis)});
    return true;
  }

  Graph& changed() {
    if (!out_.changed) out_.changed = original_;
    return *out_.changed;
  }

  // Identity(data, scale): the scale stays an operand, so that a centering of it for other readers leaves this one
  // alone.
  void bypass(NodeId id, size_t data) {
    Node& node = changed().nodes[static_cast<size_t>(id)];
    node.kind = OpKind::Identity;
    if (data == 0) return;
    std::swap(node.operands[0], node.operands[1]);
    for (const int place : {0, 1}) {
      for (graph::Use& use : changed().values[static_cast<size_t>(node.operands[static_cast<size_t>(place)])].uses) {
        if (use.node == id) use.operand = place;
      }
    }
  }

  const Graph& original_;
  AbsorbedScales out_;
  std::optional<size_t> biasPart_;  // Indexes the edit that collect() last filled.
};

}  // namespace

AbsorbedScales absorbScales(const Graph& graph) { return Absorber(graph).run(); }

}  // namespace normlens::analysis
