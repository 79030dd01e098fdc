// The output of the verb crms: its JSON object and its lines. Field names are stable. Thread: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/messages.h"
#include "core/service/plans/narrow_streams.h"

namespace normlens::engine {

struct CrmsOutcome {
  service::Narrowing narrowing;
  double load_ms = 0, save_ms = 0;
  std::optional<std::string> output;  // path, where a file was written
};

[[nodiscard]] nlohmann::json crmsReport(const protocol::Analysis& analysis, const CrmsOutcome& outcome);
[[nodiscard]] std::vector<std::string> crmsLines(const protocol::Analysis& analysis, const CrmsOutcome& outcome);

}  // namespace normlens::engine
