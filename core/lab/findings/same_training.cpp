#include <algorithm>

#include "core/lab/findings/findings.h"
#include "core/lab/findings/series.h"

namespace normlens::lab {
namespace {

// Distance is how far a network got from layer_norm, over all depths and seeds, with one optimizer in one precision.
struct Distance {
  std::optional<double> weights, losses;
  std::string where;  // the weight that differs most
  bool diverged = false;
};

// Returns the layer_norm of the same depth, optimizer, seed and precision.
RunMember referenceOf(RunMember member) {
  member.network = NormUse::LayerNorm;
  return member;
}

std::optional<double> more(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

Distance distanceOf(const RunResult& result, NormUse network, int optimizer, Precision precision) {
  Distance distance;
  for (const RunMember& member : membersOf(result.settings)) {
    if (member.network != network || member.optimizer != optimizer || member.precision != precision) continue;
    const Series series = seriesOf(result, member), reference = seriesOf(result, referenceOf(member));
    for (const RunRecord* record : series) {
      if (!record->weight_difference || *record->weight_difference < distance.weights.value_or(0)) continue;
      distance.weights = record->weight_difference;
      distance.where = record->different_weight;
    }
    distance.losses = more(distance.losses, largestLossDifference(series, reference));
    distance.diverged |= diverged(result, member) || diverged(result, referenceOf(member));
  }
  return distance;
}

std::string inWords(const Distance& distance) {
  std::string text = "weights differ by " + shortNumber(*distance.weights) + " at most";
  if (!distance.where.empty()) text += " (" + distance.where + ")";
  if (distance.losses) text += ", training losses by " + shortNumber(*distance.losses);
  return text + (distance.diverged ? "; a network diverged, and was compared until then" : "");
}

// Rounding errors go down with the precision, by 2^29 but for how training lets them grow; what the method itself does
// to the weights stays.
Finding exactness(const Distance& single, const Distance& twice, const std::string& with) {
  Finding finding{"CBWC + RMSNorm is the same training but for rounding" + with, {}, {}, 1e-4, {}};
  if (!single.weights || !twice.weights) return finding;
  finding.value = *single.weights > 0 ? *twice.weights / *single.weights : 0;
  finding.holds = *finding.value < *finding.limit;
  finding.text = "weights differ by " + shortNumber(*single.weights) + " in float32 and by " +
                 shortNumber(*twice.weights) + " in float64: " +
                 (*finding.holds ? "the difference goes down with the precision"
                                 : "a finer precision does not bring them together");
  return finding;
}

}  // namespace

std::vector<Finding> sameTraining(const RunResult& result) {
  std::vector<Finding> findings;
  const RunSettings& settings = result.settings;
  const auto trains = [&](NormUse network) {
    return std::ranges::find(settings.networks, network) != settings.networks.end();
  };
  if (!trains(NormUse::LayerNorm)) return findings;
  for (int optimizer = 0; optimizer < static_cast<int>(settings.optimizers.size()); ++optimizer) {
    const std::string by = describe(settings.optimizers[static_cast<size_t>(optimizer)]);
    for (const Precision precision : settings.precisions) {
      const std::string with = ": " + by + ", " + nameOf(precision);
      const double limit = sameWeightsLimit(precision);
      for (const bool contrast : {false, true}) {
        const NormUse network = contrast ? NormUse::RmsNorm : NormUse::CbwcRmsNorm;
        if (!trains(network)) continue;
        const Distance distance = distanceOf(result, network, optimizer, precision);
        Finding finding{contrast ? "RMSNorm alone is trained to other weights" + with
                                 : "CBWC + RMSNorm is trained to the weights of LayerNorm" + with,
                        {},
                        distance.weights,
                        limit,
                        {}};
        if (distance.weights) {
          finding.holds = (*distance.weights < limit) != contrast;
          finding.text = inWords(distance);
        }
        findings.push_back(std::move(finding));
      }
    }
    if (trains(NormUse::CbwcRmsNorm) && settings.precisions.size() == 2) {
      findings.push_back(exactness(distanceOf(result, NormUse::CbwcRmsNorm, optimizer, Precision::Float32),
                                   distanceOf(result, NormUse::CbwcRmsNorm, optimizer, Precision::Float64), ": " + by));
    }
  }
  return findings;
}

}  // namespace normlens::lab
