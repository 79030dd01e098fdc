// The shapes of the example inputs that torch.jit.save keeps with a traced module. No torch here.
#pragma once

#include <vector>

#include "core/formats/archive/archive_reader.h"
#include "core/graph/types.h"

namespace normlens::formats::torchscript {

struct TracedInput {
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape shape;
};

// In forward order; empty when the file has none (scripted modules, older files, inputs that are not tensors).
[[nodiscard]] std::vector<TracedInput> readTracedInputs(const Archive& archive);

}  // namespace normlens::formats::torchscript
