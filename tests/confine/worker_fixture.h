// A worker that is run to its end.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/confine/worker.h"
#include "tests/support/temporary_folder.h"

namespace normlens::confine {

struct Outcome {
  Worker::End end;
  std::vector<std::string> printed;
  std::chrono::milliseconds took{};
};

class WorkerTest : public ::testing::Test {
 protected:
  // Serves door and noise, and kills as a supervisor would; stopAfter: it is asked to stop then, killed 500 ms later.
  static Outcome run(const Worker::Body& body, Worker::Start start = {},
                     std::optional<std::chrono::milliseconds> stopAfter = {},
                     const std::function<void(std::string_view)>& onPrint = {});
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  std::filesystem::path write(const std::string& name,
                              const std::string& text) const;  // NOLINT(modernize-use-nodiscard)
  [[nodiscard]] std::string read(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  TemporaryFolder folder_;
};

}  // namespace normlens::confine
