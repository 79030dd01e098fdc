// Numbers that a file computes from constants and sizes, where they are the same for every input: exporters write the
// bounds of a chunk as (size + 1) / 2.
#include <algorithm>

#include "core/formats/onnx/lower/lowering.h"

namespace normlens::formats::onnx {
namespace {

using graph::kNone;
using graph::kNoValue;
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

}  // namespace normlens::formats::onnx
