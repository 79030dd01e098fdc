// Rows for ops that move elements about: views, permutations, slices, joins, padding.
#include <algorithm>
#include <numeric>

#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

using graph::OpKind;

constexpr int64_t kLargestBlock = 1 << 15;  // its square does not overflow

void reshape(OpContext& op) {
  op.operand(op.has("self") ? "self" : "input");
  if (op.has("dtype")) op.kind = OpKind::Opaque;  // view(dtype) reads the bits as another type
  for (const char* sizes : {"size", "shape", "other"}) {
    if (op.has(sizes)) op.markComputedAxes(sizes);
  }
}

void flatten(OpContext& op) {
  op.operand("self");
  const auto rank = op.rankOf("self");
  const auto first = op.has("start_dim") ? op.axisOf("start_dim", rank) : std::optional<int64_t>(0);
  const auto last = !op.has("end_dim") && rank ? std::optional(*rank - 1) : op.axisOf("end_dim", rank);
  if (!first || !last || *last < *first) return;
  op.markJoinedAxis(static_cast<size_t>(*first), static_cast<size_t>(*last) + 1);
}

// An axis that is dropped in one run, since it has size 1 there, is kept in another.
void squeeze(OpContext& op) {
  reshape(op);
  op.set("ones_only", true);
  const auto rank = op.rankOf("self");
  auto axes = op.has("dim") ? op.axesOf("dim", rank) : std::vector<int64_t>(static_cast<size_t>(rank.value_or(0)));
  if (!rank) return;
  if (!axes) {
    op.kind = OpKind::Opaque;
    return;
  }
  if (!op.has("dim")) std::iota(axes->begin(), axes->end(), int64_t{0});
  const bool fixed = std::ranges::all_of(*axes, [&](int64_t axis) { return op.isSizeFixed(0, axis); });
  if (!fixed) op.kind = OpKind::Opaque;
}

void unsqueeze(OpContext& op) {
  op.operand("self");
  op.set("ones_only", true);
  const auto rank = op.rankOf("self");
  const auto axis = rank ? op.axisOf("dim", *rank + 1) : std::nullopt;
  if (axis) op.set("ones", std::vector<int64_t>{*axis});
}

void expand(OpContext& op) {
  op.operand("self");
  op.markFixedAxes("size");
}

// repeat() of axes of size 1 only is an expand; else each position is one of x's. A count may be known at run time
// only.
void repeat(OpContext& op) {
  op.operand("self");
  const auto counts = op.knownIntsOf("repeats");
  const auto shape = op.shapeOf("self");
  if (!counts || !shape || counts->size() < shape->size()) {
    op.kind = OpKind::Opaque;
    return;
  }
  const size_t lead = counts->size() - shape->size();
  std::vector<int64_t> repeated;
  bool expands = true;
  for (size_t i = 0; i < shape->size(); ++i) {
    if ((*counts)[lead + i] == 1) continue;
    repeated.push_back(static_cast<int64_t>(i));
    expands = expands && (*shape)[i] == 1;
  }
  if (expands) return;
  op.kind = lead == 0 ? OpKind::Mix : OpKind::Opaque;
  op.set("axes", repeated);
}

void repeatInterleave(OpContext& op) {
  op.operand("self");
  if (!op.isLiteral("repeats")) op.operand("repeats");
  const auto axis = op.axisOf("dim", op.rankOf("self"));
  if (op.isNone("dim"))
    op.kind = OpKind::Opaque;  // It reads the flattened tensor.
  else if (axis)
    op.set("axes", std::vector<int64_t>{*axis});
}

