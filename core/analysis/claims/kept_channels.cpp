#include "core/analysis/claims/kept_channels.h"

#include <algorithm>

#include "core/analysis/graph_names.h"
#include "core/ops/index_maps.h"

namespace normlens::analysis {
namespace {

// Acts along other axes than the last one of `shape`, by its attribute `axis` or `axes`.
bool sparesLastAxis(const Node& node, const Shape& shape) {
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  if (const auto axis = graph::intAttribute(node, "axis"))
    return *axis + graph::intAttribute(node, "count").value_or(1) - 1 < last;
  const auto axes = graph::intsAttribute(node, "axes");
  return axes && std::find(axes->begin(), axes->end(), last) == axes->end();
}

}  // namespace

bool keepsChannels(const Graph& graph, const Node& node, int64_t channels) {
  const Shape* in = ops::shapeOf(graph, node.operands.at(0));
  const Shape* out = ops::shapeOf(graph, node.outputs.at(0));
  if (in == nullptr || out == nullptr || in->empty() || out->empty() || out->back() != channels) return false;
  switch (node.kind) {
    case OpKind::Identity:
    case OpKind::Reshape:
    case OpKind::Expand:
      return true;
    case OpKind::Permute: {
      const auto perm = graph::intsAttribute(node, "perm");
      return perm && perm->back() == static_cast<int64_t>(in->size()) - 1;
    }
    case OpKind::Slice:
    case OpKind::Select:
    case OpKind::Split:
    case OpKind::Unbind:
    case OpKind::Roll:
    case OpKind::Gather:
      return sparesLastAxis(node, *in);
    case OpKind::Reduce:
      return graph::stringAttribute(node, "op") == "mean" && sparesLastAxis(node, *in);
    default:
      return false;
  }
}

}  // namespace normlens::analysis
