// Derives how many axes an operator's output has.
#include "core/formats/onnx/lower/op_rule.h"

namespace normlens::formats::onnx {

using graph::Node;
using graph::OpKind;

namespace {

// The rank of what a node makes of an operand of this rank; nullopt: any.
std::optional<int64_t> rankMade(const Node& node, int64_t rank) {
  switch (node.kind) {
    case OpKind::Identity:
    case OpKind::Cast:
    case OpKind::Neg:
    case OpKind::Permute:
    case OpKind::Slice:
    case OpKind::Split:
    case OpKind::Concat:
    case OpKind::Roll:
    case OpKind::Pad:
    case OpKind::Mix:
    case OpKind::Conv:
    case OpKind::LayerNorm:
    case OpKind::GroupNorm:
    case OpKind::InstanceNorm:
    case OpKind::BatchNorm:
    case OpKind::RmsNorm:
    case OpKind::Softmax:
      return rank;
    case OpKind::Select:
      return rank - 1;
    case OpKind::Reduce: {
      const auto axes = graph::intsAttribute(node, "axes");
      if (graph::boolAttribute(node, "keepdim")) return rank;
      return axes ? std::optional(rank - static_cast<int64_t>(axes->size())) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

void dropStrayRank(const Node& node, const KnownType& operand, KnownType& made) {
  const auto rank = operand.dims ? rankMade(node, *operand.rank()) : std::nullopt;
  if (rank && made.dims && made.rank() != rank) made.dims.reset();
}

}  // namespace normlens::formats::onnx
