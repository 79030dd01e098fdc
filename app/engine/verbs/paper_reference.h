// Measurements of the papers, to print beside our own figures: resources/reference/paper_figures.json, which is part of
// the program. Thread: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/protocol/bench_messages.h"

namespace normlens::engine {

// The speed-ups of the papers at the point's sequence length or batch size, where either is varied: [{"model",
// "device", "source", "batch" or "seq" as the papers kept it, "speedup"}]. Empty: they report none there.
[[nodiscard]] nlohmann::json paperSpeedups(const protocol::BenchPoint& point);
// "GPT-2 1.044 (A100-40GB, batch 4), ..."; empty for none.
[[nodiscard]] std::string paperSpeedupText(const nlohmann::json& speedups);

// Returns how long the papers' folds took and after how many runs they had paid for themselves: [{"model", "device",
// "source", "batch", "seq", "fold_ms", "init_ms", "ratio_percent", "before_ms", "after_ms", "reduction_percent",
// "break_even"}].
[[nodiscard]] nlohmann::json paperFolds();
// Returns their other tables as the file has them: "shares" of LayerNorm in the time, "runtimes" and "memory" of norms
// of their own, "runs", "spread" of the fold's time, "bounds", "doubts".
[[nodiscard]] nlohmann::json paperTables();
// "folds of 35 to 178 ms paid for after 36 to 328 runs (A100-40GB, V100-32GB); LayerNorm 7.3 to 11.7% of the time, ..."
[[nodiscard]] std::string paperFoldText();

}  // namespace normlens::engine
