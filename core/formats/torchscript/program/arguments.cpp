#include "core/formats/torchscript/program/arguments.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;
using c10::TypeKind;

at::Tensor prepared(const NamedTensor& input, graph::DType floats) {
  at::Tensor tensor = tensorOf(input.view);
  if (tensor.is_floating_point() && floats != graph::DType::Unknown) tensor = tensor.to(scalarTypeOf(floats));
  return tensor;
}

bool isOutput(const std::string& name) { return name.starts_with("out_"); }

class ArgumentMaker {
 public:
  ArgumentMaker(const std::vector<InputLayout>& layouts, const Tensors& inputs, graph::DType floats) : floats_(floats) {
    for (const NamedTensor& input : inputs) {
      if (!isOutput(input.name)) given_.push_back({&input, input.name, false});
    }
    const auto names = withContainerNames(layouts, givenNames());
    for (size_t i = 0; i < given_.size(); ++i) given_[i].name = names[i];
    layouts_ = fitted(layouts, names);
    for (const InputLayout* leaf : leavesOf(layouts_)) leaves_.push_back(leaf->name);
  }

  [[nodiscard]] const std::vector<InputLayout>& layouts() const { return layouts_; }
  [[nodiscard]] size_t leafCount() const { return leaves_.size(); }

  Result<IValue> make(const InputLayout& layout, const std::optional<IValue>& byDefault) {
    if (layout.isContainer()) {
      if (!layout.mayBeNone || isGiven(layout)) return makeContainer(layout);
      leaf_ += leavesOf(layout).size();
      return byDefault.value_or(IValue());
    }
    const size_t position = leaf_++;
    const NamedTensor* input = take(layout.name, position);
    if (input == nullptr) {
      if (byDefault) return *byDefault;
      if (layout.mayBeNone) return IValue();
      return fail(ErrorCode::BadInput, "no array was given for the model's input '" + layout.name + "'",
                  "name it in_" + std::to_string(position) + " or '" + layout.name + "'");
    }
    return convert(layout, *input);
  }

  [[nodiscard]] const std::string* leftOver() const {
    const auto left = std::ranges::find(given_, false, &Given::taken);
    return left == given_.end() ? nullptr : &left->tensor->name;
  }

 private:
  struct Given {
    const NamedTensor* tensor;
    std::string name;
    bool taken;
  };

  [[nodiscard]] std::vector<std::string> givenNames() const {
    std::vector<std::string> names;
    for (const Given& given : given_) names.push_back(given.name);
    return names;
  }

  [[nodiscard]] bool isGiven(const InputLayout& container) const {
    return std::ranges::any_of(given_,
                               [&](const Given& given) { return given.name.starts_with(container.name + "."); });
  }

  const NamedTensor* take(const std::string& name, size_t position) {
    const auto takeFirst = [&](const auto& wanted) -> const NamedTensor* {
      const auto found =
          std::ranges::find_if(given_, [&](const Given& given) { return !given.taken && wanted(given.name); });
      if (found == given_.end()) return nullptr;
      found->taken = true;
      return found->tensor;
    };
    for (const std::string& wanted : {name, "in_" + std::to_string(position)}) {
      if (const auto* tensor = takeFirst([&](const std::string& other) { return other == wanted; })) return tensor;
    }
    return takeFirst([&](const std::string& other) { return isUnnamed(other); });
  }

  // The array of another model, whose inputs have other names: it goes by its place among those.
  [[nodiscard]] bool isUnnamed(const std::string& name) const {
    return !name.starts_with("in_") && std::ranges::find(leaves_, name) == leaves_.end();
  }

  Result<IValue> makeContainer(const InputLayout& layout) {
    std::vector<IValue> parts;
    for (const InputLayout& part : layout.parts) {
      auto made = make(part, std::nullopt);
      if (!made) return made;
      parts.push_back(std::move(*made));
    }
    if (const auto tuple = layout.type->cast<c10::TupleType>()) {
      return IValue(tuple->name() ? c10::ivalue::Tuple::createNamed(std::move(parts), tuple)
                                  : c10::ivalue::Tuple::create(std::move(parts)));
    }
    if (layout.type->kind() == TypeKind::ListType) {
      c10::impl::GenericList list(layout.type->containedType(0));
      for (IValue& part : parts) list.push_back(std::move(part));
      return IValue(list);
    }
    c10::impl::GenericDict dict(layout.type->containedType(0), layout.type->containedType(1));
    for (size_t i = 0; i < parts.size(); ++i) {
      dict.insert(layout.parts[i].name.substr(layout.name.size() + 1), std::move(parts[i]));
    }
    return IValue(dict);
  }

