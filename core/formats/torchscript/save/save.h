// Copies of an opened model in other numbers, and the archive that is written. Private to formats/torchscript: includes
// torch.
#pragma once

#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

// See Model::converted, Model::perturbed and Model::save.
[[nodiscard]] Result<LoweredModel> converted(const LoweredModel& model, graph::DType dtype);
[[nodiscard]] Result<LoweredModel> perturbed(const LoweredModel& model, uint64_t seed);
[[nodiscard]] Status saveModel(const LoweredModel& model, const std::filesystem::path& path, const Task& task);

}  // namespace normlens::formats::torchscript
