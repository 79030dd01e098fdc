// Writes a trained network as a TorchScript file. Thread: any.
#pragma once

#include <string>

#include "core/lab/nets/network.h"
#include "core/protocol/run_settings.h"

namespace normlens::lab {

// The file's bytes. Weights are those that are computed with. Throws what LibTorch throws.
[[nodiscard]] std::string toTorchScript(const Network& network, const RunSettings& settings, int layers);

}  // namespace normlens::lab
