// Turns program values into graph values, constants, literals and followed lists.
#include <algorithm>

#include "core/formats/torchscript/lower/lowering.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
using graph::kNoValue;

bool isNumber(const c10::IValue& value) { return value.isInt() || value.isDouble() || value.isBool(); }

}  // namespace

const ValueRecord* Lowering::recordOf(int value) const {
  if (records_ == nullptr) return nullptr;
  const int rewritten = rewrittenAs_[static_cast<size_t>(value)];  // unsqueeze_ changes the shape, too
  const ValueRecord& record = records_->values[static_cast<size_t>(rewritten == kNone ? value : rewritten)];
  return record.kind == ValueRecord::Kind::Unseen ? nullptr : &record;
}

std::string Lowering::uniqueName(const std::string& wanted, int frame) {
  if (names_.emplace(wanted, 0).second) return wanted;
  const std::string& path = program_.frame(frame).path;
  const std::string scoped = path.empty() ? wanted : path + "/" + wanted;
  if (names_.emplace(scoped, 0).second) return scoped;
  while (true) {
    std::string numbered = scoped + "#" + std::to_string(++names_[scoped]);
    if (names_.emplace(numbered, 0).second) return numbered;
  }
}

// A graph value for a program value, or for one element of a list value (then `record` is the element's).
graph::Value Lowering::describe(int programValue, const ValueRecord* record) {
  const ProgramValue& from = program_.value(programValue);
  return describe(programValue, record, from.value == nullptr ? "value" : from.value->debugName());
}

graph::Value Lowering::describe(int programValue, const ValueRecord* record, const std::string& name) {
  graph::Value value;
  value.name = uniqueName(name, program_.value(programValue).frame);
  value.opaqueReason = program_.inPlace.opaqueReason[static_cast<size_t>(programValue)];
  if (record != nullptr && (record->kind == ValueRecord::Kind::Tensor || record->kind == ValueRecord::Kind::Scalar)) {
    value.dtype = record->dtype;
    value.shape = record->shape;
  }
  return value;
}

std::string Lowering::moduleHolding(int value) const {
  const ProgramValue& from = program_.value(value);
  if (from.constant == kNone) return {};
  const auto& sites = program_.constants[static_cast<size_t>(from.constant)].sites;
  const TensorSite& site = sites.at(static_cast<size_t>(from.site));
  const size_t dot = site.path.rfind('.');
  return site.owner && dot != std::string::npos ? site.path.substr(0, dot) : std::string();
}

graph::ValueId Lowering::constantValue(int programValue) {
  const int index = program_.value(programValue).constant;
  graph::ValueId& known = constants_[static_cast<size_t>(index)];
  if (known != kNoValue) return known;
  const ConstantTensor& from = program_.constants[static_cast<size_t>(index)];
  graph::Constant constant;
  constant.name = uniqueName(from.sites[0].path, 0);
  for (size_t i = 1; i < from.sites.size(); ++i) {
    const std::string& alias = from.sites[i].path;
    const bool listed =
        alias == from.sites[0].path || std::ranges::find(constant.aliases, alias) != constant.aliases.end();
    if (!listed) constant.aliases.push_back(alias);
  }
  constant.view = viewOf(from.tensor);
  constant.volatileReason = from.volatileReason;
  const bool readable = constant.view.data != nullptr || graph::elementCount(constant.view.shape) == 0;
  if (constant.volatileReason.empty() && !readable)
    constant.volatileReason = "its elements do not lie in memory as numbers that could be edited";
  known = out_.graph.addConstant(std::move(constant));
  out_.programConstant.push_back(index);
  out_.programValue.push_back(programValue);
  return known;
}

graph::ValueId Lowering::literalValue(const c10::IValue& number) {
  const at::Scalar scalar = number.toScalar();
  const graph::ValueId id = out_.graph.addLiteral(scalar.toDouble());
  graph::Value& made = out_.graph.values[static_cast<size_t>(id)];
  made.name = uniqueName("literal." + std::to_string(id), 0);
  made.dtype = dtypeOf(scalar.type());
  out_.programValue.push_back(kNone);
  return id;
}

Item Lowering::itemOfKnown(int programValue) {
  const ProgramValue& value = program_.value(programValue);
  if (value.constant == kNone) return {isNumber(*value.known) ? literalValue(*value.known) : kNoValue, nullptr};
  return {out_.graphValue[static_cast<size_t>(programValue)] = constantValue(programValue), nullptr};
}

Item Lowering::asItIs(const Item& item) {
  return item.list && item.list->whole != kNoValue ? Item{item.list->whole, nullptr} : item;
}

Item Lowering::itemOf(int programValue) {
  auto& item = items_[static_cast<size_t>(programValue)];
  if (!item) {
    item = program_.value(programValue).known ? itemOfKnown(programValue) : Item{};
  }
  return asItIs(*item);
}

void Lowering::flatten(const Item& container, const OperandSite& site, std::vector<Operand>& into) {
  const Item item = asItIs(container);
  if (!item.list) return into.push_back({item.value, site});
  for (const auto& [element, place, key] : item.list->elements) flatten(element, place, into);
}

std::vector<Operand> Lowering::operandsOf(int id, size_t input) {
  const ProgramNode& at = node(id);
  std::vector<Operand> operands;
  const OperandSite site{at.frame, at.node, static_cast<int>(input), at.inputs[input]};
  // Tensors in a list that the file holds: read as a whole.
  flatten(itemOf(at.inputs[input]), site, operands);
  return operands;
}

std::optional<c10::IValue> Lowering::literalOf(int value) const {
  const ProgramValue& from = program_.value(value);
  if (from.known) {
    if (from.known->isTensor() || from.known->isObject()) return std::nullopt;
    return from.known;
  }
  // A list written out of numbers.
  if (from.producer == kNone || node(from.producer).node->kind() != prim::ListConstruct) return std::nullopt;
  const auto& item = items_[static_cast<size_t>(value)];
  const auto& elements = node(from.producer).inputs;
  if (!item || !asItIs(*item).list || item->list->elements.size() != elements.size()) return std::nullopt;
  if (changedList(value) != nullptr) return std::nullopt;
  c10::impl::GenericList list(node(from.producer).node->output()->type()->containedType(0));
  for (const int element : elements) {
    const auto& known = program_.value(element).known;
    if (!known || known->isTensor() || known->isObject()) return std::nullopt;
    list.push_back(*known);
  }
  return c10::IValue(list);
}

std::optional<size_t> Lowering::listSize(int value) const {
  const auto& item = items_[static_cast<size_t>(value)];
  if (!item || !asItIs(*item).list) return std::nullopt;
  return item->list->elements.size();
}

const ListState* Lowering::changedList(int value) const {
  const ProgramValue& from = program_.value(value);
  const auto& item = items_[static_cast<size_t>(value)];
  if (!item || !item->list) return nullptr;
  if (item->list->whole != kNoValue) return item->list.get();
  const auto* made = from.producer == kNone ? nullptr : node(from.producer).node;
  if (made == nullptr || made->kind() != prim::ListConstruct) return nullptr;
  const auto isOriginal = [&](const ListState::Element& element) { return element.site.node == made; };
  return std::ranges::all_of(item->list->elements, isOriginal) ? nullptr : item->list.get();
}

graph::Value Lowering::described(const Item& item) const {
  const Item now = asItIs(item);
  return now.value == kNoValue ? graph::Value() : out_.graph.value(now.value);
}

}  // namespace normlens::formats::torchscript
