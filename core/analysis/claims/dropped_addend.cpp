#include "core/analysis/claims/dropped_addend.h"

#include <algorithm>
#include <cmath>

#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::ValueId;

constexpr int64_t kLargestMask = int64_t{1} << 24;
constexpr size_t kMaskOfAttention = 3;

bool isPassable(double number, bool masks) {
  return std::isfinite(number) || (masks && std::isinf(number) && number < 0);
}

// A mean that is subtracted from what it is the mean of: no addend, but what makes the difference zero-mean.
bool isMeanOfCentering(const Graph& graph, const graph::Use& use) {
  return use.node != kNone && use.operand == 1 && ops::explicitCentering(graph, graph.node(use.node));
}

}  // namespace

bool DroppedAddends::isFinite(const graph::TensorView& held, bool masks) {
  if (!graph::isFloat(held.dtype) || weights_.isFinite(held)) return true;
  if (!masks || graph::elementCount(held.shape).value_or(kLargestMask + 1) > kLargestMask) return false;
  const auto numbers = graph::toDoubles(held);
  return numbers && std::ranges::all_of(*numbers, [](double number) { return isPassable(number, true); });
}

// Checks the value itself; what it is computed from is checked apart.
bool DroppedAddends::isFinite(const Source& source) {
  const auto& value = graph_.value(source.value);
  if (value.literal) return isPassable(*value.literal, source.masks);
  if (value.constant != kNone) return isFinite(graph_.constant(value.constant).view, source.masks);
  if (value.producer == kNone) return true;
  const auto fill = graph::floatAttribute(graph_.node(value.producer), "fill");
  return !fill || isPassable(*fill, source.masks);
}

std::vector<DroppedAddends::Source> DroppedAddends::sourcesOf(const Source& source) const {
  const auto& value = graph_.value(source.value);
  const auto owner = value.producer == kNone && value.paramOf != kNone ? graph_.block(value.paramOf).owner : kNone;
  const auto maker = value.producer != kNone ? value.producer : owner;
  if (maker == kNone) return {};
  const Node& node = graph_.node(maker);
  if (node.kind == OpKind::ShapeQuery) return {};
  std::vector<Source> sources;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const bool masks =
        source.masks || node.kind == OpKind::Softmax || (node.kind == OpKind::Attention && i == kMaskOfAttention);
    if (node.operands[i] != kNoValue) sources.push_back({node.operands[i], masks});
  }
  for (const auto block : node.blocks) {
    for (const ValueId returned : graph_.block(block).returns) sources.push_back({returned, source.masks});
  }
  return sources;
}

bool DroppedAddends::isMadeOfFinite(ValueId value) {
  std::set<Source> seen{{value, false}};
  std::vector<Source> open{{value, false}};
  while (!open.empty()) {
    const Source source = open.back();
    open.pop_back();
    if (!isFinite(source)) return false;
    for (const Source& from : sourcesOf(source)) {
      const auto dtype = graph_.value(from.value).dtype;
      const bool counts = graph::isFloat(dtype) || dtype == graph::DType::Unknown;
      if (counts && !finite_.contains(from) && seen.insert(from).second) open.push_back(from);
    }
  }
  finite_.merge(seen);
  return true;
}

bool DroppedAddends::mayDrop(ValueId id, const ops::Pattern& pattern, const graph::Uses& uses) {
  const auto& value = graph_.value(id);
  if (value.literal) return std::isfinite(*value.literal);
  if (value.constant != kNone || !value.opaqueReason.empty()) return false;
  if (!value.shape || !graph::isFloat(value.dtype) || !pattern.wholeRegion()) return false;
  // A value that a loop carries has no single place, nor has one that exists only within an operator of the file.
  if (value.producer == kNone ? value.paramOf != 0 : graph::boolAttribute(graph_.node(value.producer), "inside"))
    return false;
  if (std::ranges::any_of(uses, [&](const graph::Use& use) { return isMeanOfCentering(graph_, use); })) return false;
  return ops::isConstantAlong(graph_, id, pattern) && isMadeOfFinite(id);
}

}  // namespace normlens::analysis
