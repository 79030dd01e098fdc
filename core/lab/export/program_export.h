// A trained network as an archive of torch.export (.pt2): for any batch and, of a transformer, any length up to its
// context. Thread: any.
#pragma once

#include <filesystem>

#include "core/lab/nets/network.h"
#include "core/lab/run_settings.h"

namespace normlens::lab {

// Complete or not at all; an older file is replaced. Weights are those that are computed with. Errors: WriteFailed.
// Throws what LibTorch throws.
[[nodiscard]] Status writeProgram(const Network& network, const RunSettings& settings, int layers,
                                  const std::filesystem::path& path);

}  // namespace normlens::lab
