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
  if (item.kind != Item::Kind::List) return {item.kind == Item::Kind::Value ? item.value : kNoValue, site};
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

std::vector<Leaf> Lowering::leavesOf(int programValue) const {
  std::vector<Leaf> leaves;
  addLeaves(program_.values[static_cast<size_t>(programValue)].value->type(),
            {programValue, {}, recordOf(programValue)}, leaves);
  return leaves;
}

// A tuple that is one value, as a list of the results of a node that unpacks it.
Item Lowering::takeApart(const Item& item, size_t count, int forNode, graph::BlockId into) {
  GraphNode made = startNode(forNode, into);
  made.op = "prim::TupleUnpack";
  made.helper = true;
  std::vector<graph::Value> outputs(count);
  for (graph::Value& output : outputs) output.name = uniqueName("unpacked", node(forNode).frame);
  const std::vector<Operand> operands = {{item.kind == Item::Kind::Value ? item.value : kNoValue, {}}};
  const graph::NodeId id =
      addNode(std::move(made), forNode, operands, std::move(outputs), std::vector<int>(count, kNone));
  auto list = std::make_shared<ListState>();
  for (const graph::ValueId value : out_.graph.node(id).outputs) {
    list->elements.push_back({Item::Kind::Value, value, nullptr});
    list->sites.push_back({});
  }
  return {Item::Kind::List, kNoValue, std::move(list)};
}

void Lowering::addLeafOperands(const c10::TypePtr& type, const Item& given, int programValue, const OperandSite& site,
                               int forNode, graph::BlockId into, std::vector<Operand>& operands) {
  const Item item = asItIs(given);
  if (!isTuple(type)) {
    operands.push_back(single(item, programValue, site, forNode, into));
    return;
  }
  const size_t count = type->containedTypeSize();
  const bool known = item.kind == Item::Kind::List && item.list->elements.size() == count;
  const Item parts = known ? item : takeApart(item, count, forNode, into);
  for (size_t i = 0; i < count; ++i)
    addLeafOperands(type->containedType(i), parts.list->elements[i], programValue, parts.list->sites[i], forNode, into,
                    operands);
}

Item Lowering::assemble(const c10::TypePtr& type, std::span<const graph::ValueId> values, size_t& next, int block) {
  if (!isTuple(type)) return {Item::Kind::Value, values[next++], nullptr};
  auto list = std::make_shared<ListState>();
  list->block = block;
  for (size_t i = 0; i < type->containedTypeSize(); ++i) {
    list->elements.push_back(assemble(type->containedType(i), values, next, block));
    list->sites.push_back({});
  }
  return {Item::Kind::List, kNoValue, std::move(list)};
}

std::vector<graph::Value> Lowering::describeLeaves(const std::vector<Leaf>& leaves) {
  std::vector<graph::Value> values;
  for (const Leaf& leaf : leaves) values.push_back(describe(leaf.programValue, leaf.record));
  return values;
}

void Lowering::noteLeaves(std::span<const graph::ValueId> values, const std::vector<Leaf>& leaves) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<size_t>(values[i]);
    out_.elementPath.resize(std::max(out_.elementPath.size(), value + 1));
    out_.elementPath[value] = leaves[i].path;
    if (leaves[i].path.empty()) out_.graphValue[static_cast<size_t>(leaves[i].programValue)] = values[i];
  }
}

void Lowering::bindLeaves(const std::vector<int>& programValues, std::span<const graph::ValueId> values, int block) {
  size_t next = 0;
  for (const int value : programValues) {
    const auto index = static_cast<size_t>(value);
    items_[index] = assemble(program_.values[index].value->type(), values, next, block);
  }
}

namespace {

std::vector<int> ownersOf(const std::vector<Leaf>& leaves) {
  std::vector<int> owners;
  for (const Leaf& leaf : leaves) owners.push_back(leaf.programValue);
  return owners;
}

}  // namespace

