// If and Loop: blocks, and the values that pass in and out of them.
#include <algorithm>

#include "core/formats/torchscript/lower/lowering.h"

namespace normlens::formats::torchscript {
namespace {

using graph::kNoValue;
using graph::OpKind;

bool isTuple(const c10::TypePtr& type) { return type->kind() == c10::TypeKind::TupleType; }

}  // namespace

Operand Lowering::single(const Item& given, int programValue, const OperandSite& site, int forNode,
                         graph::BlockId into) {
  const Item item = asItIs(given);
  if (!item.list) return {item.value, site};
  std::vector<Operand> elements;
  flatten(item, site, elements);
  const int madeBy = item.list->madeBy == kNone ? forNode : item.list->madeBy;
  GraphNode made = startNode(madeBy, into);
  made.op = "prim::ListConstruct";
  made.helper = true;
  graph::Value whole;
  if (programValue == kNone) {
    whole.name = uniqueName("list", node(madeBy).frame);
  } else {
    whole = describe(programValue, nullptr);
  }
  const graph::NodeId id = addNode(std::move(made), madeBy, elements, {std::move(whole)}, {programValue});
  return {out_.graph.node(id).outputs[0], site};
}

void Lowering::addLeaves(const c10::TypePtr& type, Leaf leaf, std::vector<Leaf>& into) {
  if (!isTuple(type)) {
    into.push_back(std::move(leaf));
    return;
  }
  for (size_t i = 0; i < type->containedTypeSize(); ++i) {
    Leaf element = leaf;
    element.path.push_back(static_cast<int>(i));
    const bool seen = leaf.record != nullptr && i < leaf.record->elements.size();
    element.record = seen ? &leaf.record->elements[i] : nullptr;
    addLeaves(type->containedType(i), std::move(element), into);
  }
}

std::vector<Leaf> Lowering::leavesOf(const std::vector<int>& programValues, const Types& types) const {
  std::vector<Leaf> leaves;
  for (size_t i = 0; i < programValues.size(); ++i)
    addLeaves(types[i], {programValues[i], {}, recordOf(programValues[i])}, leaves);
  return leaves;
}

// A tuple that is one value, as a list of the results of a node that unpacks it.
Item Lowering::takeApart(const Item& item, size_t count, int forNode, graph::BlockId into) {
  GraphNode made = startNode(forNode, into);
  made.op = "prim::TupleUnpack";
  made.helper = true;
  std::vector<graph::Value> outputs(count);
  for (graph::Value& output : outputs) output.name = uniqueName("unpacked", node(forNode).frame);
  const std::vector<Operand> operands = {{item.value, {}}};
  const graph::NodeId id =
      addNode(std::move(made), forNode, operands, std::move(outputs), std::vector<int>(count, kNone));
  auto list = std::make_shared<ListState>();
  for (const graph::ValueId value : out_.graph.node(id).outputs) {
    list->elements.push_back({{value, nullptr}});
  }
  return {kNoValue, std::move(list)};
}

void Lowering::addLeafOperands(const c10::TypePtr& type, const Item& given, int programValue, const OperandSite& site,
                               int forNode, graph::BlockId into, std::vector<Operand>& operands) {
  const Item item = asItIs(given);
  if (!isTuple(type)) {
    operands.push_back(single(item, programValue, site, forNode, into));
    return;
  }
  const size_t count = type->containedTypeSize();
  const bool known = item.list && item.list->elements.size() == count;
  const Item parts = known ? item : takeApart(item, count, forNode, into);
  for (size_t i = 0; i < count; ++i) {
    const auto& [part, partSite, key] = parts.list->elements[i];
    addLeafOperands(type->containedType(i), part, programValue, partSite, forNode, into, operands);
  }
}

Item Lowering::assemble(const c10::TypePtr& type, std::span<const graph::ValueId> values, size_t& next, int block) {
  if (!isTuple(type)) return {values[next++], nullptr};
  auto list = std::make_shared<ListState>();
  list->block = block;
  for (size_t i = 0; i < type->containedTypeSize(); ++i) {
    list->elements.push_back({assemble(type->containedType(i), values, next, block)});
  }
  return {kNoValue, std::move(list)};
}

graph::NodeId Lowering::addNode(GraphNode made, int programNode, const std::vector<Operand>& operands,
                                const std::vector<Leaf>& leaves) {
  std::vector<graph::Value> outputs;
  std::vector<int> owners;
  for (const Leaf& leaf : leaves) {
    outputs.push_back(describe(leaf.programValue, leaf.record));
    owners.push_back(leaf.programValue);
  }
  return addNode(std::move(made), programNode, operands, std::move(outputs), owners);
}

void Lowering::bindLeaves(const std::vector<int>& programValues, const Types& types, const std::vector<Leaf>& leaves,
                          std::span<const graph::ValueId> values, int block) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<size_t>(values[i]);
    out_.elementPath.resize(std::max(out_.elementPath.size(), value + 1));
    out_.elementPath[value] = leaves[i].path;
    if (leaves[i].path.empty()) out_.graphValue[static_cast<size_t>(leaves[i].programValue)] = values[i];
  }
  size_t next = 0;
  for (size_t i = 0; i < programValues.size(); ++i)
    items_[static_cast<size_t>(programValues[i])] = assemble(types[i], values, next, block);
}

