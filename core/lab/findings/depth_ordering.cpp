#include <algorithm>
#include <functional>

#include "core/lab/findings/findings.h"
#include "core/lab/findings/series.h"

namespace normlens::lab {
namespace {

using Figure = std::function<std::optional<double>(const Series&)>;

// Papers 001, 5.1: of the last layer's input, throughout training.
std::optional<double> rangeOfLength(const Series& series) {
  return relativeRange(series, [](const RunRecord& record) { return record.inputs.back().length; });
}
std::optional<double> rangeOfMean(const Series& series) {
  return relativeRange(series, [](const RunRecord& record) { return record.inputs.back().mean; });
}
// The mean of the ranges of a kind of layers, without the first and the last `edge` of them.
template <auto Layers, size_t Edge>
std::optional<double> rangeWithin(const Series& series) {
  if (series.empty() || (series.front()->*Layers).size() < 1 + 2 * Edge) return std::nullopt;
  double sum = 0;
  const size_t layers = (series.front()->*Layers).size();
  for (size_t layer = Edge; layer < layers - Edge; ++layer) {
    const auto range = relativeRange(series, [&](const RunRecord& record) { return (record.*Layers)[layer].length; });
    if (!range) return std::nullopt;
    sum += *range;
  }
  return sum / static_cast<double>(layers - 2 * Edge);
}
// Returns the best accuracy over all epochs.
std::optional<double> bestAccuracy(const Series& series) {
  return largest(series, [](const RunRecord& record) { return std::optional(record.test_accuracy); });
}

// Over the seeds and optimizers; nullopt: one of the networks has no such figure.
std::optional<Summary> meanOf(const RunResult& result, NormUse network, int layers, const Figure& figure) {
  std::vector<double> values;
  for (const RunMember& member : membersOf(result.settings)) {
    if (member.network != network || member.layers != layers) continue;
    const auto value = figure(seriesOf(result, member, /*from=*/1));
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values.empty() ? std::nullopt : std::optional(summaryOf(values));
}

struct Claim {
  const char* text;
  Figure figure;
  NormUse network;  // Its figure is less (or more) than that of `other`.
  NormUse other;
  bool less;
  const char* said = "";  // before the two figures
  FindingFigure shownIn = FindingFigure::Lengths;
};

std::vector<Claim> claims() {
  constexpr const char* kBest = "in each one's best epoch ";
  return {
      {"the length of the last layer's input varies less with LayerNorm than with RMSNorm alone", rangeOfLength,
       NormUse::LayerNorm, NormUse::RmsNorm, true},
      {"the mean of the last layer's input varies less with LayerNorm than with RMSNorm alone", rangeOfMean,
       NormUse::LayerNorm, NormUse::RmsNorm, true},
      {"the lengths of the inner layers' inputs vary less with LayerNorm than with RMSNorm alone",
       rangeWithin<&RunRecord::inputs, 1>, NormUse::LayerNorm, NormUse::RmsNorm, true},
      {"the lengths of the norms' inputs vary less with LayerNorm than with RMSNorm alone",  // Figure 15
       rangeWithin<&RunRecord::norms, 0>, NormUse::LayerNorm, NormUse::RmsNorm, true},
      {"LayerNorm reaches a better test accuracy than RMSNorm alone", bestAccuracy, NormUse::LayerNorm,
       NormUse::RmsNorm, false, kBest, FindingFigure::Accuracy},
      {"CBWC + RMSNorm reaches a better test accuracy than RMSNorm alone", bestAccuracy, NormUse::CbwcRmsNorm,
       NormUse::RmsNorm, false, kBest, FindingFigure::Accuracy},
      {"LayerNorm reaches a better test accuracy than no norm", bestAccuracy, NormUse::LayerNorm, NormUse::Plain, false,
       kBest, FindingFigure::Accuracy},
  };
}

// CBWC + RMSNorm has the same statistics as LayerNorm: within a hundredth.
std::optional<Finding> sameStatistics(const RunResult& result, int layers) {
  const auto reference = meanOf(result, NormUse::LayerNorm, layers, rangeOfLength);
  const auto own = meanOf(result, NormUse::CbwcRmsNorm, layers, rangeOfLength);
  if (!reference || !own) return std::nullopt;
  const double difference = std::abs(own->mean - reference->mean) / reference->mean;
  return Finding{
      std::to_string(layers) + " layers: with CBWC + RMSNorm the last layer's input varies as with LayerNorm",
      difference < 0.01,
      difference,
      0.01,
      inPercent(*own) + " of its length with CBWC + RMSNorm, " + inPercent(*reference) + " with LayerNorm",
      FindingFigure::Lengths};
}

}  // namespace

std::vector<Finding> depthOrdering(const RunResult& result) {
  std::vector<Finding> findings;
  for (const int layers : result.settings.layers) {
    for (const Claim& claim : claims()) {
      const auto own = meanOf(result, claim.network, layers, claim.figure);
      const auto other = meanOf(result, claim.other, layers, claim.figure);
      if (!own || !other) continue;
      const bool holds = claim.less ? own->mean < other->mean : own->mean > other->mean;
      findings.push_back({std::to_string(layers) + " layers: " + claim.text, holds, own->mean, other->mean,
                          claim.said + inPercent(*own) + " against " + inPercent(*other), claim.shownIn});
    }
    if (auto same = sameStatistics(result, layers)) findings.push_back(std::move(*same));
  }
  return findings;
}

}  // namespace normlens::lab
