// Measurements over a sweep, in the protocol's structs: what the command line's bench and the window ask for.
// Thread: one; nothing else should run meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/model.h"
#include "core/protocol/bench_messages.h"

namespace normlens::service {

struct FoldedModel {
  formats::Model* model = nullptr;
  double foldMs = 0;
};

struct BenchModels {
  formats::Model& a;             // both are probed where their shapes are not known
  formats::Model* b = nullptr;   // null: A alone
  std::string aName, bName;      // as the answer calls them
  std::optional<double> foldMs;  // what it took to make B; nullopt: B is no fold that was made here
  std::string norm;              // flavour of B; empty where it is not known
  // B in another flavour, kept until the next call. Empty: norm flavours cannot be swept.
  std::function<Result<FoldedModel>(formats::NormFlavour)> fold;
  const formats::Tensors& inputs;  // of A
  // What they look like, one per input, for sweeps over sizes that have names there; may be empty.
  std::vector<formats::InputSpec> specs{};
};

// Told after each round at most ten times a second, and when a point is complete.
using BenchListener = std::function<void(int index, int points, const protocol::BenchPoint& now)>;

// Whether it can be asked for at all, whatever the models: device, type, counts, sweeps. Error: Usage.
[[nodiscard]] Status checkBenchParams(const protocol::BenchParams& params);

// A point that fails says so in its `error` and the rest goes on. Stopped, what was measured comes back with
// `cancelled` set. Errors: Usage; that of the first point where none could be measured; Cancelled before anything was.
[[nodiscard]] Result<protocol::BenchResult> measureModels(const BenchModels& models,
                                                          const protocol::BenchParams& params,
                                                          const BenchListener& listener, const Task& task);

}  // namespace normlens::service