Lowering::Types Lowering::typesOf(const std::vector<int>& programValues) const {
  Types types;
  for (const int value : programValues) types.push_back(program_.value(value).value->type());
  return types;
}

void Lowering::lowerIf(int id, graph::BlockId into) {
  const ProgramNode& at = node(id);
  freezeGrowingLists(id, into);
  GraphNode made = startNode(id, into);
  made.kind = OpKind::If;
  made.helper = at.guard;
  const Types types = typesOf(at.outputs);
  const std::vector<Leaf> leaves = leavesOf(at.outputs, types);
  const graph::NodeId self = addNode(std::move(made), id, operandsOf(id, 0), leaves);
  for (const int block : at.blocks) {
    const graph::BlockId branch = out_.graph.addBlock(self);
    lowerBlock(block, branch);
    addReturns(program_.block(block), types, id, branch);  // a guard's have none
  }
  const auto outputs = out_.graph.node(self).outputs;
  bindLeaves(at.outputs, types, leaves, outputs, at.block);
}

void Lowering::lowerLoop(int id, graph::BlockId into) {
  const ProgramNode& at = node(id);
  freezeGrowingLists(id, into);
  const ProgramBlock& from = program_.block(at.blocks[0]);
  // The structure is decided by what the body is given: trip count or condition, then the carried values.
  const Types types = typesOf(at.outputs);
  Types inBody = types;
  inBody.insert(inBody.begin(), c10::IntType::get());
  std::vector<Operand> operands;
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    addLeafOperands(inBody[i == 0 ? 0 : i - 1], itemOf(at.inputs[i]), at.inputs[i],
                    {at.frame, at.node, static_cast<int>(i), at.inputs[i]}, id, into, operands);
  }
  const std::vector<Leaf> leaves = leavesOf(at.outputs, types);
  GraphNode made = startNode(id, into);
  made.kind = OpKind::Loop;
  const graph::NodeId self = addNode(std::move(made), id, operands, leaves);
  const graph::BlockId body = out_.graph.addBlock(self);
  const std::vector<Leaf> paramLeaves = leavesOf(from.params, inBody);
  std::vector<graph::ValueId> params;
  for (const Leaf& leaf : paramLeaves) {
    params.push_back(out_.graph.addParam(body, describe(leaf.programValue, leaf.record)));
    out_.programValue.push_back(leaf.programValue);
  }
  bindLeaves(from.params, inBody, paramLeaves, params, at.blocks[0]);
  lowerBlock(at.blocks[0], body);
  addReturns(from, inBody, id, body);
  const auto outputs = out_.graph.node(self).outputs;
  bindLeaves(at.outputs, types, leaves, outputs, at.block);
}

void Lowering::addReturns(const ProgramBlock& from, const Types& types, int forNode, graph::BlockId block) {
  std::vector<Operand> results;
  for (size_t i = 0; i < from.returns.size(); ++i) {
    const OperandSite site{from.frame, from.block->return_node(), static_cast<int>(i), from.returns[i]};
    addLeafOperands(types[i], itemOf(from.returns[i]), from.returns[i], site, forNode, block, results);
  }
  for (const Operand& result : results) addReturn(block, result);
}

}  // namespace normlens::formats::torchscript
