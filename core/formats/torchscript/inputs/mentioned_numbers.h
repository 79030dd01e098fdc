// Integers that a program compares something with or chooses between: sizes and settings that its code insists on.
// Private to formats/torchscript: includes torch.
#pragma once

#include <vector>

#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {

// What this value is compared with: "rate == 16000", "rate in [8000, 16000]". Largest first, without duplicates.
[[nodiscard]] std::vector<int64_t> comparedWith(const Program& program, int value);

// Everything that is compared with or returned by a branch, in [low, high]; largest first, without duplicates.
[[nodiscard]] std::vector<int64_t> mentionedBetween(const Program& program, int64_t low, int64_t high);

}  // namespace normlens::formats::torchscript
