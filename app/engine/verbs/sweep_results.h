// What sweeps told of their models, one JSON object a line (docs/sweep.md): which models are done, and need not be done
// again. Lines are only ever added to the file, each in one piece and behind a lock, so that several sweeps may share
// it; one that a kill has cut short counts for nothing.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/confine/doorkeeper.h"

namespace normlens::engine {

// {"path","bytes","modified"}, the last one in nanoseconds since 1970; null: it is not there.
[[nodiscard]] nlohmann::json fileState(const std::filesystem::path& path);
[[nodiscard]] nlohmann::json fileState(const confine::HandedFile& file);

// Thread: one.
class SweepResults {
 public:
  SweepResults() = default;  // remembers nothing
  // Makes the file where there is none. Errors: Usage where it holds something else, WriteFailed.
  [[nodiscard]] static Result<SweepResults> open(const std::string& path);

  // The line of a model that was done with these options, where every file that this read and wrote is as it was then.
  [[nodiscard]] std::optional<nlohmann::json> done(const std::string& model, const nlohmann::json& options);
  // Error: WriteFailed.
  [[nodiscard]] Status append(const nlohmann::json& line);

 private:
  void remember();

  std::string path_;
  Descriptor file_;
  std::ifstream lines_;
  std::unordered_map<size_t, std::streamoff> done_;  // where the line of a model with its options begins, by their hash
};

}  // namespace normlens::engine
