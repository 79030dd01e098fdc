// Lists, tuples and dicts: followed element by element as long as the code that fills them is straight-line.
#include <algorithm>

#include "core/formats/torchscript/lowering.h"
#include "core/formats/torchscript/memory_sharing.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
namespace aten = c10::aten;

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
      const bool isDict = at.node->kind() == prim::DictConstruct;
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
      return growList(id);
    case aten::add:
    case aten::list:
    case aten::copy:
      return joinLists(id);
    default:
      break;
  }
  // Any other change of a container: from here on it is one value.
  if (writesInto(*at.node, 0) && listSize(at.inputs[0])) {
    const Operand whole = single(Item(itemOf(at.inputs[0])), at.inputs[0], {at.frame, at.node, 0}, id, into);
    items_[static_cast<size_t>(at.inputs[0])] = Item{Item::Kind::Value, whole.value, nullptr};
  }
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
  if (!index) return false;
  if (index->isString()) {
    const auto& keys = container.list->keys;
    const auto found = std::ranges::find(keys, index->toStringRef());
    if (found == keys.end() || std::ranges::find(keys, std::string()) != keys.end()) return false;
    give(0, elements[static_cast<size_t>(found - keys.begin())]);
    return true;
  }
  if (!index->isInt()) return false;
  const auto size = static_cast<int64_t>(elements.size());
  const int64_t wanted = index->toInt() < 0 ? index->toInt() + size : index->toInt();
  if (wanted < 0 || wanted >= size) return false;
  give(0, elements[static_cast<size_t>(wanted)]);
  return true;
}

// list.append(x) and dict["key"] = x in the block that made the container.
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
  const auto key = literalOf(at.inputs[1]);
  if (!key || !key->isString() || list.keys.size() != list.elements.size()) return false;
  const auto found = std::ranges::find(list.keys, key->toStringRef());
  const auto at2 = static_cast<size_t>(found - list.keys.begin());
  if (found == list.keys.end()) {
    list.keys.push_back(key->toStringRef());
    list.elements.emplace_back();
    list.sites.emplace_back();
  }
  list.elements[at2] = itemOf(at.inputs[2]);
  list.sites[at2] = {at.frame, at.node, 2};
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
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    const Item item = itemOf(at.inputs[i]);
    if (item.kind != Item::Kind::List) return false;
    joined->elements.insert(joined->elements.end(), item.list->elements.begin(), item.list->elements.end());
    joined->sites.insert(joined->sites.end(), item.list->sites.begin(), item.list->sites.end());
  }
  items_[static_cast<size_t>(at.outputs[0])] = Item{Item::Kind::List, graph::kNoValue, std::move(joined)};
  return true;
}

// By element, as flatten has them: "1.logits"; empty where no dict is on the way.
void Lowering::addNames(const Item& item, const std::string& path, bool hasKey, std::vector<std::string>& into) {
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
      if (!writesInto(*at.node, 0)) continue;
      const auto& item = items_[static_cast<size_t>(at.inputs[0])];
      if (!item || item->kind != Item::Kind::List) continue;
      const auto list = item->list;
      const Operand whole = single(Item(itemOf(at.inputs[0])), at.inputs[0], {}, id, into);
      for (auto& other : items_) {
        if (other && other->kind == Item::Kind::List && other->list == list)
          other = Item{Item::Kind::Value, whole.value, nullptr};
      }
    }
  }
}

}  // namespace normlens::formats::torchscript
