// Norms that a model's outputs do not show: whatever is made of them ends in a step (Ceil, Sign, a comparison), in an
// index or in an op of which nothing is known. The outputs of two models can be equal bit for bit there and the norms
// far apart. Thread: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::run {

struct HiddenNorm {
  graph::ValueId output = graph::kNoValue;
  std::vector<graph::ValueId> before;  // Values made of it and read by such a step, each once.
};

// UnknownOps decides whether an op of unknown meaning (padding by run-time amounts) hides or shows what it reads.
enum class UnknownOps : uint8_t { Hide, Show };

// Returns those of the norms with these outputs from which no path of continuous ops leads to a floating-point output
// of the model or to one of `shown`. A norm of which only shapes are read is none of them.
[[nodiscard]] std::vector<HiddenNorm> hiddenNorms(const graph::Graph& graph, const std::vector<graph::ValueId>& outputs,
                                                  const std::vector<graph::ValueId>& shown,
                                                  UnknownOps unknown = UnknownOps::Hide);

// Returns why a proof that could not compare it otherwise decides nothing.
[[nodiscard]] std::string whyHidden(const std::string& norm);

}  // namespace normlens::run
