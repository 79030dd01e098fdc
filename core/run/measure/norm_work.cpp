#include "core/run/measure/norm_work.h"

#include <algorithm>
#include <array>

#include "core/analysis/norms/whole_norm.h"

namespace normlens::run {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

struct Rows {
  int64_t rows = 0, width = 0;
  double elementBytes = 0;
};

// The last `axes` axes are a row, or so many rows.
std::optional<Rows> rowsOf(const graph::Value& value, size_t axes, int64_t groups = 1) {
  if (!value.shape || value.shape->size() < axes || axes == 0) return std::nullopt;
  Rows rows{1, 1, static_cast<double>(graph::dtypeBytes(value.dtype))};
  for (size_t i = 0; i < value.shape->size(); ++i) {
    (i + axes < value.shape->size() ? rows.rows : rows.width) *= (*value.shape)[i];
  }
  rows.rows *= groups;
  rows.width /= groups;
  return rows;
}

// Threads that share a row in a fused kernel, a warp: table 8 of a row of 768 differs by 2% between 32 and 128 groups.
constexpr double kGroups = 32;

NormWork workOf(std::string name, NormKind kind, const Rows& rows, bool gamma, bool beta) {
  const auto width = static_cast<double>(rows.width), count = static_cast<double>(rows.rows);
  const geometry::CountedRow row{.width = width, .gamma = gamma, .beta = beta};
  geometry::CountedRow grouped = row;
  grouped.groups = std::min(kGroups, width);
  const geometry::NormCost each = geometry::costOf(kind, row);
  return {.name = std::move(name),
          .kind = kind,
          .rows = rows.rows,
          .width = rows.width,
          .reductions = kind == NormKind::LayerNorm ? 2 : 1,
          .cost = {count * each.additions, count * each.multiplications, count * each.divisions},
          .welfordTicks = width > 0 ? count * geometry::costOf(kind, grouped).ticks() : 0,
          .bytes = (2 * count * width + (int{gamma} + int{beta}) * width) * rows.elementBytes};
}

// x of x - mean(x) over the last axis, which this node ends; kNoValue for any other node.
ValueId centeredBy(const Graph& graph, const Node& node) {
  if (node.kind != OpKind::Sub || node.operands.size() < 2 || node.operands[0] == graph::kNoValue ||
      node.operands[1] == graph::kNoValue) {
    return graph::kNoValue;
  }
  const NodeId mean = graph.value(node.operands[1]).producer;
  if (mean == graph::kNone) return graph::kNoValue;
  const Node& reduce = graph.nodes[static_cast<size_t>(mean)];
  const bool takesMean = reduce.kind == OpKind::Reduce && graph::stringAttribute(reduce, "op") == "mean";
  return takesMean && reduce.operands.front() == node.operands[0] ? node.operands[0] : graph::kNoValue;
}

struct NamedNorm {
  std::string name;
  analysis::WholeNorm norm;
};

// LayerNorms and RMSNorms.
std::vector<NamedNorm> measuredNorms(const Graph& graph, const analysis::Norms& norms) {
  std::vector<NamedNorm> out;
  for (const auto& norm : norms.layerNorms) {
    // A norm inside another op cannot be measured.
    if (graph.node(norm.node).kind == graph::OpKind::Opaque) continue;
    out.push_back({norm.name, analysis::wholeNorm(graph, norm)});
  }
  for (const auto& norm : norms.others) {
    if (norm.kind == OtherNormKind::RmsNorm) out.push_back({norm.name, analysis::wholeNorm(graph, norm)});
  }
  return out;
}

// Nodes of all norms, a gamma and beta behind them included; centerings are found apart.
std::vector<bool> membersOf(const Graph& graph, const analysis::Norms& norms, const std::vector<NamedNorm>& measured) {
  std::vector<bool> members(graph.nodes.size(), false);
  for (const auto& norm : norms.others) members[static_cast<size_t>(norm.node)] = true;
  for (const auto& [name, norm] : measured) {
    for (const NodeId node : norm.members) members[static_cast<size_t>(node)] = true;
  }
  return members;
}

}  // namespace

std::string_view normKindName(NormKind kind) {
  static constexpr std::array<std::string_view, 3> kNames = {"LayerNorm", "RMSNorm", "centering"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<NormWork> normWork(const Graph& graph, const analysis::Norms& norms) {
  std::vector<std::pair<NodeId, NormWork>> found;
  const auto measured = measuredNorms(graph, norms);
  for (const auto& [name, norm] : measured) {
    const auto& shape = graph.value(norm.input).shape;
    if (shape && !analysis::areLastAxes(norm.axes, shape->size())) continue;  // no rows in one piece
    const size_t axes = std::max<size_t>(norm.axes.size(), 1);
    const auto rows = norm.input == graph::kNoValue ? std::nullopt : rowsOf(graph.value(norm.input), axes, norm.groups);
    const auto kind = norm.centers ? NormKind::LayerNorm : NormKind::RmsNorm;
    if (rows)
      found.emplace_back(norm.node,
                         workOf(name, kind, *rows, norm.gamma != graph::kNoValue, norm.beta != graph::kNoValue));
  }
  const std::vector<bool> members = membersOf(graph, norms, measured);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const ValueId centered = members[i] ? graph::kNoValue : centeredBy(graph, graph.nodes[i]);
    const auto rows = centered == graph::kNoValue ? std::nullopt : rowsOf(graph.value(centered), 1);
    if (rows) {
      found.emplace_back(static_cast<NodeId>(i), workOf(graph.nodes[i].name, NormKind::Centering, *rows, false, false));
    }
  }
  std::ranges::stable_sort(found, {}, &std::pair<NodeId, NormWork>::first);
  std::vector<NormWork> work;
  for (auto& [node, one] : found) work.push_back(std::move(one));
  return work;
}

std::vector<bool> normNodes(const Graph& graph, const analysis::Norms& norms) {
  std::vector<bool> members = membersOf(graph, norms, measuredNorms(graph, norms));
  const std::vector<bool> named = members;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (named[i] || centeredBy(graph, graph.nodes[i]) == graph::kNoValue) continue;
    members[i] = true;
    members[static_cast<size_t>(graph.value(graph.nodes[i].operands[1]).producer)] = true;
  }
  return members;
}

bool isNormOp(std::string_view op) {
  static constexpr std::array<std::string_view, 9> kNames = {"LayerNormalization",
                                                             "SkipLayerNormalization",
                                                             "EmbedLayerNormalization",
                                                             "RMSNormalization",
                                                             "SimplifiedLayerNormalization",
                                                             "SkipSimplifiedLayerNormalization",
                                                             "aten::native_layer_norm",
                                                             "aten::layer_norm",
                                                             "aten::rms_norm"};
  return op.starts_with("normlens::") || std::ranges::find(kNames, op) != kNames.end();
}

}  // namespace normlens::run
