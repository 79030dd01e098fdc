#include "core/formats/torchscript/program/input_layout.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {
namespace {

using c10::TypeKind;
using c10::TypePtr;

namespace prim = c10::prim;
namespace aten = c10::aten;

constexpr size_t kMostElements = 4096;  // Limits a list: more are a slip in a name.

TypePtr withoutOptional(const TypePtr& type) {
  return type->kind() == TypeKind::OptionalType ? type->expectRef<c10::OptionalType>().getElementType() : type;
}

bool isDictByName(const c10::Type& type) {
  return type.kind() == TypeKind::DictType && type.containedType(0)->kind() == TypeKind::StringType;
}

bool mayBeMissing(const c10::Argument& argument) {
  return argument.default_value() || argument.type()->kind() == TypeKind::OptionalType;
}

bool isContainerType(const c10::Type& type) {
  return type.kind() == TypeKind::TupleType || type.kind() == TypeKind::ListType || isDictByName(type);
}

// "0", or the name of a field.
std::string fieldOf(const c10::TupleType& tuple, size_t index) {
  return tuple.schema() ? tuple.schema()->arguments()[index].name() : std::to_string(index);
}

std::optional<size_t> numberIn(std::string_view text) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() || number >= kMostElements) return std::nullopt;
  return number;
}

void addFields(InputLayout& layout);

InputLayout& partNamed(InputLayout& container, const std::string& part, const TypePtr& type) {
  const std::string name = container.name + "." + part;
  const auto found = std::ranges::find(container.parts, name, &InputLayout::name);
  if (found != container.parts.end()) return *found;
  const bool mayBeNone = type->kind() == TypeKind::OptionalType;
  InputLayout& made = container.parts.emplace_back(
      InputLayout{name, withoutOptional(type), mayBeNone, mayBeNone || container.optional, {}, {}});
  addFields(made);
  return made;
}

void addFields(InputLayout& layout) {
  const auto tuple = layout.type->cast<c10::TupleType>();
  if (!tuple) return;
  for (size_t i = 0; i < tuple->elements().size(); ++i) partNamed(layout, fieldOf(*tuple, i), tuple->elements()[i]);
}

void makeAtLeast(InputLayout& list, size_t count) {
  for (size_t i = list.parts.size(); i < count; ++i) partNamed(list, std::to_string(i), list.type->containedType(0));
}

class Layouts {
 public:
  explicit Layouts(const Program& program) : program_(program), readers_(program.values.size()) {
    for (size_t i = 0; i < program.nodes.size(); ++i) {
      for (const int value : program.nodes[i].inputs) readers_[static_cast<size_t>(value)].push_back(i);
    }
  }

  void addParts(InputLayout& layout) const {
    if (!layout.isContainer()) return;
    addFields(layout);
    for (const int value : std::vector<int>(layout.values)) {
      for (const size_t reader : readers_[static_cast<size_t>(value)]) addTaken(layout, value, program_.nodes[reader]);
    }
    if (layout.type->kind() == TypeKind::ListType) addTakenAnywhere(layout);
    for (InputLayout& part : layout.parts) addParts(part);
  }

 private:
  [[nodiscard]] std::optional<c10::IValue> indexOf(const ProgramNode& reader) const {
    return reader.inputs.size() < 2 ? std::nullopt : program_.values[static_cast<size_t>(reader.inputs[1])].known;
  }

  // Adds what this node takes out of the container by a place that is known before the run.
  void addTaken(InputLayout& layout, int value, const ProgramNode& reader) const {
    if (reader.inputs.empty() || reader.inputs[0] != value) return;
    const auto kind = reader.node->kind();
    if (kind == prim::TupleUnpack || kind == prim::ListUnpack) {
      if (layout.type->kind() == TypeKind::ListType) makeAtLeast(layout, reader.outputs.size());
      for (size_t i = 0; i < std::min(reader.outputs.size(), layout.parts.size()); ++i) {
        layout.parts[i].values.push_back(reader.outputs[i]);
      }
    } else if (kind == prim::TupleIndex || kind == aten::__getitem__) {
      const auto index = indexOf(reader);
      if (!index || reader.outputs.empty()) return;
      if (InputLayout* part = partAt(layout, *index)) part->values.push_back(reader.outputs[0]);
    }
  }