void Lowering::lowerIf(int id, graph::BlockId into) {
  const ProgramNode& at = node(id);
  freezeGrowingLists(id, into);
  GraphNode made = startNode(id, into);
  made.kind = OpKind::If;
  made.helper = at.guard;
  std::vector<Leaf> leaves;
  for (const int value : at.outputs) {
    const auto more = leavesOf(value);
    leaves.insert(leaves.end(), more.begin(), more.end());
  }
  const graph::NodeId self = addNode(std::move(made), id, operandsOf(id, 0), describeLeaves(leaves), ownersOf(leaves));
  for (const int block : at.blocks) {
    const graph::BlockId branch = out_.graph.addBlock(self);
    lowerBlock(block, branch);
    const ProgramBlock& from = program_.blocks[static_cast<size_t>(block)];
    std::vector<Operand> results;
    for (size_t i = 0; i < from.returns.size() && !at.guard; ++i) {
      const OperandSite site{from.frame, from.block->return_node(), static_cast<int>(i)};
      addLeafOperands(program_.values[static_cast<size_t>(at.outputs[i])].value->type(), itemOf(from.returns[i]),
                      from.returns[i], site, id, branch, results);
    }
    for (const Operand& result : results) addReturn(branch, result);
  }
  const auto outputs = out_.graph.node(self).outputs;
  noteLeaves(outputs, leaves);
  bindLeaves(at.outputs, outputs, at.block);
}

void Lowering::lowerLoop(int id, graph::BlockId into) {
  const ProgramNode& at = node(id);
  freezeGrowingLists(id, into);
  const ProgramBlock& from = program_.blocks[static_cast<size_t>(at.blocks[0])];
  // What the body is given decides the structure: trip count and condition, then the carried values.
  const auto typeOf = [&](int value) { return program_.values[static_cast<size_t>(value)].value->type(); };
  std::vector<Operand> operands;
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    const auto type = i < 2 ? c10::TypePtr(c10::IntType::get()) : typeOf(at.outputs[i - 2]);
    addLeafOperands(type, itemOf(at.inputs[i]), at.inputs[i], {at.frame, at.node, static_cast<int>(i)}, id, into,
                    operands);
  }
  std::vector<Leaf> leaves;
  for (const int value : at.outputs) {
    const auto more = leavesOf(value);
    leaves.insert(leaves.end(), more.begin(), more.end());
  }
  GraphNode made = startNode(id, into);
  made.kind = OpKind::Loop;
  const graph::NodeId self = addNode(std::move(made), id, operands, describeLeaves(leaves), ownersOf(leaves));
  const graph::BlockId body = out_.graph.addBlock(self);
  std::vector<Leaf> paramLeaves;
  for (size_t i = 0; i < from.params.size(); ++i) {
    const auto type = i == 0 ? typeOf(from.params[0]) : typeOf(at.outputs[i - 1]);
    addLeaves(type, {from.params[i], {}, recordOf(from.params[i])}, paramLeaves);
  }
  std::vector<graph::ValueId> params;
  for (const Leaf& leaf : paramLeaves) {
    params.push_back(out_.graph.addParam(body, describe(leaf.programValue, leaf.record)));
    out_.programValue.push_back(leaf.programValue);
  }
  noteLeaves(params, paramLeaves);
  size_t next = 0;
  for (size_t i = 0; i < from.params.size(); ++i) {
    const auto type = i == 0 ? typeOf(from.params[0]) : typeOf(at.outputs[i - 1]);
    items_[static_cast<size_t>(from.params[i])] = assemble(type, params, next, at.blocks[0]);
  }
  lowerBlock(at.blocks[0], body);
  std::vector<Operand> results;
  for (size_t i = 0; i < from.returns.size(); ++i) {
    const OperandSite site{from.frame, from.block->return_node(), static_cast<int>(i)};
    const auto type = i == 0 ? c10::TypePtr(c10::BoolType::get()) : typeOf(at.outputs[i - 1]);
    addLeafOperands(type, itemOf(from.returns[i]), from.returns[i], site, id, body, results);
  }
  for (const Operand& result : results) addReturn(body, result);
  const auto outputs = out_.graph.node(self).outputs;
  noteLeaves(outputs, leaves);
  bindLeaves(at.outputs, outputs, at.block);
}

}  // namespace normlens::formats::torchscript
