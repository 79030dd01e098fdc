// Inputs that forward() takes, found by trying: guesses, then what may mend those that came furthest, with sizes,
// values and types that the place where they failed shows. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/formats/torchscript/inputs/input_guess.h"
#include "core/formats/torchscript/inputs/input_trials.h"
#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

// The arrays of forward()'s arguments for which values are made up, one by one.
struct InputSlot {
  std::string name;
  size_t argument = 0;                             // An argument of forward(), self not counted.
  c10::TypeKind kind = c10::TypeKind::TensorType;  // or IntType, FloatType, BoolType
  bool optional = false;
  InputGuess guess;  // Set for a tensor.
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

class InputSearch {
 public:
  // The arguments must outlive the search. `unknown`: shapes for inputs of which the graph shows nothing.
  InputSearch(InputTrials& trials, const Program& program, const std::vector<InputSlot>& slots,
              const std::vector<graph::Shape>& unknown, graph::DType floats);

  // The first that works, of these or of what their failures suggest; nullopt: none was found in time.
  std::optional<InputCandidate> run(const std::vector<InputCandidate>& guesses);
  // The trial that came furthest, and why it failed.
  [[nodiscard]] const InputCandidate& furthest() const { return furthest_; }
  [[nodiscard]] const std::string& whyFurthestFailed() const { return whyFurthestFailed_; }

 private:
  using Untried = std::multimap<size_t, InputCandidate, std::greater<>>;  // by how far those came that they mend
  bool works(const InputCandidate& candidate, size_t guess, size_t atLeast);
  void mend(const InputCandidate& failed, const Interpreter::Fault& fault, Untried& into) const;

  InputTrials& trials_;
  const std::vector<InputSlot>& slots_;
  const std::vector<graph::Shape>& unknown_;
  graph::DType floats_;
  std::vector<int64_t> mentioned_;  // numbers that the code insists on
  std::set<std::string> seen_;
  std::vector<Untried> untried_;  // by the guess that they come from
  InputCandidate furthest_;
  std::string whyFurthestFailed_;
  size_t furthestReached_ = 0;
};

}  // namespace normlens::formats::torchscript
