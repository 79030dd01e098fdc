// Results of the engine's parts as protocol structs.
#pragma once

#include <string>
#include <string_view>

#include "core/analysis/analysis.h"
#include "core/formats/model.h"
#include "core/protocol/messages.h"
#include "core/run/proof/verify.h"
#include "core/service/plans/plan_maker.h"

namespace normlens::service {

[[nodiscard]] protocol::ModelInfo describeModel(const formats::Model& model, const analysis::Norms& norms);
// `probeError`: why the model has no shapes; empty where it ran.
[[nodiscard]] protocol::Analysis describeAnalysis(const graph::Graph& graph, const analysis::Analysis& analysis,
                                                  const std::vector<formats::InputSpec>& inputs,
                                                  std::string probeError);
// "25 LayerNorms, 20 free, 3 with centering, 2 blocked", and where there are any ", 1 unknown".
[[nodiscard]] std::string inWords(const protocol::Totals& totals);
[[nodiscard]] std::vector<protocol::InputSpec> describeInputs(const std::vector<formats::InputSpec>& inputs);
[[nodiscard]] protocol::ZeroMeanGraph describeZeroMeanGraph(const analysis::Analysis& analysis, int norm);
[[nodiscard]] protocol::PlanInfo describePlan(const graph::Graph& graph, const analysis::Analysis& analysis,
                                              const PricedPlan& priced);
[[nodiscard]] protocol::VerifyResult describeVerification(const run::Verification& verification);
// Returns why a change is not proved, of a verification that is not exact; what: "folded".
[[nodiscard]] std::string whyNotProved(const run::Verification& verification, std::string_view what);

}  // namespace normlens::service
