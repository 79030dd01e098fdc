#include "core/service/describe/graph_document.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/analysis/explain.h"
#include "core/base/formatted.h"
#include "core/ops/node_class.h"

namespace normlens::service {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

template <class T>
std::string listText(const std::vector<T>& items) {
  std::string out = "[";
  for (const T& item : items) out += (out.size() > 1 ? ", " : "") + formatted("%.6g", static_cast<double>(item));
  return out + "]";
}

std::string attributeText(const graph::Attribute& attribute) {
  struct Visitor {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return formatted("%.6g", value); }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const std::vector<int64_t>& items) const { return listText(items); }
    std::string operator()(const std::vector<double>& items) const { return listText(items); }
  };
  return std::visit(Visitor{}, attribute);
}

bool isConstantLike(const Graph& graph, ValueId id) {
  const auto& value = graph.value(id);
  return value.constant != kNone || value.literal.has_value();
}

// A value that is added back later and read by something else meanwhile, and the sums it runs through.
std::vector<bool> residualStreams(const Graph& graph) {
  std::vector<bool> stream(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    if (node.kind != OpKind::Add || !ops::isResidualSum(graph, node)) continue;
    bool carried = false;
    for (const ValueId id : node.operands) {
      if (graph.value(id).uses.size() < 2) continue;
      stream[static_cast<size_t>(id)] = true;
      carried = true;
    }
    if (carried) stream[static_cast<size_t>(node.outputs[0])] = true;
  }
  return stream;
}

NodeClass roleOf(const Graph& graph, const Node& node) {
  if (node.helper || node.kind == OpKind::ShapeQuery) return NodeClass::Helper;
  return ops::nodeClass(graph, node);
}

// An If stands behind its branches, whose results it passes on.
void addInOrder(const Graph& graph, graph::BlockId block, std::vector<NodeId>& order) {
  for (const NodeId id : graph.block(block).nodes) {
    const Node& node = graph.node(id);
    if (node.kind != OpKind::If) order.push_back(id);
    for (const graph::BlockId inner : node.blocks) addInOrder(graph, inner, order);
    if (node.kind == OpKind::If) order.push_back(id);
  }
}

// The condition before what only makes a truth value of it, then what the branches return.
std::vector<int> inputsOfIf(const Graph& graph, const Node& node) {
  ValueId condition = node.operands.at(0);
  while (condition != kNoValue && graph.value(condition).producer != kNone) {
    const Node& maker = graph.node(graph.value(condition).producer);
    if (!maker.helper || maker.operands.size() != 1 || maker.operands[0] == kNoValue) break;
    condition = maker.operands[0];
  }
  std::vector<int> inputs{condition};
  for (const graph::BlockId block : node.blocks) {
    const auto& returns = graph.block(block).returns;
    inputs.insert(inputs.end(), returns.begin(), returns.end());
  }
  std::erase(inputs, kNoValue);
  return inputs;
}

}  // namespace

std::vector<protocol::GraphValue> graphValues(const Graph& graph) {
  const auto stream = residualStreams(graph);
  std::vector<protocol::GraphValue> out;
  out.reserve(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const auto& value = graph.values[i];
    protocol::GraphValue item;
    item.id = static_cast<int>(i);
    item.name = value.name;
    item.dtype = value.dtype == graph::DType::Unknown ? "" : std::string(dtypeName(value.dtype));
    item.has_shape = value.shape.has_value();
    if (value.shape) item.shape = *value.shape;
    item.constant = isConstantLike(graph, static_cast<ValueId>(i));
    item.stream = stream[i];
    out.push_back(std::move(item));
  }
  return out;
}

Result<graph::ConstantId> constantOf(const Graph& graph, int value) {
  const bool known = value >= 0 && static_cast<size_t>(value) < graph.values.size();
  if (known && graph.value(value).constant != graph::kNone) return graph.value(value).constant;
  return fail(ErrorCode::Usage, "value " + std::to_string(value) + " is not a tensor of the file");
}

protocol::GraphDocument graphDocument(const Graph& graph, const analysis::Norms& norms) {
  protocol::GraphDocument document;
  std::map<NodeId, int> normOf;
  std::set<NodeId> rmsNorms;  // that are written out as single ops: where they end
  for (const auto& norm : norms.others) {
    if (norm.kind == OtherNormKind::RmsNorm) rmsNorms.insert(norm.node);
  }
  for (const auto& norm : norms.layerNorms) {
    for (const NodeId member : norm.members) normOf.emplace(member, norm.index);
  }
  std::vector<NodeId> order;
  addInOrder(graph, 0, order);
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    protocol::GraphNode item;
    item.id = id;
    item.op = node.op;
    item.label = analysis::opLabel(node);
    item.name = node.name;
    item.scope = node.scope;
    item.role = rmsNorms.contains(id) ? NodeClass::RmsNorm : roleOf(graph, node);
    item.helper = item.role == NodeClass::Helper;
    if (node.kind == OpKind::If) {
      item.inputs = inputsOfIf(graph, node);
    } else {
      std::ranges::copy_if(node.operands, std::back_inserter(item.inputs), [](ValueId v) { return v != kNoValue; });
    }
    item.outputs.assign(node.outputs.begin(), node.outputs.end());
    for (const auto& [name, value] : node.attributes) item.attributes.emplace_back(name, attributeText(value));
    item.source = node.source;
    if (const auto at = normOf.find(id); at != normOf.end()) {
      item.norm = at->second;
      if (norms.layerNorms[static_cast<size_t>(at->second)].node == id) item.role = NodeClass::LayerNorm;
    }
    document.nodes.push_back(std::move(item));
  }
  const auto outputName = [&](size_t i) {
    const bool isNamed = i < graph.outputNames.size() && !graph.outputNames[i].empty();
    return isNamed ? graph.outputNames[i] : "output " + std::to_string(i);
  };
  const auto ends = [&](const std::vector<ValueId>& values, NodeClass role, bool input) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == kNoValue) continue;
      protocol::GraphNode item;
      item.id = static_cast<int>(document.nodes.size());
      item.op = item.label = input ? graph.value(values[i]).name : outputName(i);
      item.role = role;
      (input ? item.outputs : item.inputs).push_back(values[i]);
      document.nodes.push_back(std::move(item));
    }
  };
  ends(graph.inputs(), NodeClass::Input, true);
  ends(graph.outputs(), NodeClass::Output, false);
  document.values = graphValues(graph);
  for (size_t i = 0; i < graph.scopes.size(); ++i) {
    const auto& scope = graph.scopes[i];
    document.scopes.push_back({static_cast<int>(i), scope.name, scope.path, scope.type, scope.parent});
  }
  return document;
}

}  // namespace normlens::service
