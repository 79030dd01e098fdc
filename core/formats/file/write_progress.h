// Reports in words how far a file is that is being written: "writing out.onnx: 312 of 498 MB, 410 MB/s, 1 s left".
// Private to formats/file. Thread: one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/stopwatch.h"
#include "core/base/task.h"

namespace normlens::formats {

class WriteProgress {
 public:
  WriteProgress(uint64_t total, const std::filesystem::path& path, const Task& task)
      : total_(total), what_("writing " + path.filename().string()), task_(task) {}

  // Errors: Cancelled.
  [[nodiscard]] Status wrote(uint64_t bytes);

 private:
  [[nodiscard]] std::string words(double ms) const;

  uint64_t total_, done_ = 0;
  double toldAt_ = 0;  // ms
  std::string what_;
  const Task& task_;
  Stopwatch watch_;
};

}  // namespace normlens::formats
