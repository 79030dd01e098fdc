// Rows for ops that cut a part out of an axis, or all of it into parts.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

using graph::OpKind;

// A position along an axis, counted from the front; nullopt when another run may have another one, or not known.
struct Position {
  std::optional<int64_t> at;
  bool fromEnd = false;
};

std::optional<int64_t> sizeOf(const OpContext& op, std::optional<int64_t> axis) {
  const auto shape = op.shapeOf("self");
  if (!shape || !axis || *axis >= static_cast<int64_t>(shape->size())) return std::nullopt;
  return (*shape)[static_cast<size_t>(*axis)];
}

Position position(const OpContext& op, std::string_view argument, std::optional<int64_t> axis) {
  const auto at = op.fixedIntOf(argument);
  if (!at || *at >= 0) return {at, false};
  const auto size = sizeOf(op, axis);
  return {size ? std::optional(std::max<int64_t>(0, *at + *size)) : std::nullopt, true};
}

void setCut(OpContext& op, const Position& start, const Position& end) {
  op.setKnown("start", start.at);
  op.setKnown("end", end.at);
  if (start.fromEnd || end.fromEnd) op.set("from_end", true);
}

void slice(OpContext& op) {
  if (!op.has("self")) {  // It concatenates a list.
    op.kind = OpKind::Opaque;
    return;
  }
  op.operand("self");
  const auto axis = op.axisOf("dim", op.rankOf("self"));
  op.setKnown("axis", axis);
  const bool toTheEnd = op.isNone("end") || op.intOf("end") == std::numeric_limits<int64_t>::max();
  const Position start = op.isNone("start") ? Position{0} : position(op, "start", axis);
  const Position end = toTheEnd ? Position{sizeOf(op, axis), true} : position(op, "end", axis);
  const auto step = op.intOf("step");
  if (!step) op.kind = OpKind::Opaque;
  if (start.at == 0 && step == 1 && toTheEnd) {
    op.kind = OpKind::Identity;
    return;
  }
  setCut(op, start, end);
  op.setKnown("step", step);
}

void narrow(OpContext& op) {
  op.operand("self");
  const auto axis = op.axisOf("dim", op.rankOf("self"));
  op.setKnown("axis", axis);
  const Position start = position(op, "start", axis);
  const auto length = op.fixedIntOf("length");
  setCut(op, start, {start.at && length ? std::optional(*start.at + *length) : std::nullopt, start.fromEnd});
  op.set("exact", true);  // It takes nothing from a shorter axis: the run fails.
  op.set("step", int64_t{1});
}

void select(OpContext& op) {
  if (!op.has("self") || !op.has("index")) {
    op.kind = OpKind::Opaque;
    return;
  }
  op.operand("self");
  const auto axis = op.axisOf("dim", op.rankOf("self"));
  op.setKnown("axis", axis);
  const Position index = position(op, "index", axis);
  op.setKnown("index", index.at);
  if (index.fromEnd) op.set("from_end", true);
}

void unbind(OpContext& op) {
  op.operand("self");
  op.mayTakeListApart = true;
  op.setAxis("dim", op.rankOf("self"));
}

// The sizes that the file writes, of all parts; nullopt: they follow from the axis' size (of a shorter one the last
// part of one size is smaller), or a run computes them.
std::optional<std::vector<int64_t>> writtenSizes(const OpContext& op, int64_t size) {
  for (const char* name : {"split_size", "split_sizes"}) {
    const auto sizes = op.fixedIntsOf(name);
    if (sizes && std::accumulate(sizes->begin(), sizes->end(), int64_t{0}) == size) return sizes;
  }
  return std::nullopt;
}

void split(OpContext& op) {
  unbind(op);
  const auto axis = op.axisOf("dim", op.rankOf("self"));
  const auto size = sizeOf(op, axis);
  if (!size) return;
  if (auto sizes = writtenSizes(op, *size)) {
    op.set("sizes", std::move(*sizes));
    return;
  }
  for (const char* name : {"chunks", "sections", "split_size"}) {
    if (op.fixedIntOf(name)) return op.set("divides", true);
  }
  if (op.fixedIntsOf("indices")) op.set("divides", true);
}

}  // namespace

const std::vector<OpRule>& cutRules() {
  static const std::vector<OpRule> kRules = [] {
    std::vector<OpRule> rules = {
        {"aten::slice", OpKind::Slice, slice},
        {"aten::narrow", OpKind::Slice, narrow},
        {"aten::select", OpKind::Select, select},
        {"aten::unbind", OpKind::Unbind, unbind},
    };
    for (const char* name : {"aten::split", "aten::split_with_sizes", "aten::chunk", "aten::tensor_split",
                             "aten::unsafe_chunk", "aten::unsafe_split", "aten::unsafe_split_with_sizes"})
      rules.push_back({name, OpKind::Split, split});
    return rules;
  }();
  return kRules;
}

}  // namespace normlens::formats::torchscript
