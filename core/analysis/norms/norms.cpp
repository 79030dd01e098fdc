#include "core/analysis/norms/norms.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/group_norms.h"
#include "core/analysis/norms/row_sum.h"
#include "core/analysis/norms/written_norms.h"
#include "core/ops/axis_size.h"
#include "core/ops/index_maps.h"
#include "core/ops/size_question.h"

namespace normlens::analysis {
namespace {

LayerNorm fromOp(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  LayerNorm norm;
  if (graph::boolAttribute(node, "fused")) norm.form = NormForm::Fused;
  norm.node = id;
  norm.members = {id};
  norm.input = node.operands.at(0);
  norm.output = node.outputs.at(0);
  norm.gamma = graph::operandAt(node, 1);
  norm.beta = graph::operandAt(node, 2);
  norm.eps = graph::floatAttribute(node, "eps").value_or(0);
  norm.axes = graph::intsAttribute(node, "axes").value_or(std::vector<int64_t>{});
  if (node.kind != OpKind::LayerNorm) {
    norm.type = node.kind == OpKind::GroupNorm ? NormType::GroupNorm : NormType::InstanceNorm;
    norm.groups = graph::intAttribute(node, "groups").value_or(1);
    norm.axes = *axesWithoutSpace(graph, node);
    // Exporters write an InstanceNorm, which has to have both, with neither in effect.
    if (norm.gamma != kNoValue && sameEverywhere(graph, norm.gamma) == 1.0) norm.gamma = kNoValue;
    if (norm.beta != kNoValue && sameEverywhere(graph, norm.beta) == 0.0) norm.beta = kNoValue;
  }
  if (const auto* shape = ops::shapeOf(graph, norm.input)) {
    for (const int64_t axis : norm.axes) norm.normalizedShape.push_back(shape->at(static_cast<size_t>(axis)));
    if (norm.groups > 1) norm.normalizedShape.front() /= norm.groups;
  }
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (!graph.value(node.outputs[i]).uses.empty())
      norm.blockedReason = "its mean or inverse deviation is used elsewhere";
  }
  return norm;
}

// A norm that a fused op computes on the way; input and output are the op's.
LayerNorm innerNorm(const Graph& graph, NodeId id, size_t gamma) {
  const Node& node = graph.node(id);
  LayerNorm norm;
  norm.form = NormForm::Fused;
  norm.node = id;
  norm.members = {id};
  norm.input = node.operands.at(0);
  norm.output = node.outputs.at(0);
  norm.gamma = graph::operandAt(node, gamma);
  norm.beta = graph::operandAt(node, gamma + 1);
  norm.eps = graph::floatAttribute(node, "eps").value_or(0);
  if (const auto* shape = ops::shapeOf(graph, norm.input); shape != nullptr && !shape->empty()) {
    norm.axes = {static_cast<int64_t>(shape->size()) - 1};
    norm.normalizedShape = {shape->back()};
  }
  norm.blockedReason = graph::stringAttribute(node, "inner_reason").value_or("it is inside a larger operation");
  // The module that holds its scale.
  const auto held = norm.gamma == kNoValue ? graph::kNone : graph.value(norm.gamma).constant;
  if (held != graph::kNone) {
    const std::string& name = graph.constant(held).name;
    if (const size_t dot = name.rfind('.'); dot != std::string::npos) norm.name = name.substr(0, dot);
  }
  return norm;
}

bool isInside(const Graph& graph, const LayerNorm& norm) { return graph.node(norm.node).kind == OpKind::Opaque; }

OtherNorm otherFromOp(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  OtherNorm norm;
  if (node.kind != OpKind::RmsNorm) norm.kind = *fromName<OtherNormKind>(graph::opKindName(node.kind));
  if (node.kind == OpKind::InstanceNorm && channelsOfAGroup(graph, node) > 1) norm.kind = OtherNormKind::GroupNorm;
  if (graph::boolAttribute(node, "fused")) norm.form = NormForm::Fused;
  norm.node = id;
  norm.members = {id};
  norm.input = graph::operandAt(node, 0);
  norm.output = node.outputs.at(0);
  norm.gamma = graph::operandAt(node, 1);
  norm.beta = graph::operandAt(node, 2);
  norm.axes = graph::intsAttribute(node, "axes").value_or(std::vector<int64_t>{});
  norm.eps = graph::floatAttribute(node, "eps").value_or(0);
  return norm;
}

bool isOtherNorm(const Node& node) {
  const OpKind kind = node.kind;
  return kind == OpKind::GroupNorm || kind == OpKind::InstanceNorm || kind == OpKind::BatchNorm ||
         kind == OpKind::RmsNorm;
}

// Module path or node name where it is unique, with a number behind it otherwise; op#k where there is none.
class Names {
 public:
  std::string give(const std::string& wanted) {
    const int count = ++seen_[wanted];
    if (wanted.empty()) return "op#" + std::to_string(count - 1);
    return count == 1 ? wanted : wanted + "#" + std::to_string(count - 1);
  }

