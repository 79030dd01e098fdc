// What this engine is and runs on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::service {

[[nodiscard]] protocol::EngineInfo engineInfo();
// Of ONNX Runtime: "CPUExecutionProvider"; empty without it.
[[nodiscard]] std::vector<std::string> executionProviders();

// See formats::runtimeFolders.
[[nodiscard]] std::vector<std::filesystem::path> runtimeFolders();

}  // namespace normlens::service
