#include "core/formats/torchscript/input_slots.h"

#include <algorithm>

namespace normlens::formats::torchscript {
namespace {

using c10::TypeKind;

TypeKind kindOf(const c10::Argument& argument) {
  const auto& type = argument.type();
  return type->kind() == TypeKind::OptionalType ? type->expectRef<c10::OptionalType>().getElementType()->kind()
                                                : type->kind();
}

bool isNumber(TypeKind kind) {
  return kind == TypeKind::IntType || kind == TypeKind::FloatType || kind == TypeKind::BoolType;
}

}  // namespace

bool mayBeMissing(const c10::Argument& argument) {
  return argument.default_value() || argument.type()->kind() == TypeKind::OptionalType;
}

Result<std::vector<InputSlot>> inputSlots(const TorchScriptModel& model, const c10::FunctionSchema& schema) {
  std::vector<InputSlot> slots;
  const auto& arguments = schema.arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    InputSlot slot;
    slot.argument = i - 1;
    slot.kind = kindOf(arguments[i]);
    slot.optional = mayBeMissing(arguments[i]);
    const graph::ValueId value = model.graph().inputs()[slot.argument];
    slot.name = model.graph().value(value).name;
    if (slot.isTensor()) {
      slot.guess = guessInput(model.graph(), value);
    } else if (slot.optional) {
      continue;
    } else if (!isNumber(slot.kind)) {
      return fail(ErrorCode::BadInput,
                  "the model's input '" + slot.name + "' is a " + arguments[i].type()->str() +
                      ", for which NormLens cannot make up values",
                  "give inputs with --inputs FILE.npz");
    }
    slots.push_back(std::move(slot));
  }
  return slots;
}

std::vector<InputSpec> givenOnes(const InputCandidate& candidate) {
  std::vector<InputSpec> specs;
  for (const auto& spec : candidate) {
    if (spec) specs.push_back(*spec);
  }
  return specs;
}

std::string shapeText(const graph::Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

std::string textOf(const InputCandidate& candidate) {
  std::string text;
  for (const auto& spec : candidate) {
    if (!spec) continue;
    text += (text.empty() ? "" : ", ") + spec->name + "=" + std::string(graph::dtypeName(spec->dtype)) +
            shapeText(spec->shape);
    if (!graph::isFloat(spec->dtype) && spec->dtype != graph::DType::Bool)
      text += ":" + std::to_string(static_cast<int64_t>(spec->low)) + ".." +
              std::to_string(static_cast<int64_t>(spec->high));
  }
  return text.empty() ? "no inputs" : text;
}

void setRange(InputSpec& spec, const InputGuess& guess) {
  spec.low = 0;
  spec.high = guess.highest ? static_cast<double>(std::max<int64_t>(0, *guess.highest)) : 1;
}

}  // namespace normlens::formats::torchscript
