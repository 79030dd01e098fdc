// What the fuzz targets share: a folder for the file that is read, and what is a find beside what the sanitizers see.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "core/base/result.h"
#include "tests/support/temporary_folder.h"

namespace normlens::fuzz {

inline const std::filesystem::path kShared = "/dev/shm";

// In memory where there is such a folder; one for each process.
class Folder : TemporaryFolder {
 public:
  Folder()
      : TemporaryFolder(std::filesystem::is_directory(kShared) ? kShared : std::filesystem::temp_directory_path()) {}

  [[nodiscard]] std::filesystem::path write(const std::string& name, std::span<const uint8_t> bytes) const {
    std::filesystem::path file = *this / name;
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file;
  }
};

[[noreturn]] inline void found(const std::string& what) {
  std::fprintf(stderr, "found: %s\n", what.c_str());
  std::abort();
}

inline void expectPlainSentence(const Error& error) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
  if (error.message.empty() || std::ranges::any_of(error.message, control)) found("words: " + error.message);
}

inline void expectRefusal(const Error& error) {
  expectPlainSentence(error);
  if (error.code != ErrorCode::Unreadable && error.code != ErrorCode::Unsupported) found("code: " + error.message);
}

}  // namespace normlens::fuzz
