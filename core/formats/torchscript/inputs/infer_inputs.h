// Describes the inputs of a run, and infers them for a file that carries none. Private to formats/torchscript: includes
// torch.
#pragma once

#include <string>
#include <vector>

#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

// See Model::inputArrays, Model::ownNames and Model::inferInputs.
[[nodiscard]] std::vector<InputArray> inputArraysOf(const Program& program, const std::vector<std::string>& given);
[[nodiscard]] std::vector<std::string> ownNamesOf(const Program& program, std::vector<std::string> given);
[[nodiscard]] Result<std::vector<InputSpec>> inferInputs(const LoweredModel& model, InputsFor use);

}  // namespace normlens::formats::torchscript
