#include "core/formats/torchscript/lower/lower.h"

#include <ATen/ExpandUtils.h>

#include <algorithm>
#include <array>

#include "core/formats/torchscript/lower/lowering.h"
#include "core/formats/torchscript/lower/op_rule.h"
#include "core/graph/debug_check.h"
#include "core/graph/repeated_blocks.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
using graph::kNoValue;
using graph::OpKind;

bool isNumberType(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::NoneType:
      return true;
    case c10::TypeKind::ListType:
      return isNumberType(type->containedType(0));
    default:
      return false;
  }
}

bool isOneNumber(const c10::Type& type) {
  return type.kind() == c10::TypeKind::IntType || type.kind() == c10::TypeKind::FloatType ||
         type.kind() == c10::TypeKind::BoolType;
}

// Arithmetic that a tracer writes with tensors where the model had integers (sizes).
bool isSizeArithmetic(std::string_view op) {
  constexpr std::array<std::string_view, 14> kOps = {
      "prim::NumToTensor", "aten::Int",          "aten::add",       "aten::sub",           "aten::mul",
      "aten::div",         "aten::floor_divide", "aten::remainder", "aten::rsub",          "aten::neg",
      "aten::floor",       "aten::to",           "aten::detach",    "aten::ScalarImplicit"};
  return std::ranges::find(kOps, op) != kOps.end();
}

// "model.py:123" of where the op was written.
std::string sourceOf(const torch::jit::Node* node) {
  const auto place = node->sourceRange().file_line_col();
  if (!place) return {};
  const auto& [file, line, column] = *place;
  const size_t slash = file.rfind('/');
  return (slash == std::string::npos ? file : file.substr(slash + 1)) + ":" + std::to_string(line);
}

bool isTuple(const c10::TypePtr& type) { return type->kind() == c10::TypeKind::TupleType; }

}  // namespace

Lowering::Lowering(const Program& program, const ProbeRecords* records)
    : program_(program),
      records_(records),
      items_(program.values.size()),
      constants_(program.constants.size(), kNoValue),
      readers_(program.values.size()),
      scopeOfFrame_(program.frames.size(), graph::kNone),
      rewrittenAs_(program.values.size(), kNone) {
  out_.graphValue.assign(program.values.size(), kNoValue);
  out_.returnSites.resize(1);
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    for (const int v : program.nodes[i].inputs) readers_[static_cast<size_t>(v)].push_back(static_cast<int>(i));
  }
  for (const ProgramBlock& block : program.blocks) {
    for (const int v : block.returns) readers_[static_cast<size_t>(v)].push_back(kNone);
  }
}

Lowered Lowering::run() {
  if (!program_.frames.empty()) out_.graph.scopes[0].type = program_.frames[0].className;
  const auto& params = program_.blocks[0].params;
  for (size_t i = 0; i < params.size(); ++i) {
    const int param = params[i];
    graph::Value made = describe(param, recordOf(param), program_.inputs[i].name);
    if (isOneNumber(*program_.value(param).value->type())) made.declared.emplace();
    if (const auto& declared = program_.inputs[i].declared) made.declared = declared->sizes;
    const graph::ValueId id = out_.graph.addParam(0, std::move(made));
    items_[static_cast<size_t>(param)] = Item{id, nullptr};
    out_.programValue.push_back(param);
    out_.graphValue[static_cast<size_t>(param)] = id;
  }
  lowerBlock(0, 0);
  addResults();
  out_.elementPath.resize(out_.programValue.size());
  graph::groupRepeatedBlocks(out_.graph);
  return std::move(out_);
}

// Nested tuples, lists and dicts one after the other; what is in a dict has its key for a name.
void Lowering::addResults() {
  const ProgramBlock& top = program_.blocks[0];
  for (size_t i = 0; i < top.returns.size(); ++i) {
    std::vector<Operand> results;
    const OperandSite site{0, top.block->return_node(), static_cast<int>(i), top.returns[i]};
    flatten(itemOf(top.returns[i]), site, results);
    std::vector<std::string> names;
    addNames(itemOf(top.returns[i]), {}, false, names);
    for (size_t k = 0; k < results.size(); ++k) {
      if (results[k].value == kNoValue) continue;
      out_.graph.outputNames.push_back(names[k]);
      addReturn(0, results[k]);
    }
  }
  if (program_.outputNames.size() == out_.graph.outputNames.size()) out_.graph.outputNames = program_.outputNames;
}

void Lowering::addReturn(graph::BlockId block, const Operand& operand) {
  out_.graph.addReturn(block, operand.value);
  if (out_.returnSites.size() <= static_cast<size_t>(block)) out_.returnSites.resize(static_cast<size_t>(block) + 1);
  out_.returnSites[static_cast<size_t>(block)].push_back(operand.site);
}

