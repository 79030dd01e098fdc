// The JSON objects of the command line, made from the protocol's messages. Field names are stable:
// scripts rely on them. Thread: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/console.h"
#include "app/engine/verbs/model_options.h"
#include "core/protocol/bench_messages.h"
#include "core/protocol/messages.h"
#include "core/service/fuse_norms.h"
#include "core/service/service.h"

namespace normlens::engine {

// An empty text is null.
[[nodiscard]] inline nlohmann::json orNull(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

void printVerify(const protocol::VerifyResult& verify, Console& console);

// plan: what `fold` would do by default.
[[nodiscard]] nlohmann::json analyzeReport(const protocol::ModelInfo& model, const protocol::Analysis& analysis,
                                           const protocol::PlanInfo& plan);
// "folded with a centering because a copy of wte.weight would add 131 kB (13%, limit 10%)". done: not merely planned.
[[nodiscard]] std::string stateText(const protocol::NormState& state, bool done);

[[nodiscard]] nlohmann::json verifyEntry(const protocol::VerifyResult& verify);

struct FoldOutcome {
  protocol::FoldResult fold;
  service::FoldTimes times;
  std::optional<std::string> output;   // path, where a file was written
  bool applied = false;                // there is a folded model, whether it is proved or not
  std::string note;                    // of the model's file
  NormChoice norm;                     // what was written
  std::string format;                  // of the model's file
  std::vector<run::NormRange> ranges;  // where float16 may hold them; else empty
};
[[nodiscard]] nlohmann::json foldReport(const protocol::Analysis& analysis, const FoldOutcome& outcome);

struct FuseOutcome {
  service::Fusing fusing;
  double load_ms = 0;
  double save_ms = 0;
  std::optional<std::string> output;  // path, where a file was written
};
[[nodiscard]] nlohmann::json fuseReport(const FuseOutcome& outcome);

// `inputs`: what both models were run on where nothing was varied. `sweep`: whether anything was; `points` is empty
// otherwise. `command`: the command line of the measurement.
[[nodiscard]] nlohmann::json benchReport(const protocol::BenchResult& result,
                                         const std::vector<protocol::InputSpec>& inputs, bool sweep,
                                         const std::string& command);

}  // namespace normlens::engine