std::vector<int64_t> identity(int64_t rank) {
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

void permute(OpContext& op) {
  op.operand("self");
  op.setKnown("perm", op.axesOf("dims", op.rankOf("self")));
}

void transpose(OpContext& op) {
  op.operand("self");
  const auto rank = op.rankOf("self");
  const auto a = op.axisOf("dim0", rank), b = op.axisOf("dim1", rank);
  if (!rank || !a || !b) return;
  auto perm = identity(*rank);
  if (*rank > 0) std::swap(perm[static_cast<size_t>(*a)], perm[static_cast<size_t>(*b)]);
  op.set("perm", perm);
}

// t(), .T: all axes in reverse order.
void reverseAxes(OpContext& op) {
  op.operand(op.has("self") ? "self" : "a");
  const auto rank = op.rankOf(op.has("self") ? "self" : "a");
  if (!rank) return;
  auto perm = identity(*rank);
  std::reverse(perm.begin(), perm.end());
  op.set("perm", perm);
}

// .mT: the last two axes.
void swapLastTwo(OpContext& op) {
  op.operand(op.has("self") ? "self" : "a");
  const auto rank = op.rankOf(op.has("self") ? "self" : "a");
  if (!rank || *rank < 2) return;
  auto perm = identity(*rank);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  op.set("perm", perm);
}

void moveAxes(OpContext& op) {
  op.operand("self");
  const auto rank = op.rankOf("self");
  const auto from = op.axesOf("source", rank), to = op.axesOf("destination", rank);
  if (!rank || !from || !to || from->size() != to->size()) return;
  std::vector<int64_t> perm(static_cast<size_t>(*rank), -1);
  for (size_t i = 0; i < from->size(); ++i) perm[static_cast<size_t>((*to)[i])] = (*from)[i];
  int64_t next = 0;
  for (int64_t& axis : perm) {
    if (axis >= 0) continue;
    while (std::ranges::find(*from, next) != from->end()) ++next;
    axis = next++;
  }
  op.set("perm", perm);
}

// The last axes of x, cut into these factors, in this order. The axes before them stay.
void rearrange(OpContext& op, const std::vector<int64_t>& factors, const std::vector<int64_t>& order, int64_t axes) {
  op.operand("self");
  const auto shape = op.shapeOf("self");
  if (!shape || static_cast<int64_t>(shape->size()) < axes) return;
  const int64_t before = static_cast<int64_t>(shape->size()) - axes;
  std::vector<int64_t> inner(shape->begin(), shape->begin() + before), perm = identity(before);
  inner.insert(inner.end(), factors.begin(), factors.end());
  for (const int64_t at : order) perm.push_back(before + at);
  op.set("inner", std::move(inner));
  op.set("perm", std::move(perm));
}

// The size of an axis, counted from the last one, over `by`.
int64_t part(const OpContext& op, int64_t fromLast, int64_t by) {
  const auto shape = op.shapeOf("self");
  const auto rank = shape ? static_cast<int64_t>(shape->size()) : 0;
  return rank >= fromLast && by > 0 ? (*shape)[static_cast<size_t>(rank - fromLast)] / by : 0;
}

// A channel is (c, row, column); row and column go inside those of the image.
void pixelShuffle(OpContext& op) {
  const int64_t r = std::min(op.intOf("upscale_factor").value_or(0), kLargestBlock);
  rearrange(op, {part(op, 3, r * r), r, r, part(op, 2, 1), part(op, 1, 1)}, {0, 3, 1, 4, 2}, 3);
}
void pixelUnshuffle(OpContext& op) {
  const int64_t r = std::min(op.intOf("downscale_factor").value_or(0), kLargestBlock);
  rearrange(op, {part(op, 3, 1), part(op, 2, r), r, part(op, 1, r), r}, {0, 2, 4, 1, 3}, 3);
}

void concat(OpContext& op) {
  op.operandList("tensors");
  const auto rank = op.outputShape() ? std::optional(static_cast<int64_t>(op.outputShape()->size())) : std::nullopt;
  op.setAxis("dim", rank);
  // torch skips empty tensors of rank 1: such a concat joins along an axis they do not have.
  for (const auto& shape : op.shapesOfList("tensors")) {
    if (rank && shape && static_cast<int64_t>(shape->size()) != *rank) op.kind = OpKind::Opaque;
  }
}

void stack(OpContext& op) {
  op.operandList("tensors");
  const auto rank = op.outputShape() ? std::optional(static_cast<int64_t>(op.outputShape()->size())) : std::nullopt;
  op.setAxis("dim", rank);
}

// hstack: along axis 1, of vectors along axis 0. vstack: along axis 0, of vectors a stack.
void horizontalStack(OpContext& op) {
  op.operandList("tensors");
  const auto shape = op.outputShape();
  if (shape) op.set("axis", shape->size() < 2 ? int64_t{0} : int64_t{1});
}
void verticalStack(OpContext& op) {
  op.operandList("tensors");
  op.set("axis", int64_t{0});
  for (const auto& shape : op.shapesOfList("tensors")) {
    if (shape && shape->size() < 2) op.kind = OpKind::Stack;
  }
}

void roll(OpContext& op) {
  op.operand("self");
  const auto rank = op.rankOf("self");
  const auto axes = op.axesOf("dims", rank);
  if (axes && axes->empty()) {  // rolls the flattened tensor
    op.kind = OpKind::Opaque;
  } else if (axes) {
    op.set("axes", *axes);
  }
}

// Amounts come in pairs (before, after), last axis first.
void padBy(OpContext& op, std::string_view argument) {
  const auto amounts = op.knownIntsOf(argument);
  const auto rank = op.rankOf("self");
  if (!amounts || !rank) return;
  std::vector<int64_t> axes, start;
  bool known = true;
  for (size_t i = 0; i + 1 < amounts->size(); i += 2) {
    const auto before = (*amounts)[i], after = (*amounts)[i + 1];
    if (before == 0 && after == 0) continue;
    known = known && before >= 0 && after >= 0;
    axes.insert(axes.begin(), *rank - 1 - static_cast<int64_t>(i / 2));
    start.insert(start.begin(), before.value_or(0));
  }
  op.set("axes", axes);
  if (known) op.set("start", start);
}

void pad(OpContext& op) {
  op.operand("self");
  const auto mode = op.has("mode") ? op.stringOf("mode") : "constant";
  const bool knowsFill = op.isNone("value") || op.numberOf("value");
  if (!mode || (mode == "constant" && !knowsFill)) op.kind = OpKind::Opaque;
  if (mode == "constant") op.set("value", op.numberOf("value").value_or(0.0));
  padBy(op, "pad");
}

void padByBorder(OpContext& op) {
  op.operand("self");
  padBy(op, "padding");
}

}  // namespace

