// Turns program values into graph values, constants, literals and followed lists.
#include <algorithm>

#include "core/formats/torchscript/lower/lowering.h"
#include "core/formats/torchscript/program/memory_sharing.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
namespace prim = c10::prim;
using graph::kNoValue;

bool isNumber(const c10::IValue& value) { return value.isInt() || value.isDouble() || value.isBool(); }

bool changesContainer(const torch::jit::Node& node) {
  if (!writesInto(node, 0)) return false;
  const auto kind = node.input(0)->type()->kind();
  return kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType;
}

bool hasUnknownKey(const ListState& dict) {
  return std::ranges::find(dict.elements, "", &ListState::Element::key) != dict.elements.end();
}

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

bool Lowering::lowerContainer(int id, graph::BlockId into) {
  const ProgramNode& at = node(id);
  switch (at.node->kind()) {
    case prim::ListConstruct:
    case prim::TupleConstruct:
    case prim::DictConstruct: {
      auto list = std::make_shared<ListState>();
      list->block = at.block;
      list->madeBy = id;
      const bool isDict = list->isDict = at.node->kind() == prim::DictConstruct;
      for (size_t i = isDict ? 1 : 0; i < at.inputs.size(); i += isDict ? 2 : 1) {
        list->elements.push_back({itemOf(at.inputs[i]), {at.frame, at.node, static_cast<int>(i), at.inputs[i]}});
        const auto& key = program_.value(at.inputs[isDict ? i - 1 : i]).known;
        if (isDict && key && key->isString()) list->elements.back().key = key->toStringRef();
      }
      items_[static_cast<size_t>(at.outputs[0])] = Item{graph::kNoValue, std::move(list)};
      return true;
    }
    case prim::TupleUnpack:
    case prim::ListUnpack:
    case prim::TupleIndex:
    case prim::TupleSlice:
    case aten::__getitem__:
      return takeElements(id);
    case aten::append:
    case aten::_set_item:
      if (growList(id)) return true;
      break;
    case aten::add:
    case aten::list:
    case aten::copy:
      return joinLists(id);
    default:
      break;
  }
  // Any other change of a container: from here on it is one value.
  if (changesContainer(*at.node)) freezeBehind(at.inputs[0], id, into);
  return false;
}

bool Lowering::takeElements(int id) {
  const ProgramNode& at = node(id);
  const Item container = itemOf(at.inputs[0]);
  if (!container.list) return false;
  const auto& elements = container.list->elements;
  const auto give = [&](int output, const Item& item) {
    items_[static_cast<size_t>(output)] = item;
    if (item.value == graph::kNoValue) return;
    out_.graphValue[static_cast<size_t>(output)] = item.value;
    // An element of a split has its record under the list's own value: the unpacked value is the better witness.
    int& witness = out_.programValue[static_cast<size_t>(item.value)];
    if (out_.graph.value(item.value).producer != graph::kNone && witness != kNone &&
        program_.value(witness).value->type()->kind() == c10::TypeKind::ListType)
      witness = output;
  };
  switch (at.node->kind()) {
    case prim::TupleUnpack:
    case prim::ListUnpack:
      if (elements.size() < at.outputs.size()) return false;
      for (size_t i = 0; i < at.outputs.size(); ++i) give(at.outputs[i], elements[i].item);
      return true;
    case prim::TupleSlice: {
      const int64_t begin = at.node->i(c10::attr::beg), end = at.node->i(c10::attr::end);
      if (begin < 0 || begin > end || end > static_cast<int64_t>(elements.size())) return false;
      auto list = std::make_shared<ListState>(*container.list);
      list->elements.assign(elements.begin() + begin, elements.begin() + end);
      items_[static_cast<size_t>(at.outputs[0])] = Item{graph::kNoValue, std::move(list)};
      return true;
    }
    default:
      break;
  }
  const auto index = literalOf(at.inputs[1]);
  const auto place = index ? placeOf(*container.list, *index) : std::nullopt;
  if (!place) return false;
  give(at.outputs[0], elements[*place].item);
  return true;
}

std::optional<size_t> Lowering::placeOf(const ListState& list, const c10::IValue& index) {
  const auto& elements = list.elements;
  if (list.isDict) {
    if (!index.isString() || hasUnknownKey(list)) return std::nullopt;
    const auto found = std::ranges::find(elements, index.toStringRef(), &ListState::Element::key);
    return found == elements.end() ? std::nullopt : std::optional(static_cast<size_t>(found - elements.begin()));
  }
  if (!index.isInt()) return std::nullopt;
  const auto size = static_cast<int64_t>(elements.size());
  const int64_t wanted = index.toInt() < 0 ? index.toInt() + size : index.toInt();
  return wanted < 0 || wanted >= size ? std::nullopt : std::optional(static_cast<size_t>(wanted));
}