void Lowering::lowerBlock(int block, graph::BlockId into) {
  for (const int id : program_.block(block).nodes) {
    lowerNode(id, into);
    applyRename(id);
  }
}

void Lowering::applyRename(int id) {
  for (const int renamed : program_.inPlace.renamed[static_cast<size_t>(id)]) {
    const int output = node(id).outputs[0];
    items_[static_cast<size_t>(renamed)] = itemOf(output);
    rewrittenAs_[static_cast<size_t>(renamed)] = output;
  }
}

void Lowering::lowerNode(int id, graph::BlockId into) {
  const auto kind = node(id).node->kind();
  if (kind == prim::If) return lowerIf(id, into);
  if (kind == prim::Loop) return lowerLoop(id, into);
  if (!lowerContainer(id, into)) lowerOp(id, into);
}

graph::ScopeId Lowering::scopeOf(int frame) {
  graph::ScopeId& known = scopeOfFrame_[static_cast<size_t>(frame)];
  if (known == graph::kNone) known = scopeAt(program_.frame(frame).path);
  return known;
}

graph::ScopeId Lowering::scopeAt(const std::string& path) {
  graph::ScopeId scope = 0;
  c10::IValue object = program_.frames[0].self;
  for (size_t start = 0; start < path.size();) {
    const size_t dot = std::min(path.find('.', start), path.size());
    const std::string name = path.substr(start, dot - start);
    const bool known2 = object.isObject() && object.toObjectRef().type()->hasAttribute(name);
    object = known2 ? object.toObject()->getAttr(name) : c10::IValue();
    const auto [found, isNew] = scopes_.try_emplace(path.substr(0, dot), graph::kNone);
    if (isNew) {
      const auto type = object.isObject() ? object.toObjectRef().type()->name() : std::nullopt;
      found->second = out_.graph.addScope(scope, name, type ? type->name() : "");
    }
    scope = found->second;
    start = dot + 1;
  }
  return scope;
}

Lowering::GraphNode Lowering::startNode(int programNode, graph::BlockId into) {
  const ProgramNode& at = node(programNode);
  GraphNode made;
  made.op = at.node->kind().toQualString();
  made.name = program_.moduleOf(*at.node, at.frame);
  made.scope = made.name == program_.frame(at.frame).path ? scopeOf(at.frame) : scopeAt(made.name);
  made.block = into;
  made.source = sourceOf(at.node);
  return made;
}

graph::NodeId Lowering::addNode(GraphNode made, int programNode, const std::vector<Operand>& operands,
                                std::vector<graph::Value> outputs, const std::vector<int>& outputValues) {
  std::vector<OperandSite> sites;
  for (const Operand& operand : operands) {
    made.operands.push_back(operand.value);
    sites.push_back(operand.site);
  }
  const graph::NodeId id = out_.graph.addNode(std::move(made), std::move(outputs));
  sizes_.added(out_.graph.node(id));
  out_.programNode.push_back(programNode);
  out_.operandSites.push_back(std::move(sites));
  out_.programValue.insert(out_.programValue.end(), outputValues.begin(), outputValues.end());
  return id;
}

