// What the fuzz targets share: a folder for the file that is read, and what is a find beside what the sanitizers see.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "core/base/result.h"

namespace normlens::fuzz {

// In memory where there is such a folder; one for each process.
class Folder {
 public:
  Folder() {
    std::error_code error;
    const std::filesystem::path shared = "/dev/shm";
    const auto parent = std::filesystem::is_directory(shared, error) ? shared : std::filesystem::temp_directory_path();
    std::string name = (parent / "normlens-fuzz-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::filesystem::path write(const std::string& name, std::span<const uint8_t> bytes) const {
    std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file;
  }

 private:
  std::filesystem::path path_;
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