// list.append(x), list[0] = x and dict["key"] = x in the block that made the container.
bool Lowering::growList(int id) {
  const ProgramNode& at = node(id);
  const Item container = itemOf(at.inputs[0]);
  if (!container.list || container.list->block != at.block) return false;
  ListState& list = *container.list;
  if (at.node->kind() == aten::append) {
    list.elements.push_back({itemOf(at.inputs[1]), {at.frame, at.node, 1, at.inputs[1]}});
    for (const int output : at.outputs) items_[static_cast<size_t>(output)] = container;
    return true;
  }
  return setElement(id, list);
}

bool Lowering::setElement(int id, ListState& list) {
  const ProgramNode& at = node(id);
  const auto key = literalOf(at.inputs[1]);
  if (!key) return false;
  auto place = placeOf(list, *key);
  if (!place && list.isDict && key->isString() && !hasUnknownKey(list)) {
    place = list.elements.size();
    list.elements.push_back({{}, {}, key->toStringRef()});
  }
  if (!place) return false;
  list.elements[*place].item = itemOf(at.inputs[2]);
  list.elements[*place].site = {at.frame, at.node, 2, at.inputs[2]};
  return true;
}

// list + list, and copies of a list.
bool Lowering::joinLists(int id) {
  const ProgramNode& at = node(id);
  const auto kind = at.node->output()->type()->kind();
  if (kind != c10::TypeKind::ListType) return false;
  auto joined = std::make_shared<ListState>();
  joined->block = at.block;
  joined->madeBy = id;
  for (const int input : at.inputs) {
    const Item item = itemOf(input);
    if (!item.list || item.list->isDict) return false;
    joined->elements.insert(joined->elements.end(), item.list->elements.begin(), item.list->elements.end());
  }
  items_[static_cast<size_t>(at.outputs[0])] = Item{graph::kNoValue, std::move(joined)};
  return true;
}

// By element, as flatten has them: "1.logits"; empty where no dict is on the way.
void Lowering::addNames(const Item& container, const std::string& path, bool hasKey, std::vector<std::string>& into) {
  const Item item = asItIs(container);
  if (!item.list) return into.push_back(hasKey ? path : std::string());
  const ListState& list = *item.list;
  for (size_t i = 0; i < list.elements.size(); ++i) {
    const std::string part = list.isDict ? list.elements[i].key : std::to_string(i);
    addNames(list.elements[i].item, path.empty() ? part : path + "." + part, hasKey || list.isDict, into);
  }
}

// A container that an If or Loop changes is one value from before it on.
void Lowering::freezeGrowingLists(int id, graph::BlockId into) {
  for (const int block : node(id).blocks) {
    for (const int inner : program_.block(block).nodes) {
      const ProgramNode& at = node(inner);
      if (!at.blocks.empty()) freezeGrowingLists(inner, into);
      if (changesContainer(*at.node)) freezeBehind(at.inputs[0], id, into);
    }
  }
}

// The followed list that is written is one value from here on; where it is not known which one, all that may be it, or
// hold it.
void Lowering::freezeBehind(int written, int forNode, graph::BlockId into) {
  if (const auto& item = items_[static_cast<size_t>(written)]; item && item->list)
    return freeze(item->list, written, forNode, into);
  if (!sharing_) sharing_.emplace(program_);
  for (const int value : sharing_->containersSharingWith(written)) {
    const auto item = items_[static_cast<size_t>(value)];
    if (!item || !item->list) continue;
    freezeInside(*item->list, forNode, into);
    freeze(item->list, value, forNode, into);
  }
}

void Lowering::freezeInside(const ListState& list, int forNode, graph::BlockId into) {
  for (const ListState::Element& element : list.elements) {
    if (!element.item.list) continue;
    freezeInside(*element.item.list, forNode, into);
    freeze(element.item.list, kNone, forNode, into);
  }
}

void Lowering::freeze(const std::shared_ptr<ListState>& list, int programValue, int forNode, graph::BlockId into) {
  if (list->whole != graph::kNoValue) return;
  list->whole = single({graph::kNoValue, list}, programValue, {}, forNode, into).value;
}

}  // namespace normlens::formats::torchscript
