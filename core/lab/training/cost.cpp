#include "core/lab/training/cost.h"

#include <ranges>

#include "core/run/measure/statistics.h"

namespace normlens::lab {
namespace {

using Rounds = std::vector<double>;  // of one network: milliseconds of a step, the median of each round

// The statistics of a latency: rounds beside rounds that take 1 ms.
run::Speedup besides(const Rounds& a, const Rounds* b) {
  std::vector<run::RoundMedians> rounds;
  for (size_t i = 0; i < a.size(); ++i) rounds.push_back({a[i], b == nullptr ? 1 : (*b)[i]});
  return run::bootstrapSpeedup(rounds, /*seed=*/1);
}

StepCost costOf(const Member& member, const Rounds& own, const Rounds& reference) {
  const run::Speedup median = besides(own, nullptr), ratio = besides(reference, &own);
  StepCost cost;
  cost.member = member.which();
  cost.median_ms = median.ratio;
  cost.low_ms = median.low;
  cost.high_ms = median.high;
  cost.bytes = member.bytes();
  const bool isReference = &own == &reference;
  cost.ratio = isReference ? 1 : ratio.ratio;
  cost.ratio_low = isReference ? 1 : ratio.low;
  cost.ratio_high = isReference ? 1 : ratio.high;
  cost.noise = isReference || ratio.noise;
  return cost;
}

double medianOfSteps(Member& member, const Batches::Epoch& epoch, int steps) {
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    const Batch batch = epoch[i % epoch.steps()];
    double loss = 0;
    times.push_back(member.timedStep(batch, loss));
  }
  return run::median(std::move(times));
}

}  // namespace

std::optional<std::vector<StepCost>> measureSteps(const RunSettings& settings, Group& group,
                                                  const Group::Sources& sources, const Member::GoOn& goOn) {
  const auto& members = group.members();
  std::vector<Rounds> rounds(members.size());
  for (int round = 0; round < settings.rounds; ++round) {
    std::vector<double> there(members.size());
    for (const bool back : {false, true}) {
      for (size_t i = 0; i < members.size(); ++i) {
        if (!goOn()) return std::nullopt;
        const size_t which = back ? members.size() - 1 - i : i;
        Member& member = *members[which];
        const Batches::Epoch epoch = sources.at(member.which().precision).epoch(member.which().seed, round);
        const double ms = medianOfSteps(member, epoch, settings.steps_per_round);
        if (back) rounds[which].push_back((there[which] + ms) / 2);
        there[which] = ms;
      }
    }
  }
  std::vector<StepCost> costs;
  for (size_t i = 0; i < members.size(); ++i) {
    size_t reference = i;
    for (size_t j = 0; j < members.size(); ++j) {
      const bool same = members[j]->which().precision == members[i]->which().precision;
      if (same && members[j]->which().network == "layer_norm") reference = j;
    }
    costs.push_back(costOf(*members[i], rounds[i], rounds[reference]));
  }
  return costs;
}

}  // namespace normlens::lab
