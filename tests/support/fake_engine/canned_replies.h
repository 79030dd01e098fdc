// What the fake engine answers about a canned model.
#pragma once

#include "core/protocol/messages.h"
#include "core/protocol/probe_messages.h"
#include "core/protocol/report_messages.h"
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
[[nodiscard]] protocol::Report report(const protocol::ReportParams& params);
[[nodiscard]] protocol::ProbeSwaps probeSwaps(const CannedModel& model, const protocol::ProbeSwapsParams& params);
[[nodiscard]] protocol::ProbeResult probe(const CannedModel& model, const protocol::ProbeParams& params);

}  // namespace normlens::fake
