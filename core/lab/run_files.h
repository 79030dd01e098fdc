// Names the files in a run's folder. Thread: pure functions.
#pragma once

#include <filesystem>

namespace normlens::lab {

// A trained network's file has this suffix: TorchScript.
inline constexpr const char* kNetworkSuffix = ".pt";

[[nodiscard]] inline std::filesystem::path checkpointFile(const std::filesystem::path& folder) {
  return folder / "checkpoint";
}
[[nodiscard]] inline std::filesystem::path resultFile(const std::filesystem::path& folder) {
  return folder / "result.json";
}

}  // namespace normlens::lab
