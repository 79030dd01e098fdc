#include "core/lab/findings/findings.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/lab/findings/series.h"

namespace normlens::lab {
namespace {

std::string nameIn(NormUse network) {
  if (network == NormUse::LayerNorm) return "LayerNorm";
  if (network == NormUse::CbwcRmsNorm) return "CBWC + RMSNorm";
  if (network == NormUse::CrmsNorm) return "CRMSNorm";
  return network == NormUse::RmsNorm ? "RMSNorm alone" : "No norm";
}

// Papers 001 §3.2 and E.2: CBWC centers p columns once a step, LayerNorm each of s·b tokens. The crossing is
// interpolated between the batches whose ratios lie on both sides of 1, on the logarithms of tokens and ratios.
Finding crossing(const RunResult& result, NormUse network, int layers, Precision precision) {
  const RunSettings& settings = result.settings;
  const double tokens = isTransformer(settings) ? settings.context : 1;
  Finding finding{nameIn(network) +
                      " takes less time per step than LayerNorm where a step has more tokens than a layer "
                      "has inputs, s·b > p: " +
                      std::to_string(layers) + " layers, " + nameOf(precision),
                  {},
                  {},
                  settings.width,
                  {}};
  std::vector<const StepCost*> costs;
  for (const StepCost& cost : result.costs) {
    if (cost.member.network == network && cost.member.layers == layers && cost.member.precision == precision)
      costs.push_back(&cost);
  }
  std::ranges::sort(costs, {}, &StepCost::batch);
  for (size_t i = 1; i < costs.size() && !finding.value; ++i) {
    const double before = std::log(costs[i - 1]->ratio), after = std::log(costs[i]->ratio);
    if (!(before <= 0 && after > 0)) continue;
    const double step = std::log(static_cast<double>(costs[i]->batch) / costs[i - 1]->batch);
    finding.value = tokens * costs[i - 1]->batch * std::exp(step * -before / (after - before));
  }
  const auto beyond = [&](const StepCost* cost) { return tokens * cost->batch > settings.width; };
  if (std::ranges::none_of(costs, beyond)) return finding;
  finding.holds =
      std::ranges::all_of(costs, [&](const StepCost* cost) { return !beyond(cost) || cost->ratio_low > 1; });
  finding.text = finding.value ? "the times cross at " + shortNumber(std::round(*finding.value)) + " tokens"
                               : "the times do not cross";
  for (const StepCost* cost : costs) {
    finding.text += "; " + shortNumber(tokens * cost->batch) + " tokens: " + shortNumber(cost->ratio) + " (" +
                    shortNumber(cost->ratio_low) + " to " + shortNumber(cost->ratio_high) + ") times as fast";
  }
  return finding;
}

}  // namespace

double sameWeightsLimit(Precision precision) {
  if (precision == Precision::BFloat16) return 0x1p-7;  // bfloat16's epsilon
  return precision == Precision::Float64 ? 1e-12 : 1e-5;
}

std::optional<Finding> rightAngles(const RunResult& result) {
  const double chance = 180 / std::numbers::pi / std::sqrt(result.settings.width);
  std::optional<double> most;
  std::vector<double> angles;
  for (const RunRecord& last : lastOfEach(result.records)) {
    if (last.member.network != NormUse::RmsNorm) continue;
    for (const InputStatistics& norm : last.norms) {
      angles.push_back(norm.angle);
      most = std::max(most.value_or(0), std::abs(norm.angle - 90));
    }
  }
  if (!most) return std::nullopt;
  return Finding{"RMSNorm alone: what the norms read lies at right angles to the uniform vector", *most < 3 * chance,
                 most, 3 * chance,
                 shortNumber(summaryOf(angles)) +
                     " degrees over layers and seeds; a random direction of this width has 90 ± " +
                     shortNumber(chance)};
}

std::vector<Finding> costOfSteps(const RunResult& result) {
  std::vector<Finding> findings;
  if (!result.settings.batches.empty()) {
    for (const int layers : result.settings.layers) {
      for (const Precision precision : result.settings.precisions) {
        for (const NormUse network : {NormUse::CbwcRmsNorm, NormUse::RmsNorm})
          findings.push_back(crossing(result, network, layers, precision));
      }
    }
    std::erase_if(findings, [](const Finding& finding) { return finding.text.empty(); });
    return findings;
  }
  for (const StepCost& cost : result.costs) {
    if (cost.member.network == NormUse::LayerNorm) continue;
    Finding finding{nameIn(cost.member.network) + " takes less time per step than LayerNorm: " +
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
  auto findings = experiment == Experiment::DepthSweep ? depthOrdering(result) : sameTraining(result);
  if (auto angles = rightAngles(result)) findings.push_back(std::move(*angles));
  return findings;
}

}  // namespace normlens::lab
