#include "core/lab/findings/findings.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/formatted.h"
#include "core/lab/findings/series.h"

namespace normlens::lab {
namespace {

// 1024 -> "1,024", as the cards write it.
std::string wholeNumber(double value) {
  std::string digits = formatted("%.0f", value);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

// Papers 001 §5.3: CBWC centers the p columns of a weight once a step, LayerNorm each of s·b tokens: it pays from
// s·b > p on. Where it pays from the measured sizes on is interpolated on the logarithms of tokens and ratios.
Finding crossing(const RunResult& result, int layers, Precision precision) {
  const RunSettings& settings = result.settings;
  const double tokens = isTransformer(settings) ? settings.context : 1;
  Finding finding{
      "CBWC + RMSNorm takes less time per step than LayerNorm where s·b > p = " + std::to_string(settings.width) +
          " tokens: " + std::to_string(layers) + " layers, " + nameOf(precision),
      {},
      {},
      settings.width,
      {},
      FindingFigure::StepTime};
  std::vector<const StepCost*> costs;
  for (const StepCost& cost : result.costs) {
    const RunMember& of = cost.member;
    if (of.network == NormUse::CbwcRmsNorm && of.layers == layers && of.precision == precision) costs.push_back(&cost);
  }
  std::ranges::sort(costs, {}, &StepCost::batch);
  const auto beyond = [&](const StepCost* cost) { return tokens * cost->batch > settings.width; };
  if (std::ranges::none_of(costs, beyond)) return finding;
  finding.holds =
      std::ranges::all_of(costs, [&](const StepCost* cost) { return !beyond(cost) || cost->ratio_low > 1; });
  const auto after = std::ranges::find_if(costs.rbegin(), costs.rend(), [](auto* cost) { return cost->ratio <= 1; });
  if (after == costs.rbegin()) {
    finding.text = "it does not pay up to " + wholeNumber(tokens * costs.back()->batch) + " tokens here";
  } else if (after == costs.rend()) {
    finding.text = "it pays from " + wholeNumber(tokens * costs.front()->batch) + " tokens on, the fewest measured";
  } else {
    const StepCost &last = **after, &first = **(after - 1);
    const double low = std::log(last.ratio), high = std::log(first.ratio);
    const double step = std::log(static_cast<double>(first.batch) / last.batch);
    finding.value = tokens * last.batch * std::exp(step * -low / (high - low));
    finding.text = "it pays from " + wholeNumber(*finding.value) + " tokens on";
  }
  for (const StepCost* cost : costs) {
    finding.text += "; " + wholeNumber(tokens * cost->batch) + " tokens: " + shortNumber(cost->ratio) + " (" +
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
  if (!isTransformer(result.settings)) return std::nullopt;
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
  return Finding{"RMSNorm alone: what the norms read lies at right angles to the uniform vector",
                 *most < 3 * chance,
                 most,
                 3 * chance,
                 shortNumber(summaryOf(angles)) +
                     " degrees over layers and seeds; a random direction of this width has 90 ± " + shortNumber(chance),
                 FindingFigure::Angle};
}

std::vector<Finding> costOfSteps(const RunResult& result) {
  std::vector<Finding> findings;
  if (!result.settings.batches.empty()) {
    for (const int layers : result.settings.layers) {
      for (const Precision precision : result.settings.precisions)
        findings.push_back(crossing(result, layers, precision));
    }
    std::erase_if(findings, [](const Finding& finding) { return finding.text.empty(); });
    return findings;
  }
  for (const StepCost& cost : result.costs) {
    if (cost.member.network == NormUse::LayerNorm) continue;
    Finding finding{titleOf(cost.member.network) + " takes less time per step than LayerNorm: " +
                        std::to_string(cost.member.layers) + " layers, " + nameOf(cost.member.precision),
                    {},
                    cost.ratio,
                    1,
                    {},
                    FindingFigure::StepTime};
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
