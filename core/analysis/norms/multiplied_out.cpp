#include "core/analysis/norms/multiplied_out.h"

#include <array>
#include <utility>

#include "core/analysis/norms/norm_tail.h"
#include "core/analysis/norms/written_parts.h"
#include "core/graph/queries.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

constexpr std::array<size_t, 2> kSides = {0, 1};

bool isPair(const Node* node, OpKind kind) {
  return node != nullptr && node->kind == kind && node->operands.size() == 2 && ops::plainAlpha(*node);
}

// The sum as x * scale and what is added to it.
struct Split {
  ValueId product = kNoValue;
  ValueId share = kNoValue;  // mean * scale
  bool negative = false;     // the share is -mean * scale
  ValueId beta = kNoValue;
  ValueId rest = kNoValue;  // beta and share in one value
  LayerNorm::LeftOut withoutMean;
};

std::vector<Split> splitsOf(const Graph& graph, NodeId end) {
  const Node& node = graph.node(end);
  std::vector<Split> out;
  if (isPair(&node, OpKind::Sub))
    out.push_back({node.operands[0], node.operands[1], false, kNoValue, kNoValue, {end, 0}});
  if (!isPair(&node, OpKind::Add)) return out;
  for (const size_t side : kSides) {
    const ValueId product = node.operands[side], rest = node.operands[1 - side];
    if (!isPair(producerOf(graph, product), OpKind::Mul)) continue;
    out.push_back({product, rest, true, kNoValue, kNoValue, {end, side}});
    const Node* sum = producerOf(graph, rest);
    const bool subtracts = isPair(sum, OpKind::Sub);
    if (!subtracts && !isPair(sum, OpKind::Add)) continue;
    for (const size_t beta : kSides) {
      if ((subtracts && beta == 1) || !isOfConstants(graph, sum->operands[beta])) continue;
      const LayerNorm::LeftOut withoutMean{graph.value(rest).producer, beta};
      out.push_back({product, sum->operands[1 - beta], !subtracts, sum->operands[beta], rest, withoutMean});
    }
  }
  return out;
}

// value, or x of -x, which turns `negative` round.
ValueId withoutSign(const Graph& graph, ValueId value, bool& negative, std::vector<ValueId>& made) {
  const Node* node = producerOf(graph, value);
  if (node == nullptr || node->kind != OpKind::Neg) return value;
  negative = !negative;
  made.push_back(value);
  return node->operands[0];
}

void readSplit(const Graph& graph, const Split& split, std::vector<MultipliedOut>& found) {
  MultipliedOut read{.beta = split.beta, .withoutMean = split.withoutMean, .made = {split.product}};
  if (split.rest != kNoValue) read.made.push_back(split.rest);
  bool negative = split.negative;
  const ValueId share = withoutSign(graph, split.share, negative, read.made);
  read.made.push_back(share);
  const Node *whole = producerOf(graph, split.product), *part = producerOf(graph, share);
  if (!isPair(whole, OpKind::Mul) || !isPair(part, OpKind::Mul)) return;
  for (const size_t scale : kSides) {
    for (const size_t mean : kSides) {
      if (whole->operands[scale] != part->operands[1 - mean]) continue;
      MultipliedOut out = read;
      bool stillNegative = negative;
      out.input = whole->operands[1 - scale];
      out.scale = whole->operands[scale];
      out.mean = withoutSign(graph, part->operands[mean], stillNegative, out.made);
      if (!stillNegative) found.push_back(std::move(out));
    }
  }
}

}  // namespace

std::vector<MultipliedOut> readMultipliedOut(const Graph& graph, NodeId end) {
  std::vector<MultipliedOut> found;
  for (const Split& split : splitsOf(graph, end)) {
    // Without the mean's share the product alone has the shape of the sum.
    if (graph::sameTypeAndShape(graph, split.product, graph.node(end).outputs[0])) readSplit(graph, split, found);
  }
  return found;
}

}  // namespace normlens::analysis
