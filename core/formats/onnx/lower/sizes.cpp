// Finds which sizes every run has, as far as operators' attributes fix it, and which numbers a file computes from
// constants and sizes, where they are the same for every input: exporters write the bounds of a chunk as (size + 1)
// / 2.
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
using Ints = std::vector<int64_t>;

constexpr int kDeepestList = 32;
constexpr size_t kMost = 64;
constexpr int64_t kLargest = int64_t{1} << 31;  // sums and products of two stay far from overflow

std::optional<int64_t> computed(OpKind kind, int64_t a, int64_t b) {
  if (std::min(a, b) < -kLargest || std::max(a, b) > kLargest) return std::nullopt;
  if (kind == OpKind::Add) return a + b;
  if (kind == OpKind::Sub) return a - b;
  if (kind == OpKind::Mul) return a * b;
  // A division of integers is Elementwise. Below zero, versions of the operator round differently.
  return a >= 0 && b > 0 ? std::optional(a / b) : std::nullopt;
}

std::optional<Ints> elementwise(OpKind kind, const Ints& a, const Ints& b) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  Ints out;
  for (size_t i = 0; i < (a.size() == 1 ? b : a).size(); ++i) {
    const auto one = computed(kind, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!one) return std::nullopt;
    out.push_back(*one);
  }
  return out;
}

std::optional<Ints> picked(const Ints& from, const Ints& indices) {
  Ints out;
  const auto size = static_cast<int64_t>(from.size());
  for (const int64_t index : indices) {
    if (index < -size || index >= size) return std::nullopt;
    out.push_back(from[static_cast<size_t>(index < 0 ? index + size : index)]);
  }
  return out;
}

}  // namespace

// Sizes of a probe or of inputs that we chose are not looked at: another run may have others.
std::optional<Ints> Lowering::staticSizes(ValueId value) const {
  if (!staticTypes_) staticTypes_ = staticTypes(source_);
  const auto known = staticTypes_->find(out_.valuePath.at(static_cast<size_t>(value)));
  if (known == staticTypes_->end() || !known->second.dims || known->second.dims->size() > kMost) return std::nullopt;
  Ints sizes(known->second.dims->begin(), known->second.dims->end());
  std::ranges::replace(sizes, -1, kNotStatic);
  return sizes;
}

// As many as the list has, where that is the same for every input.
std::optional<Ints> Lowering::unknownInts(ValueId value) const {
  const auto sizes = value == kNoValue ? std::nullopt : staticSizes(value);
  if (!sizes || sizes->size() != 1 || sizes->front() < 0 || sizes->front() > static_cast<int64_t>(kMost))
    return std::nullopt;
  return Ints(static_cast<size_t>(sizes->front()), kNotStatic);
}

const std::optional<Ints>& Lowering::foldedInts(ValueId value, int depth) const {
  if (const auto found = folded_.find(value); found != folded_.end()) return found->second;
  return folded_[value] = computeInts(value, depth);
}

std::optional<Ints> Lowering::computeInts(ValueId value, int depth) const {
  if (value == kNoValue || depth > kDeepestList) return std::nullopt;
  const auto& at = out_.graph.value(value);
  if (at.producer == kNone) return constantInts(value);
  const auto& node = out_.graph.node(at.producer);
  const KnownType& type = typeOf(value);
  const bool integer = type.dtype == graph::DType::Int64 || type.dtype == graph::DType::Int32;
  if (node.block != 0 || !integer || type.rank().value_or(2) > 1) return std::nullopt;
  const auto operand = [&](size_t i) { return foldedInts(graph::operandAt(node, i), depth + 1); };
  switch (node.kind) {
    case OpKind::ShapeQuery: {
      const auto& own = type.dims;
      if (node.op != "Shape" || graph::operandAt(node, 0) == kNoValue) return std::nullopt;
      auto sizes = staticSizes(node.operands[0]);
      const bool all = sizes && own && own->size() == 1 && own->front() == static_cast<int64_t>(sizes->size());
      return all ? std::move(sizes) : std::nullopt;  // else a part of the sizes
    }
    case OpKind::Identity:
    case OpKind::Cast:
    case OpKind::Reshape:
      return operand(0);
    case OpKind::Select:
    case OpKind::Gather: {
      if (typeOf(graph::operandAt(node, 0)).rank() != 1) return std::nullopt;
      const auto from = operand(0);
      const auto index = node.kind == OpKind::Gather ? operand(1) : std::nullopt;
      const auto single = graph::intAttribute(node, "index");
      if (!from || !(index || single)) return std::nullopt;
      return picked(*from, index ? *index : Ints{*single});
    }
    case OpKind::Concat: {
      Ints all;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        auto next = operand(i);
        if (!next) next = unknownInts(node.operands[i]);
        if (!next) return std::nullopt;
        all.insert(all.end(), next->begin(), next->end());
        if (all.size() > kMost) return std::nullopt;
      }
      return all;
    }
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Elementwise: {
      if (node.operands.size() != 2 || (node.kind == OpKind::Elementwise && node.op != "Div")) return std::nullopt;
      const auto a = operand(0), b = operand(1);
      return a && b ? elementwise(node.kind, *a, *b) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

namespace {

constexpr int kDeepest = 16;

// Finds the axis whose size one element of a list of sizes is.
class SizeReader {
 public:
  explicit SizeReader(const Lowering& lowering) : lowering_(lowering) {}

  [[nodiscard]] std::optional<ops::SizeRead> readBy(ValueId list, int64_t element) const {
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
  [[nodiscard]] std::optional<ops::SizeRead> axisOf(const Node& query, int64_t element) const {
    const ValueId value = graph::operandAt(query, 0);
    const auto rank = value == kNoValue || query.op != "Shape" ? std::nullopt : lowering_.typeOf(value).rank();
    const auto axis = rank ? ops::axisQueried(query, element, static_cast<size_t>(*rank)) : std::nullopt;
    return axis ? std::optional(ops::SizeRead{value, *axis}) : std::nullopt;
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
  const auto y = outputTypeAt(0).shape();
  if (!y || !has(sizes)) return;
  const auto numbers = knownInts(sizes);
  const SizeReader reader(lowering_);
  std::vector<ops::ListedSize> listed;
  for (size_t i = 0; numbers && numbers->size() == y->size() && i < y->size(); ++i) {
    const auto number = (*numbers)[i];
    if (number == 0 && intOf("allowzero", 0) == 0) {
      listed.push_back({std::nullopt, ops::SizeRead{in(0).value, i}});
    } else {
      listed.push_back({number, reader.readBy(in(sizes).value, static_cast<int64_t>(i))});
    }
  }
  auto computedAxes = ops::computedAxes(lowering_.sizes(), in(0).value, *y, listed);
  if (!computedAxes.empty()) set("computed", std::move(computedAxes));
}

void OpContext::markFlattenedAxes(int64_t axis) {
  const auto x = outputTypeAt(0).shape() ? rank(0) : std::nullopt;
  if (!x || axis < 0 || axis > *x) return;
  const auto cut = static_cast<size_t>(axis);
  auto joined = ops::axisJoinedAnew(lowering_.sizes(), in(0).value, 0, cut, 0);
  const auto behind = ops::axisJoinedAnew(lowering_.sizes(), in(0).value, cut, static_cast<size_t>(*x), 1);
  joined.insert(joined.end(), behind.begin(), behind.end());
  if (!joined.empty()) set("computed", std::move(joined));
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
