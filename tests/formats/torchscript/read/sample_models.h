// The shared sample models, where they are: NORMLENS_SHARED, or ../shared beside the repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace normlens::formats::test {

// The folder of the sample models; empty when it is not here.
inline std::filesystem::path sampleFolder() {
  const char* given = std::getenv("NORMLENS_SHARED");
  const std::filesystem::path shared = given != nullptr ? given : NORMLENS_SOURCE_DIR "/../shared";
  std::error_code ignored;
  const auto models = std::filesystem::weakly_canonical(shared / "models", ignored);
  return std::filesystem::is_directory(models, ignored) ? models : std::filesystem::path();
}

// Files of a folder with this ending, in order.
inline std::vector<std::filesystem::path> filesEndingIn(const std::filesystem::path& folder,
                                                        const std::string& ending) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(ending)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace normlens::formats::test

#define NORMLENS_NEED_SAMPLES(folder) \
  if ((folder).empty()) GTEST_SKIP() << "the shared sample models are not here (set NORMLENS_SHARED)"
