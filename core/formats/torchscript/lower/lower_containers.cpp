// Lists, tuples and dicts: followed element by element as long as the code that fills them is straight-line.
#include <algorithm>

#include "core/formats/torchscript/lower/lowering.h"
#include "core/formats/torchscript/program/memory_sharing.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
namespace aten = c10::aten;

bool changesContainer(const torch::jit::Node& node) {
  if (!writesInto(node, 0)) return false;
  const auto kind = node.input(0)->type()->kind();
  return kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType;
}

}  // namespace

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
        list->elements.push_back(itemOf(at.inputs[i]));
        list->sites.push_back({at.frame, at.node, static_cast<int>(i)});
        if (!isDict) continue;
        const auto& key = program_.values[static_cast<size_t>(at.inputs[i - 1])].known;
        list->keys.push_back(key && key->isString() ? key->toStringRef() : "");
      }
      items_[static_cast<size_t>(at.outputs[0])] = Item{Item::Kind::List, graph::kNoValue, std::move(list)};
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
  if (container.kind != Item::Kind::List) return false;
  const auto& elements = container.list->elements;
  const auto give = [&](size_t output, const Item& item) {
    items_[static_cast<size_t>(at.outputs[output])] = item;
    if (item.kind == Item::Kind::Value) out_.graphValue[static_cast<size_t>(at.outputs[output])] = item.value;
    // An element of a split has its record under the list's own value: the unpacked value is the better witness.
    if (item.kind == Item::Kind::Value &&
        program_.values[static_cast<size_t>(at.outputs[output])].known == std::nullopt) {
      int& witness = out_.programValue[static_cast<size_t>(item.value)];
      const auto& from = out_.graph.value(item.value);
      if (from.producer != graph::kNone && witness != kNone &&
          program_.values[static_cast<size_t>(witness)].value->type()->kind() == c10::TypeKind::ListType)
        witness = at.outputs[output];
    }
  };
  switch (at.node->kind()) {
    case prim::TupleUnpack:
    case prim::ListUnpack:
      if (elements.size() < at.outputs.size()) return false;
      for (size_t i = 0; i < at.outputs.size(); ++i) give(i, elements[i]);
      return true;
    case prim::TupleSlice: {
      const auto begin = static_cast<size_t>(at.node->i(c10::attr::beg)),
                 end = static_cast<size_t>(at.node->i(c10::attr::end));
      if (begin > end || end > elements.size()) return false;
      auto list = std::make_shared<ListState>(*container.list);
      list->elements.assign(elements.begin() + static_cast<std::ptrdiff_t>(begin),
                            elements.begin() + static_cast<std::ptrdiff_t>(end));
      list->sites.assign(container.list->sites.begin() + static_cast<std::ptrdiff_t>(begin),
                         container.list->sites.begin() + static_cast<std::ptrdiff_t>(end));
      items_[static_cast<size_t>(at.outputs[0])] = Item{Item::Kind::List, graph::kNoValue, std::move(list)};
      return true;
    }
    default:
      break;
  }
  const auto index = literalOf(at.inputs[1]);
  const auto place = index ? placeOf(*container.list, *index) : std::nullopt;
  if (!place) return false;
  give(0, elements[*place]);
  return true;
}

std::optional<size_t> Lowering::placeOf(const ListState& list, const c10::IValue& index) {
  if (list.isDict) {
    const auto& keys = list.keys;
    if (!index.isString() || std::ranges::find(keys, std::string()) != keys.end()) return std::nullopt;
    const auto found = std::ranges::find(keys, index.toStringRef());
    return found == keys.end() ? std::nullopt : std::optional(static_cast<size_t>(found - keys.begin()));
  }
  if (!index.isInt()) return std::nullopt;
  const auto size = static_cast<int64_t>(list.elements.size());
  const int64_t wanted = index.toInt() < 0 ? index.toInt() + size : index.toInt();
  return wanted < 0 || wanted >= size ? std::nullopt : std::optional(static_cast<size_t>(wanted));
}

// list.append(x), list[0] = x and dict["key"] = x in the block that made the container.
bool Lowering::growList(int id) {
  const ProgramNode& at = node(id);
  const Item container = itemOf(at.inputs[0]);
  if (container.kind != Item::Kind::List || container.list->block != at.block) return false;
  ListState& list = *container.list;
  if (at.node->kind() == aten::append) {
    list.elements.push_back(itemOf(at.inputs[1]));
    list.sites.push_back({at.frame, at.node, 1});
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
  if (!place && list.isDict && key->isString() && std::ranges::find(list.keys, std::string()) == list.keys.end()) {
    place = list.elements.size();
    list.keys.push_back(key->toStringRef());
    list.elements.emplace_back();
    list.sites.emplace_back();
  }
  if (!place) return false;
  list.elements[*place] = itemOf(at.inputs[2]);
  list.sites[*place] = {at.frame, at.node, 2};
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
    if (item.kind != Item::Kind::List || item.list->isDict) return false;
    joined->elements.insert(joined->elements.end(), item.list->elements.begin(), item.list->elements.end());
    joined->sites.insert(joined->sites.end(), item.list->sites.begin(), item.list->sites.end());
  }
  items_[static_cast<size_t>(at.outputs[0])] = Item{Item::Kind::List, graph::kNoValue, std::move(joined)};
  return true;
}

