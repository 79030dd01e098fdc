// The JSON objects of the command line (DESIGN section 4), made from the protocol's messages. Field names are stable:
// scripts rely on them. Thread: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/protocol/messages.h"
#include "core/run/bench.h"
#include "core/service/service.h"

namespace normlens::engine {

[[nodiscard]] nlohmann::json analyzeReport(const protocol::ModelInfo& model, const protocol::Analysis& analysis);

struct FoldOutcome {
  protocol::FoldResult fold;
  service::FoldTimes times;
  std::optional<std::string> output;  // path, where a file was written
};
[[nodiscard]] nlohmann::json foldReport(const FoldOutcome& outcome);

// One measurement; `batch` is axis 0 of the first input and gives the throughput in items per second.
struct BenchPoint {
  nlohmann::json sizes = nlohmann::json::object();  // of a sweep: {"batch": 4}
  int64_t batch = 1;
  run::BenchReport report;
};
// `points` holds one unnamed point without a sweep.
[[nodiscard]] nlohmann::json benchReport(const std::string& device, const std::string& dtype,
                                         const std::vector<BenchPoint>& points, bool sweep);

}  // namespace normlens::engine
