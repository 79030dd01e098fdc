// Finds which sizes every run has, as far as operators' attributes fix it.
#include <algorithm>

#include "core/formats/onnx/lower/op_rule.h"
#include "core/ops/axis_size.h"

namespace normlens::formats::onnx {
namespace {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::ValueId;

constexpr int kDeepest = 16;

struct SizeRead {
  ValueId value = kNoValue;
  size_t axis = 0;
};

// Finds the axis whose size one element of a list of sizes is.
class SizeReader {
 public:
  explicit SizeReader(const Lowering& lowering) : lowering_(lowering) {}

  [[nodiscard]] std::optional<SizeRead> readBy(ValueId list, int64_t element) const {
    for (int step = 0; step < kDeepest && list != kNoValue; ++step) {
      const auto& made = lowering_.graph().value(list);
      if (made.producer == kNone) return std::nullopt;
      const Node& node = lowering_.graph().node(made.producer);
      const ValueId from = graph::operandAt(node, 0);
      switch (node.kind) {
        case OpKind::ShapeQuery:
          return axisOf(node, element);
        case OpKind::Identity:
        case OpKind::Cast:
        case OpKind::Reshape:
          list = from;
          break;
        case OpKind::Select: {
          const auto index = graph::intAttribute(node, "index");
          if (!index || element != 0) return std::nullopt;
          list = from;
          element = *index;
          break;
        }
        case OpKind::Gather: {
          const auto indices = lowering_.constantInts(graph::operandAt(node, 1));
          if (!indices) return std::nullopt;
          const auto count = static_cast<int64_t>(indices->size());
          if (element < 0) element += count;
          if (element < 0 || element >= count) return std::nullopt;
          list = from;
          element = (*indices)[static_cast<size_t>(element)];
          break;
        }
        case OpKind::Slice: {
          const auto start = graph::intAttribute(node, "start");
          if (!start || element < 0 || graph::intAttribute(node, "step").value_or(1) != 1) return std::nullopt;
          list = from;
          element += *start;
          break;
        }
        case OpKind::Concat:
          list = partOf(node, element);
          break;
        default:
          return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<SizeRead> axisOf(const Node& query, int64_t element) const {
    const ValueId value = graph::operandAt(query, 0);
    const auto rank = value == kNoValue || query.op != "Shape" ? std::nullopt : lowering_.typeOf(value).rank();
    const auto axis = rank ? ops::axisQueried(query, element, static_cast<size_t>(*rank)) : std::nullopt;
    return axis ? std::optional(SizeRead{value, *axis}) : std::nullopt;
  }

  // The list that the element is in, of which it is then that number.
  [[nodiscard]] ValueId partOf(const Node& concat, int64_t& element) const {
    for (const ValueId part : concat.operands) {
      const auto& dims = lowering_.typeOf(part).dims;
      if (element < 0 || !dims || dims->size() != 1 || dims->front() < 0) return kNoValue;
      if (element < dims->front()) return part;
      element -= dims->front();
    }
    return kNoValue;
  }

  const Lowering& lowering_;
};

}  // namespace

std::optional<int64_t> OpContext::fixedSize(const Operand& operand, int64_t axis) const {
  const auto sizes = operand.value == kNoValue ? std::nullopt : lowering_.staticSizes(operand.value);
  if (!sizes || axis < 0 || axis >= static_cast<int64_t>(sizes->size())) return std::nullopt;
  const int64_t size = (*sizes)[static_cast<size_t>(axis)];
  return size >= 0 ? std::optional(size) : std::nullopt;
}

bool OpContext::isSizeFixed(const Operand& operand, int64_t axis) const {
  return lowering_.sizes().isFixed(operand.value, static_cast<size_t>(axis));
}

bool OpContext::listsSize(int list, int64_t element, int64_t axis) const {
  const auto read = SizeReader(lowering_).readBy(in(list).value, element);
  if (read)
    return lowering_.sizes().of(read->value, read->axis) ==
           lowering_.sizes().of(in(0).value, static_cast<size_t>(axis));
  const auto known = knownInts(list);
  const bool written = known && element < static_cast<int64_t>(known->size()) && (*known)[static_cast<size_t>(element)];
  return written && isSizeFixed(in(0), axis);
}

bool OpContext::isRankFixed(const Operand& operand) const { return lowering_.sizes().hasRankOfProbe(operand.value); }

void OpContext::markFixedAxes(int sizes) {
  const auto dims = outputTypeAt(0).dims;
  const auto numbers = has(sizes) ? knownInts(sizes) : std::nullopt;
  if (!dims || !numbers || numbers->size() != dims->size()) return;
  std::vector<int64_t> fixed;
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*numbers)[i] && *(*numbers)[i] == (*dims)[i] && (*dims)[i] > 1) fixed.push_back(static_cast<int64_t>(i));
  }
  if (!fixed.empty()) set("fixed", std::move(fixed));
}

void OpContext::markComputedAxes(int sizes) {
  const auto dims = outputTypeAt(0).dims;
  const auto y = outputTypeAt(0).shape();
  if (!dims || !has(sizes)) return;
  const auto numbers = knownInts(sizes);
  const bool known = numbers && numbers->size() == dims->size();
  const SizeReader reader(lowering_);
  ops::SizeQuestion& question = lowering_.sizes();
  std::vector<int64_t> computedAxes, written;
  std::optional<int64_t> rest;
  for (size_t i = 0; i < dims->size(); ++i) {
    const auto number = known ? (*numbers)[i] : std::nullopt;
    if (number == -1) rest = static_cast<int64_t>(i);
    const bool copied = number == 0 && intOf("allowzero", 0) == 0;
    if (number && number != -1 && !copied) written.push_back(static_cast<int64_t>(i));
    if ((number && !copied) || !y) continue;
    const auto read = copied  ? std::optional(SizeRead{in(0).value, i})
                      : known ? reader.readBy(in(sizes).value, static_cast<int64_t>(i))
                              : std::nullopt;
    const auto size = read ? question.of(read->value, read->axis) : ops::AxisSize{};
    const bool fixed = read && size.kind == ops::AxisSize::Kind::Fixed;
    if (fixed || (read && ops::isAxisKept(question, size, in(0).value, *y, i))) continue;
    computedAxes.push_back(static_cast<int64_t>(i));
  }
  // The size that is left for -1 depends on the others.
  const bool moves = !computedAxes.empty() || (y && ops::writesSizesOfInput(question, in(0).value, *y, written));
  if (rest && moves) computedAxes.push_back(*rest);
  if (!computedAxes.empty()) set("computed", std::move(computedAxes));
}

void OpContext::markOnes() {
  const bool overPositions = kind == OpKind::GroupNorm || kind == OpKind::InstanceNorm;
  const bool overAxes = kind == OpKind::LayerNorm || kind == OpKind::RmsNorm || kind == OpKind::Reduce;
  if (operands.empty() || !(overPositions || overAxes || kind == OpKind::Softmax)) return;
  Node listed;
  listed.attributes = attributes;
  const auto axes = graph::intsAttribute(listed, "axes").value_or(std::vector<int64_t>{});
  const auto dims = type(operands[0]).dims.value_or(graph::Shape{});
  std::vector<int64_t> ones;
  for (int64_t axis = 0; axis < static_cast<int64_t>(dims.size()); ++axis) {
    const bool concerned = overPositions ? axis >= 2
                           : overAxes    ? std::ranges::find(axes, axis) != axes.end()
                                         : graph::intAttribute(listed, "axis") == axis;
    if (concerned && dims[static_cast<size_t>(axis)] == 1 && fixedSize(operands[0], axis) == 1) ones.push_back(axis);
  }
  if (!ones.empty()) set("ones", std::move(ones));
}

}  // namespace normlens::formats::onnx
