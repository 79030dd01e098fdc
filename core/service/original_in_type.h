// The open model in one floating type: its outputs on its inputs, and the noise that its own rounding makes there. What
// changes of it do to the outputs is measured against these.
//
// The last type's copy is kept, so that one change after the other costs one run each. Thread: one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/base/task.h"
#include "core/formats/model.h"

namespace normlens::service {

// References are used during a call only.
struct AnalysedModel {
  const formats::Model& original;
  const analysis::Analysis& analysis;
  const formats::Tensors& inputs;
};

class OriginalInType {
 public:
  // Makes model() one of this type and drops any other copy. Errors: Usage (no such floating type), Unsupported (its
  // outputs differ from run to run), those of converting and running, Cancelled.
  [[nodiscard]] Status take(const AnalysedModel& subject, const std::string& dtype, const Task& task);
  // Precondition: take() has succeeded.
  [[nodiscard]] const formats::Model& model(const AnalysedModel& subject) const {
    return copy_ ? *copy_ : subject.original;
  }

  struct OutputError {
    double maxRel = 0;
    double limit = 0;  // six times the noise floor, as in a proof
  };
  // Takes the outputs of a changed model() on the same inputs: returns the largest difference that rounding does not
  // explain, else the largest, so that it is of the same output in every type. Errors: BadInput where shapes differ,
  // RunFailed where no output has a finite number.
  [[nodiscard]] Result<OutputError> errorOf(const formats::Tensors& outputs) const;

  // Call it when the original, its analysis or its inputs change.
  void forget() { *this = {}; }

 private:
  [[nodiscard]] Status checkRepeats(const formats::Model& model, const AnalysedModel& subject, const Task& task) const;
  [[nodiscard]] Status measureNoise(const formats::Model& model, const AnalysedModel& subject, const Task& task);

  std::string dtype_;                     // empty: none
  std::unique_ptr<formats::Model> copy_;  // nullptr: the original is of that type
  formats::Tensors outputs_;
  std::vector<double> noise_;  // One for each output, relative.
};

}  // namespace normlens::service