const std::vector<OpRule>& shapeRules() {
  static const std::vector<OpRule> kRules = [] {
    std::vector<OpRule> rules = {
        {"aten::repeat", OpKind::Expand, repeat},
        {"aten::repeat_interleave", OpKind::Mix, repeatInterleave},
        {"aten::permute", OpKind::Permute, permute},
        {"aten::transpose", OpKind::Permute, transpose},
        {"aten::t", OpKind::Permute, reverseAxes},
        {"aten::numpy_T", OpKind::Permute, reverseAxes},
        {"aten::mT", OpKind::Permute, swapLastTwo},
        {"aten::pixel_shuffle", OpKind::Rearrange, pixelShuffle},
        {"aten::pixel_unshuffle", OpKind::Rearrange, pixelUnshuffle},
        {"aten::movedim", OpKind::Permute, moveAxes},
        {"aten::cat", OpKind::Concat, concat},
        {"aten::stack", OpKind::Stack, stack},
        {"aten::hstack", OpKind::Concat, horizontalStack},
        {"aten::vstack", OpKind::Concat, verticalStack},
        {"aten::roll", OpKind::Roll, roll},
        {"aten::flip", OpKind::Roll, roll},
        {"aten::squeeze", OpKind::Reshape, squeeze},
        {"aten::unsqueeze", OpKind::Reshape, unsqueeze, graph::Function::Unsqueeze},
        {"aten::pad", OpKind::Pad, pad},
        {"aten::constant_pad_nd", OpKind::Pad, pad},
        {"aten::reflection_pad1d", OpKind::Pad, padByBorder},
        {"aten::reflection_pad2d", OpKind::Pad, padByBorder},
        {"aten::reflection_pad3d", OpKind::Pad, padByBorder},
        {"aten::replication_pad1d", OpKind::Pad, padByBorder},
        {"aten::replication_pad2d", OpKind::Pad, padByBorder},
        {"aten::replication_pad3d", OpKind::Pad, padByBorder},
    };
    for (const char* name : {"aten::view", "aten::reshape", "aten::unflatten", "aten::view_as", "aten::reshape_as",
                             "aten::_unsafe_view", "aten::_reshape_alias"})
      rules.push_back({name, OpKind::Reshape, reshape});
    for (const char* name : {"aten::flatten", "aten::ravel"}) rules.push_back({name, OpKind::Reshape, flatten});
    for (const char* name : {"aten::expand", "aten::expand_as", "aten::broadcast_to"})
      rules.push_back({name, OpKind::Expand, expand});
    return rules;
  }();
  return kRules;
}

}  // namespace normlens::formats::torchscript
