#include "core/graph/graph.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ranges>

namespace normlens::graph {
namespace {

struct Row {
  std::string_view name;
  size_t required;  // operands, from the first one on, without which the node means nothing
};

constexpr std::array<Row, static_cast<size_t>(OpKind::Count_)> kRows = {{
    {"Opaque", 0},    {"Identity", 1},   {"Cast", 1},        {"Neg", 1},       {"Add", 2},        {"Sub", 2},
    {"Mul", 2},       {"Div", 2},        {"Elementwise", 1}, {"Where", 3},     {"MaskedFill", 3}, {"Reshape", 1},
    {"Permute", 1},   {"Rearrange", 1},  {"Expand", 1},      {"Slice", 1},     {"Select", 1},     {"Split", 1},
    {"Unbind", 1},    {"Concat", 1},     {"Stack", 1},       {"Roll", 1},      {"Pad", 1},        {"Gather", 2},
    {"Scatter", 2},   {"MaskedCopy", 3}, {"Linear", 2},      {"MatMul", 2},    {"AddMatMul", 3},  {"Einsum", 1},
    {"Conv", 2},      {"Attention", 3},  {"Recurrent", 1},   {"LayerNorm", 1}, {"GroupNorm", 1},  {"InstanceNorm", 1},
    {"BatchNorm", 1}, {"RmsNorm", 1},    {"Softmax", 1},     {"Reduce", 1},    {"Mix", 1},        {"ShapeQuery", 0},
    {"If", 0},        {"Loop", 0},
}};
static_assert(kRows.back().name == "Loop", "one row per kind");

constexpr std::array<std::string_view, static_cast<size_t>(Function::Count_)> kNames = {
    "Other",   "Square", "Power", "SquareRoot", "InverseSquareRoot", "Reciprocal", "Relu",
    "Maximum", "Step",   "Cast",  "Unsqueeze",  "Product",           "Sizes"};
static_assert(kNames.back() == "Sizes", "one name per function");

template <class T>
std::optional<T> find(const Node& node, std::string_view name) {
  for (const auto& [key, value] : node.attributes) {
    if (key != name) continue;
    if (const auto* found = std::get_if<T>(&value)) return *found;
    return std::nullopt;
  }
  return std::nullopt;
}

template <class T>
int32_t idOfNext(const std::vector<T>& items) {
  return static_cast<int32_t>(items.size());
}

}  // namespace

std::string_view opKindName(OpKind kind) { return kRows.at(static_cast<size_t>(kind)).name; }

size_t requiredOperands(OpKind kind) { return kRows.at(static_cast<size_t>(kind)).required; }

std::string_view functionName(Function function) { return kNames.at(static_cast<size_t>(function)); }

Graph::Graph() {
  scopes.emplace_back();
  blocks.emplace_back();
}

ValueId Graph::addValue(Value value) {
  const ValueId id = idOfNext(values);
  values.push_back(std::move(value));
  return id;
}

ValueId Graph::addConstant(Constant constant) {
  Value value;
  value.name = constant.name;
  value.dtype = constant.view.dtype;
  value.shape = constant.view.shape;
  value.constant = idOfNext(constants);
  constants.push_back(std::move(constant));
  return addValue(std::move(value));
}

ValueId Graph::addLiteral(double number) {
  Value value;
  value.name = "literal." + std::to_string(values.size());
  value.shape = Shape{};
  value.literal = number;
  return addValue(std::move(value));
}

ValueId Graph::addParam(BlockId block, Value value) {
  auto& params = blocks[static_cast<size_t>(block)].params;
  value.paramOf = block;
  value.param = static_cast<int>(params.size());
  const ValueId id = addValue(std::move(value));
  params.push_back(id);
  return id;
}

BlockId Graph::addBlock(NodeId owner) {
  const BlockId id = idOfNext(blocks);
  Block block;
  block.owner = owner;
  blocks.push_back(std::move(block));
  nodes[static_cast<size_t>(owner)].blocks.push_back(id);
  return id;
}

ScopeId Graph::addScope(ScopeId parent, std::string name, std::string type) {
  const ScopeId id = idOfNext(scopes);
  const std::string& above = scope(parent).path;
  Scope child;
  child.path = above.empty() ? name : above + "." + name;
  child.name = std::move(name);
  child.type = std::move(type);
  child.parent = parent;
  scopes.push_back(std::move(child));
  return id;
}

NodeId Graph::addNode(Node node, std::vector<Value> outputs) {
  const NodeId id = idOfNext(nodes);
  for (size_t i = 0; i < requiredOperands(node.kind); ++i) {
    if (operandAt(node, i) == kNoValue) node.kind = OpKind::Opaque;
  }
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i] == kNoValue) continue;
    values[static_cast<size_t>(node.operands[i])].uses.push_back({id, static_cast<int>(i), kNone});
  }
  node.outputs.clear();
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].producer = id;
    outputs[i].output = static_cast<int>(i);
    node.outputs.push_back(addValue(std::move(outputs[i])));
  }
  blocks[static_cast<size_t>(node.block)].nodes.push_back(id);
  nodes.push_back(std::move(node));
  return id;
}

void Graph::addReturn(BlockId block, ValueId value) {
  auto& returns = blocks[static_cast<size_t>(block)].returns;
  if (value != kNoValue) {
    values[static_cast<size_t>(value)].uses.push_back({kNone, static_cast<int>(returns.size()), block});
  }
  returns.push_back(value);
}

std::vector<NodeId> Graph::executionOrder() const {
  if (blocks.size() == 1) return blocks[0].nodes;
  std::vector<NodeId> order;
  order.reserve(nodes.size());
  struct Cursor {
    BlockId block;
    size_t next;
  };
  std::vector<Cursor> stack{{0, 0}};
  while (!stack.empty()) {
    auto& [id, next] = stack.back();
    if (next == block(id).nodes.size()) {
      stack.pop_back();
      continue;
    }
    const NodeId current = block(id).nodes[next++];
    order.push_back(current);
    const auto& inner = node(current).blocks;
    for (const BlockId inside : std::views::reverse(inner)) stack.push_back({inside, 0});
  }
  return order;
}

ValueId operandAt(const Node& node, size_t index) {
  return index < node.operands.size() ? node.operands[index] : kNoValue;
}

std::optional<int64_t> intAttribute(const Node& node, std::string_view name) { return find<int64_t>(node, name); }
std::optional<double> floatAttribute(const Node& node, std::string_view name) { return find<double>(node, name); }
std::optional<std::vector<int64_t>> intsAttribute(const Node& node, std::string_view name) {
  return find<std::vector<int64_t>>(node, name);
}
std::optional<std::string> stringAttribute(const Node& node, std::string_view name) {
  return find<std::string>(node, name);
}
bool boolAttribute(const Node& node, std::string_view name, bool otherwise) {
  return find<bool>(node, name).value_or(otherwise);
}

}  // namespace normlens::graph
