#include <algorithm>
#include <cmath>

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

// The largest weight differences and the last accuracies of a network, over the depths and seeds.
struct Trained {
  std::vector<double> weights, accuracies;
};
Trained trainedWith(const RunResult& result, NormUse network, int optimizer, Precision precision) {
  Trained trained;
  for (const RunMember& member : membersOf(result.settings)) {
    if (member.network != network || member.optimizer != optimizer || member.precision != precision) continue;
    const Series series = seriesOf(result, member);
    const auto most = largest(series, [](const RunRecord& record) { return record.weight_difference; });
    if (most) trained.weights.push_back(*most);
    if (!series.empty()) trained.accuracies.push_back(series.back()->test_accuracy);
  }
  return trained;
}

// Papers 001 §5.3: dropout in front of a norm breaks the zero mean, and CBWC + RMSNorm lies between the other two. The
// seeds are pairs: it is decided where the mean of their differences is more than two of its own deviations.
Finding between(const RunResult& result, int optimizer, Precision precision, const std::string& with) {
  Finding finding{"CBWC + RMSNorm stays nearer to LayerNorm than RMSNorm alone does" + with, {}, {}, {}, {}};
  const auto of = [&](NormUse network) { return trainedWith(result, network, optimizer, precision); };
  const Trained reference = of(NormUse::LayerNorm), own = of(NormUse::CbwcRmsNorm), alone = of(NormUse::RmsNorm);
  if (own.weights.empty() || alone.weights.empty()) return finding;
  const Summary near = summaryOf(own.weights), far = summaryOf(alone.weights);
  finding.value = near.mean;
  finding.limit = far.mean;
  std::vector<double> gained;
  for (size_t i = 0; i < std::min(own.weights.size(), alone.weights.size()); ++i)
    gained.push_back(alone.weights[i] - own.weights[i]);
  const Summary gain = summaryOf(gained);
  const double noise = 2 * gain.deviation / std::sqrt(static_cast<double>(gain.count));
  if (std::abs(gain.mean) > noise) finding.holds = gain.mean > 0;
  finding.text = std::string(finding.holds ? "" : "not beyond what the seeds differ by: ") +
                 "weights differ from LayerNorm's by " + shortNumber(near) + " against " + shortNumber(far) +
                 "; test accuracy: LayerNorm " + inPercent(summaryOf(reference.accuracies)) + ", CBWC + RMSNorm " +
                 inPercent(summaryOf(own.accuracies)) + ", RMSNorm alone " + inPercent(summaryOf(alone.accuracies));
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
    const OptimizerSettings& training = settings.optimizers[static_cast<size_t>(optimizer)];
    const std::string by = describe(training);
    const bool breaks = training.dropout > 0;
    for (const Precision precision : settings.precisions) {
      const std::string with = ": " + by + ", " + nameOf(precision);
      const double limit = sameWeightsLimit(precision);
      if (breaks) {
        findings.push_back(between(result, optimizer, precision, with));
        continue;
      }
      for (const NormUse network : {NormUse::CbwcRmsNorm, NormUse::CrmsNorm, NormUse::RmsNorm}) {
        if (!trains(network)) continue;
        const bool contrast = network == NormUse::RmsNorm;
        const Distance distance = distanceOf(result, network, optimizer, precision);
        const char* claim = contrast ? " is trained to other weights" : " is trained to the weights of LayerNorm";
        Finding finding{titleOf(network) + claim + with, {}, distance.weights, limit, {}};
        if (distance.weights) {
          finding.holds = (*distance.weights < limit) != contrast;
          finding.text = inWords(distance);
        }
        findings.push_back(std::move(finding));
      }
    }
    const auto in = [&](Precision precision) {
      return std::ranges::find(settings.precisions, precision) != settings.precisions.end();
    };
    if (trains(NormUse::CbwcRmsNorm) && in(Precision::Float32) && in(Precision::Float64) && !breaks) {
      findings.push_back(exactness(distanceOf(result, NormUse::CbwcRmsNorm, optimizer, Precision::Float32),
                                   distanceOf(result, NormUse::CbwcRmsNorm, optimizer, Precision::Float64), ": " + by));
    }
  }
  return findings;
}

}  // namespace normlens::lab
