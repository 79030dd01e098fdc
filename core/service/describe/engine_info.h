// Describes this engine and what it runs on.
#pragma once

#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::service {

[[nodiscard]] protocol::EngineInfo engineInfo();
// Returns ONNX Runtime's providers: "CPUExecutionProvider"; empty in a build that reads no ONNX. Errors: Unsupported,
// why there is no ONNX Runtime.
[[nodiscard]] Result<std::vector<std::string>> executionProviders();

// See formats::checkGpu.
[[nodiscard]] Result<protocol::GpuCheck> checkGpu();

// See formats::loadRuntimes and formats::loadTorch.
void loadRuntimes();
void loadTorch();

}  // namespace normlens::service
