// Inputs that forward() takes, found by trying: first guesses, then what mends those that came furthest.
// Private to formats/torchscript: includes torch.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/formats/torchscript/inputs/input_slots.h"
#include "core/formats/torchscript/inputs/input_trials.h"

namespace normlens::formats::torchscript {

class InputSearch {
 public:
  // What is passed must outlive the search. `unknown`: shapes for inputs of which the graph says nothing.
  InputSearch(InputTrials& trials, const std::vector<InputSlot>& slots, const std::vector<graph::Shape>& unknown,
              graph::DType floats)
      : trials_(trials), slots_(slots), unknown_(unknown), floats_(floats) {}

  // The first that works, of these or of what their failures suggest; nullopt: none was found in time.
  std::optional<InputCandidate> run(const std::vector<InputCandidate>& guesses);
  // Of the trial that came furthest: what was tried, and why it failed.
  [[nodiscard]] const std::string& furthest() const { return furthest_; }

 private:
  // A candidate that failed, and what it suggests.
  struct Failed {
    InputCandidate candidate;
    InputFault fault;
    size_t guess = 0;                                    // the one that it comes from, by repairs
    std::optional<std::vector<InputCandidate>> repairs;  // made when they are first asked for
    size_t next = 0;
  };

  bool works(const InputCandidate& candidate, size_t guess, size_t atLeast);
  Failed* best(std::optional<size_t> ofGuess);

  InputTrials& trials_;
  const std::vector<InputSlot>& slots_;
  const std::vector<graph::Shape>& unknown_;
  graph::DType floats_;
  std::set<std::string> seen_;
  std::vector<Failed> failed_;
  std::string furthest_;
  size_t furthestReached_ = 0;
};

}  // namespace normlens::formats::torchscript
