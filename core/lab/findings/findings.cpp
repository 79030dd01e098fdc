#include "core/lab/findings/findings.h"

#include "core/lab/findings/series.h"

namespace normlens::lab {
namespace {

std::string titleOf(NormUse network) {
  if (network == NormUse::LayerNorm) return "LayerNorm";
  if (network == NormUse::CbwcRmsNorm) return "CBWC + RMSNorm";
  return network == NormUse::RmsNorm ? "RMSNorm alone" : "No norm";
}

}  // namespace

double sameWeightsLimit(Precision precision) { return precision == Precision::Float64 ? 1e-12 : 1e-5; }

std::vector<Finding> costOfSteps(const RunResult& result) {
  std::vector<Finding> findings;
  for (const StepCost& cost : result.costs) {
    if (cost.member.network == NormUse::LayerNorm) continue;
    Finding finding{titleOf(cost.member.network) + " takes less time per step than LayerNorm: " +
                        std::to_string(cost.member.layers) + " layers, " + nameOf(cost.member.precision),
                    {},
                    cost.ratio,
                    1,
                    {}};
    if (!cost.noise) finding.holds = cost.ratio > 1;
    finding.text = shortNumber(cost.ratio) + " times as fast, 95% interval " + shortNumber(cost.ratio_low) + " to " +
                   shortNumber(cost.ratio_high) + (cost.noise ? ": no difference was measured" : "");
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<Finding> findingsOf(const RunResult& result) {
  const Experiment experiment = result.settings.experiment;
  if (experiment == Experiment::Cost) return costOfSteps(result);
  return experiment == Experiment::DepthSweep ? depthOrdering(result) : sameTraining(result);
}

}  // namespace normlens::lab