// Counts the elements that the readers of a list take from it, when they do nothing else with it.
std::optional<size_t> Lowering::elementsTakenFrom(int listValue) const {
  size_t count = 0;
  for (const int reader : readers_[static_cast<size_t>(listValue)]) {
    if (reader == kNone) return std::nullopt;
    const ProgramNode& at = node(reader);
    if (at.node->kind() == prim::ListUnpack) {
      count = std::max(count, at.outputs.size());
    } else if (at.node->kind() == c10::aten::__getitem__) {
      const auto& index = program_.value(at.inputs[1]).known;
      if (!index || !index->isInt() || index->toInt() < 0) return std::nullopt;
      count = std::max(count, static_cast<size_t>(index->toInt()) + 1);
    } else {
      return std::nullopt;
    }
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

bool Lowering::readsBookkeepingOnly(const std::vector<Operand>& operands) const {
  bool any = false;
  for (const Operand& operand : operands) {
    if (operand.value == kNoValue) continue;
    const graph::Value& value = out_.graph.value(operand.value);
    if (value.constant != graph::kNone || value.literal) continue;
    if (value.producer == graph::kNone || !out_.graph.node(value.producer).helper) return false;
    any = true;
  }
  return any;
}

void Lowering::lowerOp(int id, graph::BlockId into) {
  const ProgramNode& at = node(id);
  const std::string_view name = at.node->kind().toQualString();
  const OpRule* rule = findOpRule(name);
  OpContext context(*this, id, rule, into);
  if (rule != nullptr) rule->fill(context);
  // An overload whose arguments have other names than the rule reads: what it reads must not be missed.
  const auto present = std::ranges::find(context.operands, kNoValue, &Operand::value) - context.operands.begin();
  if (static_cast<size_t>(present) < graph::requiredOperands(context.kind)) context.kind = OpKind::Opaque;
  if (context.kind == OpKind::Opaque) context.allOperands();
  context.addRemainingLiterals();

  GraphNode made = startNode(id, into);
  made.kind = context.kind;
  made.function = context.function;
  if (!context.module().empty()) {
    made.name = context.module();
    made.scope = scopeAt(context.module());
  }
  made.attributes = std::move(context.attributes);
  const bool onlyNumbers = std::ranges::all_of(
      at.node->outputs(), [](const torch::jit::Value* output) { return isNumberType(output->type()); });
  made.helper = (onlyNumbers && !at.outputs.empty()) || name == "prim::NumToTensor" || name == "aten::size" ||
                name == "prim::RaiseException" || name == "prim::Uninitialized" || name == "aten::warn" ||
                (isSizeArithmetic(name) && readsBookkeepingOnly(context.operands));

  std::vector<graph::Value> outputs;
  std::vector<int> outputValues;
  std::vector<size_t> counts;  // per program output: elements it was taken apart into; 0: one value
  const size_t first = context.outputsInParts();
  for (size_t o = first; o < at.outputs.size(); ++o) {
    const int value = at.outputs[o];
    const auto count = context.mayTakeListApart ? elementsTakenFrom(value) : std::nullopt;
    const ValueRecord* record = recordOf(value);
    for (size_t i = 0; i < count.value_or(1); ++i) {
      const bool seen = record != nullptr && i < record->elements.size();
      outputs.push_back(describe(value, !count ? record : seen ? &record->elements[i] : nullptr));
      outputValues.push_back(value);
    }
    counts.push_back(count.value_or(0));
  }
  // A rule that relies on separate outputs cannot hold where the list stays whole.
  if (context.mayTakeListApart && std::ranges::find(counts, size_t{0}) != counts.end()) made.kind = OpKind::Opaque;
  bindOutputs(id, addNode(std::move(made), id, context.operands, std::move(outputs), outputValues), first, counts);
}

Operand Lowering::addPart(int id, graph::BlockId into, OpPart part, const std::vector<Operand>& operands) {
  const ProgramNode& at = node(id);
  GraphNode made = startNode(id, into);
  made.kind = part.kind;
  if (const OpRule* rule = findOpRule(part.op)) made.function = rule->function;
  made.op = std::move(part.op);
  made.attributes = std::move(part.attributes);
  if (part.firstOutput) {
    const int value = at.outputs[0];
    const auto sum = addNode(std::move(made), id, operands, {describe(value, recordOf(value))}, {value});
    bindOutputs(id, sum, 0, {0});
    return {out_.graph.node(sum).outputs[0], {}};
  }
  graph::Value inside;
  inside.name = uniqueName(at.node->output(0)->debugName() + ".part", at.frame);
  const graph::Value& x = out_.graph.value(operands[0].value);
  inside.dtype = x.dtype;
  inside.shape = x.shape;
  for (const Operand& other : std::span(operands).subspan(1)) {
    const auto& shape = out_.graph.value(other.value).shape;
    const bool known = inside.shape && shape && at::are_expandable(*inside.shape, *shape);
    inside.shape = known ? std::optional(at::infer_size(*inside.shape, *shape)) : std::nullopt;
  }
  for (const int64_t axis : graph::intsAttribute(made, "axes").value_or(std::vector<int64_t>{})) {
    if (inside.shape) inside.shape->at(static_cast<size_t>(axis)) = 1;
  }
  const auto inner = addNode(std::move(made), id, operands, {std::move(inside)}, {kNone});
  return {out_.graph.node(inner).outputs[0], {}};
}

void Lowering::bindOutputs(int id, graph::NodeId made, size_t first, const std::vector<size_t>& counts) {
  const ProgramNode& at = node(id);
  size_t next = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto value = static_cast<size_t>(at.outputs[first + i]);
    const auto& outputs = out_.graph.node(made).outputs;
    if (counts[i] == 0) {
      out_.graphValue[value] = outputs[next];
      items_[value] = Item{outputs[next++], nullptr};
      continue;
    }
    auto list = std::make_shared<ListState>();
    list->block = at.block;
    list->madeBy = id;
    for (size_t k = 0; k < counts[i]; ++k) list->elements.push_back({{outputs[next++], nullptr}});
    items_[value] = Item{kNoValue, std::move(list)};
  }
}

Lowered lowerProgram(const Program& program, const ProbeRecords* records) {
  Lowered lowered = Lowering(program, records).run();
  graph::requireSound(lowered.graph, "the reader of TorchScript");
  return lowered;
}

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
