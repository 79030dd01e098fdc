// What the fake engine answers about a canned model.
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/protocol/bench_messages.h"
#include "core/protocol/difference_messages.h"
#include "core/protocol/messages.h"
#include "core/protocol/probe_messages.h"
#include "core/protocol/report_messages.h"
#include "core/protocol/stream_messages.h"
#include "core/protocol/weight_messages.h"
#include "tests/support/fake_engine/canned_model.h"

namespace normlens::fake {

[[nodiscard]] protocol::ModelInfo modelInfo(const CannedModel& model, const std::string& path);
// The same with an RMSNorm in the place of each LayerNorm that folds free.
[[nodiscard]] protocol::ModelInfo foldedInfo(const CannedModel& model, const protocol::PlanParams& params);
[[nodiscard]] protocol::Analysis analysis(const CannedModel& model);
void hideShapes(protocol::Analysis& told);  // as if the model had not been run
[[nodiscard]] protocol::ZeroMeanMap zeroMeanMap(const CannedModel& model, const protocol::PlanParams& params);
[[nodiscard]] protocol::ShiftCone shiftCone(const CannedModel& model, int node);
[[nodiscard]] protocol::ZeroMeanGraph zeroMeanGraph(const CannedModel& model, int norm);
[[nodiscard]] protocol::PlanInfo plan(const CannedModel& model, protocol::PlanParams params, bool runs = true);
[[nodiscard]] protocol::CenterPreview preview(const CannedModel& model, int value);
[[nodiscard]] protocol::FoldResult foldResult(const CannedModel& model, const protocol::FoldParams& params);
[[nodiscard]] protocol::TensorStats tensorStats(const CannedModel& model, int value);

[[nodiscard]] std::vector<protocol::InputSpec> analysisInputs();
// Believes whatever it is told; one input.
[[nodiscard]] protocol::InputsInfo inputsInfo(const protocol::InputsParams& params);

// Inputs of a mean that dies away with depth; folded they have none.
[[nodiscard]] protocol::Targets targets();  // of a TorchScript file
[[nodiscard]] protocol::Report report(const protocol::ReportParams& params);
[[nodiscard]] protocol::ProbeSwaps probeSwaps(const CannedModel& model, const protocol::ProbeSwapsParams& params);
[[nodiscard]] protocol::ProbeResult probe(const CannedModel& model, const protocol::ProbeParams& params);

// What the fake engine answers about residual streams: a decoder has one, and an encoder is post-norm.

[[nodiscard]] protocol::StreamReport streams(const CannedModel& model, const protocol::StreamParams& params);
// Writes a file of a line; a name that holds "unproved" is one whose proof fails.
[[nodiscard]] protocol::NarrowResult narrow(const CannedModel& model, const protocol::NarrowParams& params);

// What the fake engine answers about differences: errors that grow with depth, by type; float16 cannot be run.

// A file whose name holds "broken" is no model.
[[nodiscard]] Result<protocol::DiffResult> diffResult(const CannedModel& model, const protocol::DiffParams& params);
[[nodiscard]] Result<protocol::TensorPair> tensorPair(const CannedModel& model,
                                                      const protocol::TensorPairParams& params);
// The first of the weights was centered, the others changed otherwise.
[[nodiscard]] protocol::WeightChanges weightChanges(const protocol::WeightChangesParams& params);
// A norm that folds is off by rounding.
[[nodiscard]] protocol::ForcedError forcedError(const CannedModel& model, const protocol::ForcedErrorParams& params);

// A measurement as the fake engine tells it: twenty rounds a point, the folded model a little faster each time the
// sequence grows; 16384 tokens do not fit its memory.

// Tells each round; `pause` is called between rounds and is true when the measurement is to stop.
[[nodiscard]] Result<protocol::BenchResult> measure(const protocol::BenchParams& params,
                                                    const std::function<void(const protocol::BenchUpdate&)>& tell,
                                                    const std::function<bool()>& pause);

}  // namespace normlens::fake
