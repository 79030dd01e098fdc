// What a run's folder holds. Thread: pure functions.
#pragma once

#include <filesystem>

namespace normlens::lab {

// Of the file of a trained network: TorchScript.
inline constexpr const char* kNetworkSuffix = ".pt";

[[nodiscard]] inline std::filesystem::path checkpointFile(const std::filesystem::path& folder) {
  return folder / "checkpoint";
}
[[nodiscard]] inline std::filesystem::path resultFile(const std::filesystem::path& folder) {
  return folder / "result.json";
}

}  // namespace normlens::lab