 private:
  std::map<std::string, int> seen_;
};

// The name's own part: "LayerNormalization"; with the part before it where it is a number alone, "Div.28".
std::string ownPart(std::string name) {
  std::ranges::replace(name, '/', '.');
  size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot > 0 && name.find_first_not_of("0123456789", dot + 1) == std::string::npos)
    dot = name.rfind('.', dot - 1);
  return name.substr(dot == std::string::npos ? 0 : dot + 1);
}

bool saysNorm(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return name.find("norm") != std::string::npos || name.starts_with("ln");
}

// Gives ONNX norms the path of their module: "/encoder/norm/LayerNormalization" and "node_layer_norm_1" are both of the
// module encoder.norm. If another norm is in that module, or much more and its name does not say that it is a norm, the
// name's own part follows.
void giveTitles(const Graph& graph, std::vector<LayerNorm>& norms) {
  constexpr size_t kFewMore = 4;  // nodes that an exporter puts into the norm's module: a cast, what reads it first
  std::vector<size_t> parts(graph.scopes.size()), normsIn(graph.scopes.size());
  for (const Node& node : graph.nodes) parts[static_cast<size_t>(node.scope)] += node.helper ? 0 : 1;
  for (const graph::Scope& scope : graph.scopes) {
    if (scope.parent != graph::kNone) parts[static_cast<size_t>(scope.parent)] = std::numeric_limits<size_t>::max();
  }
  for (const LayerNorm& norm : norms) ++normsIn[static_cast<size_t>(graph.node(norm.node).scope)];
  Names names;
  for (LayerNorm& norm : norms) {
    const graph::ScopeId id = graph.node(norm.node).scope;
    const auto scope = static_cast<size_t>(id);
    const std::string& path = graph.scope(id).path;
    if (path.empty() || norm.name.starts_with(path)) {
      norm.title = names.give(norm.name);
    } else {
      const bool alone =
          normsIn[scope] == 1 && (parts[scope] <= norm.members.size() + kFewMore || saysNorm(graph.scope(id).name));
      norm.title = names.give(alone ? path : path + "." + ownPart(norm.name));
    }
  }
}

template <class Found>
void sortByExecution(const std::map<NodeId, size_t>& position, std::vector<Found>& norms) {
  std::ranges::stable_sort(norms, {}, [&](const Found& norm) { return position.at(norm.node); });
}

}  // namespace

bool areLastAxes(const std::vector<int64_t>& axes, size_t rank) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[axes.size() - 1 - i] != static_cast<int64_t>(rank) - 1 - static_cast<int64_t>(i)) return false;
  }
  return axes.size() <= rank;
}

bool isOverKnownSizes(const Graph& graph, const LayerNorm& norm) {
  if (ops::shapeOf(graph, norm.input) == nullptr) return true;  // Nothing is known of it anyway.
  if (norm.type != NormType::LayerNorm) return isWithoutSpaceInEveryRun(graph, norm);
  ops::SizeQuestion sizes(graph);
  return std::ranges::all_of(norm.members, [&](NodeId member) {
    const Node& node = graph.node(member);
    const bool takesMean =
        node.kind == OpKind::LayerNorm || node.kind == OpKind::RmsNorm || node.kind == OpKind::Reduce;
    return !takesMean || graph::operandAt(node, 0) != norm.input || ops::areAxesAsProbed(sizes, node, norm.axes);
  });
}

