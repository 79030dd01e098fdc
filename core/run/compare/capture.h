// Values of a model's graph as one run made them. Thread: one thread per model.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/formats/model.h"

namespace normlens::run {

// By value; one that was not reached (a branch not taken), or is no tensor, has no data or is missing.
using Captured = std::unordered_map<graph::ValueId, graph::TensorView>;

// `tensors`: what a run made of these values, see Model::runSeeing.
[[nodiscard]] Captured captured(const std::vector<graph::ValueId>& values, const formats::Tensors& tensors);

// runner: a runner of the model with these inputs, on whose device the values are made; null: the model itself runs.
[[nodiscard]] Result<Captured> capture(const formats::Model& model, std::vector<graph::ValueId> values,
                                       const formats::Tensors& inputs, const Task& task,
                                       formats::Runner* runner = nullptr);

// Returns which neighbors one run may capture together, by how many bytes each of them takes: [first, end) of each run.
// More than a gigabyte takes more runs, and what takes more by itself one of its own.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> captureTurns(const std::vector<int64_t>& bytes);

}  // namespace normlens::run
