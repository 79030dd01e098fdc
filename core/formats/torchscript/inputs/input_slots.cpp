#include "core/formats/torchscript/inputs/input_slots.h"

#include <algorithm>

namespace normlens::formats::torchscript {
namespace {

using c10::TypeKind;

bool isNumber(TypeKind kind) {
  return kind == TypeKind::IntType || kind == TypeKind::FloatType || kind == TypeKind::BoolType;
}

// Returns the guess by the first of its readers that show anything.
InputGuess guessOf(const LoweredModel& model, const InputLayout& leaf) {
  InputGuess guess;
  for (const int value : leaf.values) {
    const graph::ValueId id = model.lowered.graphValue[static_cast<size_t>(value)];
    if (id == graph::kNoValue) continue;
    guess = guessInput(model.graph(), id);
    if (!guess.shapes.empty()) break;
  }
  return guess;
}

}  // namespace

Result<std::vector<InputSlot>> inputSlots(const LoweredModel& model) {
  std::vector<InputSlot> slots;
  const auto& inputs = model.program.inputs;
  for (size_t argument = 0; argument < inputs.size(); ++argument) {
    for (const InputLayout* leaf : leavesOf(inputs[argument])) {
      InputSlot slot{leaf->name, argument, leaf->type->kind(), leaf->optional, {}};
      if (slot.isTensor()) {
        slot.guess = guessOf(model, *leaf);
      } else if (slot.optional) {
        continue;
      } else if (!isNumber(slot.kind)) {
        return fail(ErrorCode::BadInput,
                    "the model's input '" + slot.name + "' is a " + leaf->type->str() +
                        ", for which NormLens cannot make up values",
                    "give inputs with --inputs FILE.npz");
      }
      slots.push_back(std::move(slot));
    }
  }
  return slots;
}

const InputSlot& slotOf(const std::vector<InputSlot>& slots, const InputSpec& spec) {
  return *std::ranges::find(slots, spec.name, &InputSlot::name);
}

InputSpec specOf(const InputSlot& slot, const graph::Shape& shape, graph::DType dtype) {
  InputSpec spec;
  spec.name = slot.name;
  spec.dtype = slot.guess.dtype == graph::DType::Unknown ? dtype : slot.guess.dtype;
  spec.shape = shape;
  if (!graph::isFloat(spec.dtype))
    spec.high = static_cast<double>(std::max<int64_t>(0, slot.guess.highest.value_or(1)));
  return spec;
}

std::string shapeText(const graph::Shape& shape, const char* separator) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : separator) + std::to_string(size);
  return "[" + text + "]";
}

std::string textOf(const InputCandidate& candidate) {
  std::string text;
  for (const InputSpec& spec : candidate) {
    text += (text.empty() ? "" : " ") + spec.name + "=" + std::string(graph::dtypeName(spec.dtype)) +
            shapeText(spec.shape, ",");
    if (!graph::isFloat(spec.dtype) && spec.dtype != graph::DType::Bool)
      text +=
          ":" + std::to_string(static_cast<int64_t>(spec.low)) + ".." + std::to_string(static_cast<int64_t>(spec.high));
  }
  return text.empty() ? "no inputs" : text;
}

}  // namespace normlens::formats::torchscript