// By element, as flatten has them: "1.logits"; empty where no dict is on the way.
void Lowering::addNames(const Item& container, const std::string& path, bool hasKey, std::vector<std::string>& into) {
  const Item item = asItIs(container);
  if (item.kind != Item::Kind::List) return into.push_back(hasKey ? path : std::string());
  const ListState& list = *item.list;
  const bool isDict = !list.keys.empty() && list.keys.size() == list.elements.size();
  for (size_t i = 0; i < list.elements.size(); ++i) {
    const std::string part = isDict ? list.keys[i] : std::to_string(i);
    addNames(list.elements[i], path.empty() ? part : path + "." + part, hasKey || isDict, into);
  }
}

// A container that an If or Loop changes is one value from before it on.
void Lowering::freezeGrowingLists(int id, graph::BlockId into) {
  for (const int block : node(id).blocks) {
    for (const int inner : program_.blocks[static_cast<size_t>(block)].nodes) {
      const ProgramNode& at = node(inner);
      if (!at.blocks.empty()) freezeGrowingLists(inner, into);
      if (changesContainer(*at.node)) freezeBehind(at.inputs[0], id, into);
    }
  }
}

// What a container that is written may be: itself, or one that it is taken from (`inside`: it is a part of it).
std::vector<int> Lowering::sourcesOf(int value, bool inside) const {
  const ProgramValue& from = program_.values[static_cast<size_t>(value)];
  const auto blockOf = [&](int id) -> const ProgramBlock& { return program_.blocks[static_cast<size_t>(id)]; };
  const auto carried = [&](const ProgramNode& loop, size_t i) {  // by its place among the body's parameters
    return std::vector{loop.inputs[i + 1], blockOf(loop.blocks[0]).returns[i]};
  };
  if (from.known) return {};
  if (from.producer == kNone) {
    for (const ProgramBlock& block : program_.blocks) {
      const auto at = std::ranges::find(block.params, value);
      if (at == block.params.end() || at == block.params.begin() || block.owner == kNone) continue;
      return carried(node(block.owner), static_cast<size_t>(at - block.params.begin()));
    }
    return {};
  }
  const ProgramNode& made = node(from.producer);
  const auto output = static_cast<size_t>(from.output);
  switch (made.node->kind()) {
    case prim::If:
      return {blockOf(made.blocks[0]).returns[output], blockOf(made.blocks[1]).returns[output]};
    case prim::Loop:
      return carried(made, output + 1);
    case prim::TupleUnpack:
    case prim::ListUnpack:
    case prim::TupleIndex:
    case aten::__getitem__:
      return {made.inputs[0]};
    case prim::ListConstruct:
    case prim::TupleConstruct:
    case prim::DictConstruct:
      return inside ? made.inputs : std::vector<int>();
    default:
      return {};
  }
}

// Where a value is taken from a followed container at a known place: what is there.
std::optional<Item> Lowering::elementTakenAs(int value) const {
  const ProgramValue& from = program_.values[static_cast<size_t>(value)];
  if (from.known || from.producer == kNone) return std::nullopt;
  const ProgramNode& made = node(from.producer);
  const auto kind = made.node->kind();
  const bool unpacks = kind == prim::TupleUnpack || kind == prim::ListUnpack;
  if (!unpacks && kind != prim::TupleIndex && kind != aten::__getitem__) return std::nullopt;
  const auto& container = items_[static_cast<size_t>(made.inputs[0])];
  if (!container || asItIs(*container).kind != Item::Kind::List) return std::nullopt;
  const auto index = unpacks ? std::optional(c10::IValue(int64_t{from.output})) : literalOf(made.inputs[1]);
  const auto place = index ? placeOf(*container->list, *index) : std::nullopt;
  return place ? std::optional(container->list->elements[*place]) : std::nullopt;
}

// The followed lists that a value may be, or be a part of, are one value each from here on.
void Lowering::freezeBehind(int written, int forNode, graph::BlockId into) {
  std::vector<int> open{written}, seen;
  while (!open.empty()) {
    const int value = open.back();
    open.pop_back();
    if (std::ranges::find(seen, value) != seen.end()) continue;
    seen.push_back(value);
    const auto element = elementTakenAs(value);
    const auto item = element ? element : items_[static_cast<size_t>(value)];
    if (item && item->kind == Item::Kind::List) {
      if (value != written) freezeInside(*item->list, forNode, into);
      freeze(item->list, value, forNode, into);
      continue;
    }
    if (element) continue;
    const auto sources = sourcesOf(value, value != written);
    open.insert(open.end(), sources.begin(), sources.end());
  }
}

void Lowering::freezeInside(const ListState& list, int forNode, graph::BlockId into) {
  for (const Item& element : list.elements) {
    if (element.kind != Item::Kind::List) continue;
    freezeInside(*element.list, forNode, into);
    freeze(element.list, kNone, forNode, into);
  }
}

void Lowering::freeze(const std::shared_ptr<ListState>& list, int programValue, int forNode, graph::BlockId into) {
  if (list->whole != graph::kNoValue) return;
  list->whole = single({Item::Kind::List, graph::kNoValue, list}, programValue, {}, forNode, into).value;
}

}  // namespace normlens::formats::torchscript