  static InputLayout* partAt(InputLayout& layout, const c10::IValue& index) {
    if (index.isString() && isDictByName(*layout.type))
      return &partNamed(layout, index.toStringRef(), layout.type->containedType(1));
    if (!index.isInt() || layout.type->kind() == TypeKind::DictType) return nullptr;
    constexpr auto kMost = static_cast<int64_t>(kMostElements);
    int64_t at = index.toInt();
    if (at >= kMost || at < -kMost) return nullptr;
    if (layout.type->kind() == TypeKind::ListType) makeAtLeast(layout, static_cast<size_t>(at < 0 ? -at : at + 1));
    if (at < 0) at += static_cast<int64_t>(layout.parts.size());
    return at >= 0 && at < static_cast<int64_t>(layout.parts.size()) ? &layout.parts[static_cast<size_t>(at)] : nullptr;
  }

  // A loop takes its elements one by one, all of them in the same place.
  void addTakenAnywhere(InputLayout& list) const {
    makeAtLeast(list, 1);
    for (const int value : list.values) {
      for (const size_t id : readers_[static_cast<size_t>(value)]) {
        const ProgramNode& reader = program_.nodes[id];
        if (reader.node->kind() != aten::__getitem__ || reader.inputs[0] != value || indexOf(reader)) continue;
        for (InputLayout& part : list.parts) part.values.push_back(reader.outputs[0]);
      }
    }
  }

  const Program& program_;
  std::vector<std::vector<size_t>> readers_;
};

// Fits a list or dict to the arrays given of it, which are all that it holds; where none are given the code decides.
void fit(InputLayout& layout, const std::vector<std::string>& names) {
  const bool isList = layout.isContainer() && layout.type->kind() == TypeKind::ListType;
  const bool isDict = layout.isContainer() && layout.type->kind() == TypeKind::DictType;
  const std::string prefix = layout.name + ".";
  size_t length = 0;
  std::set<std::string> held;
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    const std::string rest = name.substr(prefix.size());
    if (isList) {
      if (const auto at = numberIn(rest)) length = std::max(length, *at + 1);
    } else if (isDict) {
      const bool nested = isContainerType(*withoutOptional(layout.type->containedType(1)));
      const std::string key = nested ? rest.substr(0, rest.find('.')) : rest;
      held.insert(partNamed(layout, key, layout.type->containedType(1)).name);
    }
  }
  if (length > 0) {
    makeAtLeast(layout, length);
    layout.parts.erase(layout.parts.begin() + static_cast<std::ptrdiff_t>(length), layout.parts.end());
  }
  if (!held.empty()) std::erase_if(layout.parts, [&](const InputLayout& part) { return !held.contains(part.name); });
  for (InputLayout& part : layout.parts) fit(part, names);
}

void addLeaves(const InputLayout& layout, std::vector<const InputLayout*>& into) {
  if (!layout.isContainer()) return into.push_back(&layout);
  for (const InputLayout& part : layout.parts) addLeaves(part, into);
}

}  // namespace

bool InputLayout::isContainer() const { return isContainerType(*type); }

std::vector<InputLayout> inputLayouts(const Program& program, const std::vector<std::string>& names,
                                      const c10::FunctionSchema& schema) {
  std::vector<InputLayout> layouts;
  const auto& params = program.blocks[0].params;
  for (size_t i = 0; i < params.size(); ++i) {
    const c10::Argument& argument = schema.arguments().at(i + 1);
    const bool mayBeNone = mayBeMissing(argument);
    layouts.push_back({names[i], withoutOptional(argument.type()), mayBeNone, mayBeNone, {params[i]}, {}});
  }
  if (std::ranges::none_of(layouts, &InputLayout::isContainer)) return layouts;
  const Layouts parts(program);
  for (InputLayout& layout : layouts) parts.addParts(layout);
  return layouts;
}

std::vector<InputLayout> fitted(std::vector<InputLayout> layouts, const std::vector<std::string>& names) {
  for (InputLayout& layout : layouts) fit(layout, names);
  return layouts;
}

std::vector<const InputLayout*> leavesOf(const InputLayout& layout) {
  std::vector<const InputLayout*> leaves;
  addLeaves(layout, leaves);
  return leaves;
}

std::vector<const InputLayout*> leavesOf(const std::vector<InputLayout>& layouts) {
  std::vector<const InputLayout*> leaves;
  for (const InputLayout& layout : layouts) addLeaves(layout, leaves);
  return leaves;
}

}  // namespace normlens::formats::torchscript
