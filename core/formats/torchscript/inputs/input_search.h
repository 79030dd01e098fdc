// Inputs that forward() takes, found by trying: guesses, then what may mend those that came furthest, with sizes,
// values and types that the place where they failed shows. Private to formats/torchscript: includes torch.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/formats/torchscript/inputs/input_slots.h"
#include "core/formats/torchscript/inputs/input_trials.h"

namespace normlens::formats::torchscript {

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
