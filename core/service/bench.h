// Measurements over a sweep, in the protocol's structs, for the command line's bench and for the window.
// Thread: one; nothing else should run meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/model.h"
#include "core/protocol/bench_messages.h"

namespace normlens::service {

// A side of a measurement.
struct BenchModel {
  formats::Model* model = nullptr;       // probed where its shapes are not known; null: there is none
  std::unique_ptr<formats::Model> made;  // Keeps it alive where nobody else does.
  std::string norm;                      // flavour of a fold; empty: it is none
  double foldMs = 0;                     // The fold took as long.
};

struct BenchModels {
  BenchModel a, b;
  // A in another flavour. Empty: B is no fold of A, and norm flavours cannot be swept.
  std::function<Result<BenchModel>(formats::NormFlavour)> fold;
  // Milliseconds of the same fold made anew for inputs of these sizes; empty where `fold` is.
  std::function<Result<double>(const formats::Tensors& inputs)> timeFold;
  const formats::Tensors& inputs;  // A's inputs.
  // Specs of the inputs, one each, for sweeps over sizes that have names there; may be empty.
  const std::vector<formats::InputSpec>& specs;
};

// Called after each round at most ten times a second, and when a point is complete.
using BenchListener = std::function<void(int index, int points, const protocol::BenchPoint& now)>;

// Written-out norms are found once shapes are known. A model that cannot be probed stays without them.
void needShapes(formats::Model& model, const formats::Tensors& inputs, const Task& task);

// Checks the parameters that do not depend on the models: device, type, counts, sweeps. Error: Usage.
[[nodiscard]] Status checkBenchParams(const protocol::BenchParams& params);

// Measures each point; one that fails has its `error` and the rest goes on. Stopped, it returns what was measured with
// `cancelled` set. Errors: Usage; that of the first point where none could be measured; Cancelled before anything was.
[[nodiscard]] Result<protocol::BenchResult> measureModels(BenchModels models, const protocol::BenchParams& params,
                                                          const BenchListener& listener, const Task& task);

}  // namespace normlens::service