  [[nodiscard]] Result<IValue> convert(const InputLayout& layout, const NamedTensor& input) const {
    const c10::Type& type = *layout.type;
    const std::string& name = layout.name;
    const bool ownFloats = layout.declared && graph::isFloat(layout.declared->dtype);
    const at::Tensor tensor = prepared(input, ownFloats ? layout.declared->dtype : floats_);
    const auto single = [&]() -> Status {
      if (tensor.numel() == 1) return {};
      return fail(ErrorCode::BadInput, "the model's input '" + name + "' is a number, but the array has " +
                                           std::to_string(tensor.numel()) + " elements");
    };
    switch (type.kind()) {
      case TypeKind::IntType:
        return single().map([&] { return IValue(tensor.item().toLong()); });
      case TypeKind::FloatType:
        return single().map([&] { return IValue(tensor.item().toDouble()); });
      case TypeKind::BoolType:
        return single().map([&] { return IValue(tensor.item().toBool()); });
      case TypeKind::TensorType:
        return IValue(tensor);
      default:
        return fail(ErrorCode::BadInput,
                    "the model's input '" + name + "' is a " + type.str() + ", which cannot be given as an array");
    }
  }

  graph::DType floats_;
  std::vector<Given> given_;
  std::vector<InputLayout> layouts_;
  std::vector<std::string> leaves_;
  size_t leaf_ = 0;  // the next one's number
};

void flatten(const IValue& value, Tensors& outputs) {
  const auto add = [&](const at::Tensor& tensor) {
    outputs.push_back({"out_" + std::to_string(outputs.size()), viewOf(tensor)});
  };
  if (value.isTensor()) {
    if (value.toTensor().defined()) add(value.toTensor().cpu().contiguous());
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) flatten(element, outputs);
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) flatten(element, outputs);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) flatten(entry.value(), outputs);
  } else if (value.isInt() || value.isDouble() || value.isBool()) {
    add(at::scalar_tensor(value.toScalar(), value.toScalar().type()));
  }
}

// "in_1.0.k": the number of an argument, and where in it; nullopt: not named so.
std::optional<std::pair<size_t, std::string>> placeIn(std::string_view name) {
  if (!name.starts_with("in_")) return std::nullopt;
  size_t argument = 0;
  const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), argument);
  if (error != std::errc()) return std::nullopt;
  return std::pair(argument, std::string(end, name.data() + name.size()));
}

// Returns whether "in_1" counts arguments, as it does where names have parts behind a dot; else it counts arrays.
bool countsArguments(const std::vector<InputLayout>& layouts, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    const auto place = placeIn(name);
    return place && place->second.starts_with('.') && place->first < layouts.size() &&
           layouts[place->first].isContainer();
  });
}

}  // namespace

std::vector<std::string> withContainerNames(const std::vector<InputLayout>& layouts, std::vector<std::string> names) {
  if (countsArguments(layouts, names)) {
    for (std::string& name : names) {
      const auto place = placeIn(name);
      if (place && place->first < layouts.size()) name = layouts[place->first].name + place->second;
    }
    return names;
  }
  if (layouts.size() != 1 || !layouts[0].isContainer()) return names;
  const std::string prefix = layouts[0].name + ".";
  if (std::ranges::any_of(names, [&](const std::string& name) { return name.starts_with(prefix); })) return names;
  const bool byKey = layouts[0].type->kind() == TypeKind::DictType;
  const bool ofArrays = std::ranges::none_of(layouts[0].parts, &InputLayout::isContainer);
  size_t place = 0;
  for (std::string& name : names) {
    if (isOutput(name)) continue;
    if (byKey && !name.starts_with("in_")) {
      name.insert(0, prefix);
    } else if (!byKey && ofArrays) {
      // Numbers of their own go before the order of the file.
      name = name.starts_with("in_") ? name.substr(3) : std::to_string(place);
      name.insert(0, prefix);
    }
    ++place;
  }
  return names;
}

Result<std::vector<IValue>> toArguments(const std::vector<InputLayout>& layouts, const c10::FunctionSchema& schema,
                                        const Tensors& inputs, graph::DType floats) {
  ArgumentMaker maker(layouts, inputs, floats);
  std::vector<IValue> made;
  for (size_t i = 0; i < maker.layouts().size(); ++i) {
    ASSIGN_OR_RETURN(auto value, maker.make(maker.layouts()[i], schema.arguments().at(i + 1).default_value()));
    made.push_back(std::move(value));
  }
  if (const std::string* extra = maker.leftOver())
    return fail(ErrorCode::BadInput, "the model has no input for the array '" + *extra + "'",
                "it takes " + std::to_string(maker.leafCount()) + " inputs");
  return made;
}

Tensors toOutputs(const IValue& result, const std::vector<std::string>& names) {
  Tensors outputs;
  flatten(result, outputs);
  for (size_t i = 0; names.size() == outputs.size() && i < names.size(); ++i) {
    if (!names[i].empty()) outputs[i].name = names[i];
  }
  return outputs;
}

}  // namespace normlens::formats::torchscript
