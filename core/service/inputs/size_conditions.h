// Verdicts that depend on an input having size 1 along an axis, as a gate [batch, tokens, 1] has, where the file does
// not guarantee it for every run.
//
// Such a size is relied on only if norms fold because of it, and is then tried: the model is run with as many elements
// there as it is broadcast to, and what was seen is analysed. Where the model runs and a norm no longer folds, the
// condition is withdrawn and the model analysed without it; all that does not hang on it still folds.
// docs/method.md 2.4.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/formats/model.h"
#include "core/protocol/messages.h"

namespace normlens::service {

// SizeChoice is the user's decision about it.
struct SizeChoice {
  std::vector<std::string> assume;  // "gate[-1]=1": rely on it whatever a run shows
  bool strict = false;              // rely on no others
};

// Error: Usage; one of `assume` has another form, or names none of these inputs.
[[nodiscard]] Status checkSizes(const SizeChoice& choice, const std::vector<std::string>& inputs);

// Returns the conditions that the inputs have as many axes as these: of a fold that differs where they have others.
[[nodiscard]] std::vector<protocol::SizeCondition> sameRanks(const formats::Tensors& inputs, const std::string& tested);

struct ConditionalAnalysis {
  std::unique_ptr<analysis::Analysis> analysis;
  std::vector<std::vector<protocol::SizeCondition>> holdsIf, wouldFoldIf;  // by norm, as protocol::NormInfo has them
};

// `weights`: what is known of those of the model, from one analysis to the next.
// `model` was probed with `inputs`, and is again when it returns. Errors: those of analyze(); Usage where `assume`
// names what is not there.
[[nodiscard]] Result<ConditionalAnalysis> analyzeUnderConditions(formats::Model& model, const formats::Tensors& inputs,
                                                                 const SizeChoice& choice,
                                                                 analysis::FiniteWeights& weights, const Task& task);

}  // namespace normlens::service
