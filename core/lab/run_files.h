// What a run's folder holds. Thread: pure functions.
#pragma once

#include <array>
#include <filesystem>
#include <string_view>

namespace normlens::lab {

// Of the files of a trained network: TorchScript, torch.export.
inline constexpr std::array<std::string_view, 2> kNetworkSuffixes{".pt", ".pt2"};

[[nodiscard]] inline std::filesystem::path checkpointFile(const std::filesystem::path& folder) {
  return folder / "checkpoint";
}
[[nodiscard]] inline std::filesystem::path resultFile(const std::filesystem::path& folder) {
  return folder / "result.json";
}

}  // namespace normlens::lab
