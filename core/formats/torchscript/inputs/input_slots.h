// The arrays of forward()'s arguments for which values are made up, one by one. Private to formats/torchscript:
// includes torch.
#pragma once

#include <torch/script.h>

#include <optional>
#include <string>
#include <vector>

#include "core/formats/torchscript/inputs/input_guess.h"
#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

struct InputSlot {
  std::string name;
  size_t argument = 0;                             // of forward(), self not counted
  c10::TypeKind kind = c10::TypeKind::TensorType;  // or IntType, FloatType, BoolType
  bool optional = false;
  InputGuess guess;  // of a tensor
  [[nodiscard]] bool isTensor() const { return kind == c10::TypeKind::TensorType; }
};

// Specs for some of the slots, in their order.
using InputCandidate = std::vector<InputSpec>;

// Required ones, and tensors that may be left out. Error: a required input for which nothing can be made up.
[[nodiscard]] Result<std::vector<InputSlot>> inputSlots(const LoweredModel& model);
// That of the same name.
[[nodiscard]] const InputSlot& slotOf(const std::vector<InputSlot>& slots, const InputSpec& spec);
// Values for a slot: `dtype` where its guess has none; of integers indices of the smallest table it reaches, else
// zeros and ones.
[[nodiscard]] InputSpec specOf(const InputSlot& slot, const graph::Shape& shape, graph::DType dtype);
[[nodiscard]] std::string shapeText(const graph::Shape& shape, const char* separator = ", ");
// "x=float32[2,8] ids=int64[2,7]:0..9": each as --input takes it.
[[nodiscard]] std::string textOf(const InputCandidate& candidate);

}  // namespace normlens::formats::torchscript
