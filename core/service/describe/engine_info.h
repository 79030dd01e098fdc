// Describes this engine and what it runs on.
#pragma once

#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::service {

[[nodiscard]] protocol::EngineInfo engineInfo();
// Returns ONNX Runtime's providers: "CPUExecutionProvider"; empty without it.
[[nodiscard]] std::vector<std::string> executionProviders();

// See formats::checkGpu.
[[nodiscard]] Result<protocol::GpuCheck> checkGpu();

// See formats::runtimeLibraries.
[[nodiscard]] std::vector<std::string> runtimeLibraries();

}  // namespace normlens::service
