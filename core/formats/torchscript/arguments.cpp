#include "core/formats/torchscript/arguments.h"

#include <algorithm>

#include "core/formats/torchscript/torchscript_model.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;
using c10::TypeKind;

at::Tensor prepared(const NamedTensor& input, graph::DType floats) {
  at::Tensor tensor = tensorOf(input.view);
  if (tensor.is_floating_point() && floats != graph::DType::Unknown) tensor = tensor.to(scalarTypeOf(floats));
  return tensor;
}

class ArgumentMaker {
 public:
  ArgumentMaker(const c10::FunctionSchema& schema, const Tensors& inputs, graph::DType floats)
      : schema_(schema), floats_(floats) {
    for (const NamedTensor& input : inputs) {
      if (!input.name.starts_with("out_")) inputs_.push_back(&input);
    }
    taken_.resize(inputs_.size());
  }

  Result<IValue> make(const c10::Argument& argument, size_t position, bool alone) {
    if (alone) {
      if (auto container = makeContainer(argument.type())) return *container;
    }
    const NamedTensor* input = take(argument.name(), position);
    if (input == nullptr) {
      if (argument.default_value()) return *argument.default_value();
      if (argument.type()->kind() == TypeKind::OptionalType) return IValue();
      return fail(ErrorCode::BadInput, "no array was given for the model's input '" + argument.name() + "'",
                  "name it in_" + std::to_string(position) + " or '" + argument.name() + "'");
    }
    return convert(argument.type(), argument.name(), *input);
  }

  [[nodiscard]] const NamedTensor* leftOver() const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!taken_[i]) return inputs_[i];
    }
    return nullptr;
  }

 private:
  const NamedTensor* take(const std::string& name, size_t position) {
    const std::string numbered = "in_" + std::to_string(position);
    for (const std::string& wanted : {name, numbered}) {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        if (!taken_[i] && inputs_[i]->name == wanted) return taken_[i] = true, inputs_[i];
      }
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!taken_[i] && isUnnamed(inputs_[i]->name)) return taken_[i] = true, inputs_[i];
    }
    return nullptr;
  }

  // The array of another model, whose inputs have other names: it goes by its place among those.
  [[nodiscard]] bool isUnnamed(const std::string& name) const {
    return !name.starts_with("in_") && !schema_.argumentIndexWithName(name);
  }

  std::optional<IValue> makeContainer(const c10::TypePtr& type) {
    if (type->kind() == TypeKind::ListType && type->containedType(0)->kind() == TypeKind::TensorType) {
      c10::List<at::Tensor> list;
      for (size_t i = 0; i < inputs_.size(); ++i) list.push_back(takeTensor(i));
      return IValue(list);
    }
    if (type->kind() == TypeKind::DictType && type->containedType(0)->kind() == TypeKind::StringType &&
        type->containedType(1)->kind() == TypeKind::TensorType) {
      c10::Dict<std::string, at::Tensor> dict;
      for (size_t i = 0; i < inputs_.size(); ++i) dict.insert(inputs_[i]->name, takeTensor(i));
      return IValue(dict);
    }
    if (type->kind() == TypeKind::TupleType && type->containedTypeSize() == inputs_.size()) {
      std::vector<IValue> elements;
      for (size_t i = 0; i < inputs_.size(); ++i) elements.emplace_back(takeTensor(i));
      return IValue(c10::ivalue::Tuple::create(std::move(elements)));
    }
    return std::nullopt;
  }

  at::Tensor takeTensor(size_t i) {
    taken_[i] = true;
    return prepared(*inputs_[i], floats_);
  }

  Result<IValue> convert(const c10::TypePtr& type, const std::string& name, const NamedTensor& input) const {
    const at::Tensor tensor = prepared(input, floats_);
    const auto single = [&]() -> Status {
      if (tensor.numel() == 1) return {};
      return fail(ErrorCode::BadInput, "the model's input '" + name + "' is a number, but the array has " +
                                           std::to_string(tensor.numel()) + " elements");
    };
    switch (type->kind()) {
      case TypeKind::OptionalType:
        return convert(type->expectRef<c10::OptionalType>().getElementType(), name, input);
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
                    "the model's input '" + name + "' is a " + type->str() + ", which cannot be given as an array");
    }
  }

  const c10::FunctionSchema& schema_;
  std::vector<const NamedTensor*> inputs_;
  std::vector<bool> taken_;
  graph::DType floats_;
};

void flatten(const IValue& value, Tensors& outputs) {
  const auto add = [&](const at::Tensor& tensor) {
    outputs.push_back({"out_" + std::to_string(outputs.size()), viewOf(tensor)});
  };
  if (value.isTensor()) {
    if (value.toTensor().defined()) add(value.toTensor().contiguous());
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) flatten(element, outputs);
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) flatten(element, outputs);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) flatten(entry.value(), outputs);
  } else if (value.isInt()) {
    add(at::scalar_tensor(value.toInt(), at::kLong));
  } else if (value.isDouble()) {
    add(at::scalar_tensor(value.toDouble(), at::kDouble));
  } else if (value.isBool()) {
    add(at::scalar_tensor(value.toBool(), at::kBool));
  }
}

}  // namespace

Result<std::vector<IValue>> toArguments(const c10::FunctionSchema& schema, const Tensors& inputs, graph::DType floats) {
  ArgumentMaker maker(schema, inputs, floats);
  std::vector<IValue> made;
  const auto& arguments = schema.arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    auto value = maker.make(arguments[i], i - 1, arguments.size() == 2);
    if (!value) return tl::unexpected(value.error());
    made.push_back(std::move(*value));
  }
  if (const NamedTensor* extra = maker.leftOver())
    return fail(ErrorCode::BadInput, "the model has no input for the array '" + extra->name + "'",
                "it takes " + std::to_string(arguments.size() - 1) + " inputs");
  return made;
}

Tensors toOutputs(const IValue& result) {
  Tensors outputs;
  flatten(result, outputs);
  return outputs;
}

}  // namespace normlens::formats::torchscript
