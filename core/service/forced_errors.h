// What folding one LayerNorm against its verdict, or replacing one or all of them as they are, would do to the model's
// outputs, in any floating type, beside the noise that the model's own rounding makes there. Keeps the last type's copy
// of the model with its outputs and its noise, so that one norm after the other costs one run each.
//
// Thread: one.
#pragma once

#include <memory>

#include "core/analysis/analysis.h"
#include "core/base/task.h"
#include "core/formats/model.h"
#include "core/protocol/difference_messages.h"

namespace normlens::service {

// References are used during the call only.
struct ForcedSubject {
  const formats::Model& original;
  const analysis::Analysis& analysis;
  const formats::Tensors& inputs;
};

class ForcedErrors {
 public:
  ForcedErrors();
  ~ForcedErrors();
  ForcedErrors(const ForcedErrors&) = delete;
  ForcedErrors& operator=(const ForcedErrors&) = delete;

  // Precondition: the analysis has the norm, or all are meant. What the type, or the norm, is in the way of is told in
  // the result. Errors: Usage (no such type), Cancelled.
  [[nodiscard]] Result<protocol::ForcedError> measure(const ForcedSubject& subject,
                                                      const protocol::ForcedErrorParams& params, const Task& task);
  // To be called when the original, its analysis or its inputs change.
  void forget();

 private:
  struct Kept;
  [[nodiscard]] Status keepType(const ForcedSubject& subject, const std::string& dtype, const Task& task);
  [[nodiscard]] Status measureNoise(const formats::Model& model, const ForcedSubject& subject, const Task& task);

  std::unique_ptr<Kept> kept_;
};

}  // namespace normlens::service
