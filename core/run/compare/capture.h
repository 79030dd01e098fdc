// Values of a model's graph as one run made them. Thread: one thread per model.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/formats/model.h"

namespace normlens::run {

// By value; one that was not reached (a branch not taken), or is no tensor, has no data or is missing.
using Captured = std::unordered_map<graph::ValueId, graph::TensorView>;

// `tensors`: what a run made of these values, see Model::runSeeing.
[[nodiscard]] Captured captured(const std::vector<graph::ValueId>& values, const formats::Tensors& tensors);

[[nodiscard]] Result<Captured> capture(const formats::Model& model, std::vector<graph::ValueId> values,
                                       const formats::Tensors& inputs, const Task& task);

}  // namespace normlens::run
