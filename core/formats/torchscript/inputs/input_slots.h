// The arrays of forward()'s arguments for which values are made up, one by one. Private to formats/torchscript:
// includes torch.
#pragma once

#include <torch/script.h>

#include <optional>
#include <string>
#include <vector>

#include "core/formats/torchscript/inputs/input_guess.h"
#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {

struct InputSlot {
  std::string name;
  size_t argument = 0;                             // of forward(), self not counted
  c10::TypeKind kind = c10::TypeKind::TensorType;  // or IntType, FloatType, BoolType
  bool optional = false;
  InputGuess guess;  // of a tensor
  [[nodiscard]] bool isTensor() const { return kind == c10::TypeKind::TensorType; }
};

// One spec per slot; nullopt: left out.
using InputCandidate = std::vector<std::optional<InputSpec>>;

// Required ones, and tensors that may be left out. Error: a required input for which nothing can be made up.
[[nodiscard]] Result<std::vector<InputSlot>> inputSlots(const TorchScriptModel& model);
[[nodiscard]] std::vector<InputSpec> givenOnes(const InputCandidate& candidate);
[[nodiscard]] std::string shapeText(const graph::Shape& shape);
// "x=float32[2, 8], ids=int64[2, 7]:0..9": as --input takes them.
[[nodiscard]] std::string textOf(const InputCandidate& candidate);
// What is drawn for an integer tensor of this slot: indices of the smallest table it reaches, else zeros and ones.
void setRange(InputSpec& spec, const InputGuess& guess);

}  // namespace normlens::formats::torchscript
