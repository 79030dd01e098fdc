// What a run's folder holds. Thread: pure functions.
#pragma once

#include <filesystem>

namespace normlens::lab {

[[nodiscard]] inline std::filesystem::path checkpointFile(const std::filesystem::path& folder) {
  return folder / "checkpoint";
}
[[nodiscard]] inline std::filesystem::path resultFile(const std::filesystem::path& folder) {
  return folder / "result.json";
}

}  // namespace normlens::lab
