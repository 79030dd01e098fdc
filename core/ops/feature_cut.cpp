#include "core/ops/feature_cut.h"

#include <algorithm>

#include "core/ops/axis_size.h"
#include "core/ops/contraction.h"
#include "core/ops/index_maps.h"

namespace normlens::ops {
namespace {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::ValueId;

constexpr int kMaxSteps = 16;

bool isConstant(const Graph& graph, ValueId value) { return value != kNoValue && graph.value(value).constant != kNone; }

// A constant, perhaps seen through changes of its shape.
bool isWeight(const Graph& graph, ValueId value) {
  for (int step = 0; step < kMaxSteps && value != kNoValue; ++step) {
    const auto& made = graph.value(value);
    if (made.producer == kNone) return made.constant != kNone;
    const Node& node = graph.node(made.producer);
    const bool view = node.kind == OpKind::Identity || node.kind == OpKind::Cast || node.kind == OpKind::Reshape ||
                      node.kind == OpKind::Permute;
    if (!view) return false;
    value = node.operands.at(0);
  }
  return false;
}

// Every label that the region restricts is the weight's own.
bool regionOfWeight(const Graph& graph, const Node& node, const Pattern& pattern) {
  const auto c = contractionOf(graph, node);
  if (!c || c->b < 0) return false;
  const auto dims = alignTo(pattern, sizesOf(c->labelsOut));
  if (!dims) return false;
  const bool weightA = isWeight(graph, node.operands[static_cast<size_t>(c->a)]);
  const bool weightB = isWeight(graph, node.operands[static_cast<size_t>(c->b)]);
  for (size_t i = 0; i < c->labelsOut.size(); ++i) {
    const auto& factors = (*dims)[i];
    if (std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f.whole(); })) continue;
    const int id = c->labelsOut[i].id;
    const bool inA = has(c->labelsA, id);
    const bool inB = has(c->labelsB, id);
    if ((inA && !weightA) || (inB && !weightB) || (!inA && !inB)) return false;
  }
  return true;
}

}  // namespace

bool cutsFeatures(const Graph& graph, const Node& cut, ValueId value, const Pattern& pattern) {
  if (!isFixedCut(graph, cut)) return false;
  Pattern at = pattern;
  for (int step = 0; step < kMaxSteps && value != kNoValue; ++step) {
    const auto& made = graph.value(value);
    if (made.constant != kNone) return cut.kind != OpKind::Slice;  // all slices of a constant need the whole
    if (made.producer == kNone) return false;
    const Node& node = graph.node(made.producer);
    switch (node.kind) {
      case OpKind::Identity:
      case OpKind::Cast:
      case OpKind::Reshape:
        if (restrictsTornAxis(graph, node, at)) return false;
        value = node.operands.at(0);
        break;
      case OpKind::Permute: {
        auto moved = opRow(node.kind).zeroMean(graph, node, 0, at);
        if (moved.verdict != ZeroMean::Verdict::Needs) return false;
        at = std::move(moved.needs.at(0).pattern);
        value = node.operands.at(0);
        break;
      }
      case OpKind::Add: {
        const ValueId data = node.operands.at(isConstant(graph, node.operands.at(0)) ? 1 : 0);
        if (data == kNoValue || graph.value(data).shape != made.shape) return false;
        value = data;
        break;
      }
      case OpKind::Linear:
      case OpKind::MatMul:
      case OpKind::AddMatMul:
      case OpKind::Conv:
      case OpKind::Einsum:
        return regionOfWeight(graph, node, at);
      default:
        return false;
    }
  }
  return false;
}

}  // namespace normlens::ops