Norms findNorms(const Graph& graph) {
  Norms out = writtenNorms(graph);
  std::set<NodeId> ends;
  for (const LayerNorm& norm : out.layerNorms) ends.insert(norm.node);
  std::map<NodeId, size_t> position;
  for (const NodeId id : graph.executionOrder()) {
    position.emplace(id, position.size());
    const Node& node = graph.node(id);
    if (node.kind == OpKind::LayerNorm || axesWithoutSpace(graph, node)) {
      out.layerNorms.push_back(fromOp(graph, id));
    } else if (isOtherNorm(node) && !ends.contains(id)) {
      out.others.push_back(otherFromOp(graph, id));
    } else if (node.kind == OpKind::Opaque) {
      const auto gammas = graph::intsAttribute(node, "inner_norms").value_or(std::vector<int64_t>{});
      for (const int64_t gamma : gammas) out.layerNorms.push_back(innerNorm(graph, id, static_cast<size_t>(gamma)));
    }
  }
  sortByExecution(position, out.layerNorms);
  sortByExecution(position, out.others);
  for (LayerNorm& norm : out.layerNorms) {
    if (norm.blockedReason.empty() && !isOverKnownSizes(graph, norm))
      norm.blockedReason = "over how many values it is taken is known at run time only";
  }
  // LayerNorms first: their names do not depend on which other norms are found.
  // Those inside other ops last: a scripted file may hold the same layer written out as well.
  Names names;
  for (LayerNorm& norm : out.layerNorms) {
    norm.index = static_cast<int>(&norm - out.layerNorms.data());
    if (!isInside(graph, norm)) norm.name = names.give(graph.node(norm.node).name);
  }
  for (LayerNorm& norm : out.layerNorms) {
    if (isInside(graph, norm)) norm.name = names.give(norm.name.empty() ? graph.node(norm.node).name : norm.name);
  }
  for (OtherNorm& norm : out.others) norm.name = names.give(graph.node(norm.node).name);
  giveTitles(graph, out.layerNorms);
  return out;
}

std::string writtenInBetween(const Graph& graph, const std::vector<NodeId>& members, ValueId input, ValueId output) {
  std::vector<ValueId> read{input};
  for (const NodeId member : members) {
    const auto& made = graph.node(member).outputs;
    read.insert(read.end(), made.begin(), made.end());
  }
  std::erase(read, output);
  const auto written = std::ranges::find_if(read, [&](ValueId id) { return !graph.value(id).opaqueReason.empty(); });
  return written == read.end() ? std::string() : graph.value(*written).opaqueReason;
}

graph::Uses readsOfInput(const Graph& graph, const LayerNorm& norm) {
  graph::Uses reads;
  for (const graph::Use& use : graph.value(norm.input).uses) {
    if (std::ranges::find(norm.members, use.node) != norm.members.end()) reads.push_back(use);
  }
  return reads;
}

bool isClosed(const Graph& graph, const std::vector<NodeId>& members, ValueId output,
              const std::vector<NodeId>& sizesOf) {
  return std::ranges::all_of(members, [&](NodeId member) {
    const bool sizesToo = std::ranges::find(sizesOf, member) != sizesOf.end();
    const auto isFine = [&](const graph::Use& use) {
      if (sizesToo && use.node != graph::kNone && graph.node(use.node).kind == OpKind::ShapeQuery) return true;
      return std::ranges::find(members, use.node) != members.end();
    };
    return std::ranges::all_of(graph.node(member).outputs, [&](ValueId made) {
      return made == output || std::ranges::all_of(graph.value(made).uses, isFine);
    });
  });
}

std::vector<NamedNorm> normsOfOneOp(const Norms& norms) {
  std::vector<NamedNorm> found;
  for (const auto& norm : norms.layerNorms) {
    if (norm.form == NormForm::Op && norm.type == NormType::LayerNorm) found.push_back({norm.name, norm.node});
  }
  for (const auto& norm : norms.others) {
    if (norm.kind == OtherNormKind::RmsNorm && norm.form == NormForm::Op) found.push_back({norm.name, norm.node});
  }
  return found;
}

}  // namespace normlens::analysis
