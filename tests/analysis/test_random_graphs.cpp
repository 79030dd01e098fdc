// Whole random models: every plan of every policy, carried out on the graph, must leave the outputs as they are.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/analysis/claims/held_means.h"
#include "tests/analysis/analyzed.h"
#include "tests/support/must.h"
#include "tests/support/random_graph.h"

namespace normlens::analysis {
namespace {

using testing::ModelSize;

constexpr double kTolerance = 1e-10;
constexpr ModelSize kProbe{2, 3};
constexpr ModelSize kOther{3, 5};
constexpr ModelSize kOneToken{1, 1};
constexpr ModelSize kFullGates{3, 5, 8};

struct Tally {
  int norms = 0;
  int folded = 0;
  int centerings = 0;
  int splits = 0;
  int joint = 0;
  int scales = 0;
  int batchNorms = 0;
  int shifts = 0, gains = 0, means = 0;
  int drops = 0;
  int otherSize = 0;
  int held = 0;
};

std::string describe(const graph::Graph& graph, const Plan& plan) {
  std::string out = graph::printGraph(graph);
  for (const auto& planned : plan.edits) {
    if (const auto* center = std::get_if<fold::CenterConstant>(&planned.edit)) {
      for (const auto& part : center->parts) {
        out += "center " + graph.constant(part.constant).name + " over " + part.pattern.text() +
               (center->split ? " for some\n" : "\n");
      }
    } else if (const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit)) {
      out += "center at run time " + graph.value(insert->value).name + " over " + insert->pattern.text() + " for " +
             std::to_string(insert->uses.size()) + " reads\n";
    } else if (const auto* scale = std::get_if<fold::AbsorbScale>(&planned.edit)) {
      out += "absorb " + graph.value(graph.node(scale->scaleNode).outputs[0]).name + "\n";
    } else if (const auto* drop = std::get_if<fold::DropAddend>(&planned.edit)) {
      out += "drop " + graph.value(drop->value).name + " for " + std::to_string(drop->uses.size()) + " reads\n";
    } else if (const auto* shift = std::get_if<fold::AbsorbShift>(&planned.edit)) {
      out += "move the shift of norm " + std::to_string(shift->norm) + "\n";
    } else if (const auto* gain = std::get_if<fold::AbsorbGain>(&planned.edit)) {
      out += "move the gain at node " + std::to_string(gain->gainNode) + "\n";
    } else if (const auto* mean = std::get_if<fold::RestoreMean>(&planned.edit)) {
      out += "give " + graph.value(mean->value).name + " its mean back for " + std::to_string(mean->uses.size()) +
             " reads\n";
    } else {
      out += "fold norm " + std::to_string(std::get<fold::ReplaceNorm>(planned.edit).norm) + "\n";
    }
  }
  return out;
}

void count(Tally& tally, const Plan& plan) {
  tally.folded += static_cast<int>(plan.folded.size());
  tally.centerings += plan.centerings;
  for (const auto& planned : plan.edits) {
    const auto* center = std::get_if<fold::CenterConstant>(&planned.edit);
    tally.splits += center != nullptr && center->split ? 1 : 0;
    tally.joint += center != nullptr && center->parts.size() > 1 ? 1 : 0;
    const auto* scale = std::get_if<fold::AbsorbScale>(&planned.edit);
    tally.scales += scale != nullptr ? 1 : 0;
    tally.batchNorms += scale != nullptr && scale->nodeStays ? 1 : 0;
    tally.drops += std::holds_alternative<fold::DropAddend>(planned.edit) ? 1 : 0;
    tally.shifts += std::holds_alternative<fold::AbsorbShift>(planned.edit) ? 1 : 0;
    tally.means += std::holds_alternative<fold::RestoreMean>(planned.edit) ? 1 : 0;
    tally.gains += std::holds_alternative<fold::AbsorbGain>(planned.edit) ? 1 : 0;
  }
}

// What rounding alone may do: the inputs moved by a unit in the last place. A norm of equal tokens divides such noise
// by nearly nothing, and the next norm does so again.
double noise(const graph::Graph& graph, const std::vector<testing::Tensor>& inputs, std::mt19937& random) {
  const auto before = testing::interpret(graph, inputs);
  double worst = 0;
  for (int draw = 0; draw < 4; ++draw) {
    auto moved = inputs;
    for (size_t i = 0; i < moved.size(); ++i) {
      if (!graph::isFloat(graph.value(graph.inputs()[i]).dtype)) continue;
      for (double& item : moved[i].at) item *= 1 + 2e-16 * static_cast<double>(random() % 3) - 2e-16;
    }
    graph::Graph weights = graph;
    for (auto& constant : weights.constants) {
      auto numbers = *graph::toDoubles(constant.view);
      for (double& item : numbers) item *= 1 + 2e-16 * static_cast<double>(random() % 3) - 2e-16;
      constant.view = graph::tensorFromDoubles(constant.view.shape, numbers, constant.view.dtype);
    }
    worst = std::max(worst, testing::maxRelative(before, testing::interpret(weights, moved)));
  }
  return worst;
}

// Outputs before and after on random inputs; 0 for what is rounding.
double difference(const graph::Graph& graph, const std::vector<LayerNorm>& norms, const Plan& plan,
                  std::mt19937& random) {
  const graph::Graph folded = testing::applyPlan(graph, norms, plan);
  double worst = 0;
  for (int draw = 0; draw < 2; ++draw) {
    const auto inputs = testing::drawInputs(graph, random);
    double error = testing::maxRelative(testing::interpret(graph, inputs), testing::interpret(folded, inputs));
    constexpr double kCertainlyWrong = 1e-6;
    if (error > kTolerance && error < kCertainlyWrong && error < 100 * noise(graph, inputs, random)) error = 0;
    worst = std::max(worst, error);
  }
  return worst;
}

double toleranceOf(graph::DType) { return 1e-13; }

// Where a LayerNorm's input is zero-mean by the weights as they are, an RMSNorm in its place changes nothing.
void checkHeldMeans(const graph::Graph& graph, const std::vector<LayerNorm>& norms, const Plan& plan, Tally& tally,
                    std::mt19937& random) {
  Plan replacing;
  const auto before = must(heldMeans(graph, {norms.begin(), norms.end()}, toleranceOf, Task{}));
  for (size_t n = 0; n < norms.size(); ++n) {
    const bool folds = std::ranges::find(plan.folded, static_cast<int>(n)) != plan.folded.end();
    if (!before.norms[n].isZero || !folds) continue;
    replacing.edits.push_back({fold::ReplaceNorm{static_cast<int>(n)}, graph::kNone, {static_cast<int>(n)}, 0, 0});
    replacing.folded.push_back(static_cast<int>(n));
  }
  tally.held += static_cast<int>(replacing.folded.size());
  EXPECT_LT(difference(graph, norms, replacing, random), kTolerance) << describe(graph, replacing);
}

// Analysed at one size, carried out there and at others.
void checkModel(unsigned seed, const ModelSize& probe, const std::vector<ModelSize>& others, Tally& tally) {
  const int steps = 3 + static_cast<int>(seed % 9);
  const graph::Graph graph = testing::randomModel(seed, probe, steps);
  ASSERT_TRUE(graph::checkGraph(graph)) << graph::checkGraph(graph).error().message;
  const auto analysis = must(analyze(graph, Task{}));
  const auto& norms = analysis->norms.layerNorms;
  tally.norms += static_cast<int>(norms.size());
  std::mt19937 random(seed);
  for (const Policy policy : kPolicies) {
    PlanOptions options = optionsOf(policy);
    options.foldGains = seed % 2 == 0;
    options.carryMeans = seed % 4 < 2;
    const Plan plan = makePlan(*analysis, options);
    count(tally, plan);
    EXPECT_LT(difference(graph, norms, plan, random), kTolerance)
        << "seed " << seed << ", policy " << nameOf(policy) << "\n"
        << describe(graph, plan);
    checkHeldMeans(graph, norms, plan, tally, random);
    for (const ModelSize& size : others) {
      const graph::Graph other = testing::randomModel(seed, size, steps);
      ASSERT_EQ(graph.nodes.size(), other.nodes.size());
      const auto moved = testing::atOtherSize(plan, graph, other);
      if (!moved) continue;
      ++tally.otherSize;
      EXPECT_LT(difference(other, findNorms(other).layerNorms, *moved, random), kTolerance)
          << "seed " << seed << " at " << size.batch << ", " << size.tokens << ", " << size.ones << ", policy "
          << nameOf(policy) << "\n"
          << describe(other, *moved);
    }
  }
}

TEST(RandomGraphs, everyPlanKeepsTheOutputs) {
  // A longer hunt: NORMLENS_RANDOM_GRAPHS=first:count.
  unsigned first = 0;
  unsigned number = 300;
  if (const char* range = std::getenv("NORMLENS_RANDOM_GRAPHS")) {
    char* end = nullptr;
    first = static_cast<unsigned>(std::strtoul(range, &end, 10));
    number = *end == ':' ? static_cast<unsigned>(std::strtoul(end + 1, nullptr, 10)) : 1;
  }
  Tally tally;
  for (unsigned seed = first; seed < first + number; ++seed) {
    checkModel(seed, kProbe, {kOther, kFullGates}, tally);
    if (seed % 3 == 0) checkModel(seed, kOneToken, {kFullGates}, tally);
  }
  RecordProperty("norms", tally.norms);
  RecordProperty("folded", tally.folded);
  if (number < 300) return;
  EXPECT_GT(tally.folded, 300);
  EXPECT_GT(tally.centerings, 30);
  EXPECT_GT(tally.splits, 20);
  EXPECT_GE(tally.joint, 3);
  EXPECT_GT(tally.scales, 5);
  EXPECT_GT(tally.batchNorms, 5);
  EXPECT_GT(tally.shifts, 30);
  EXPECT_GT(tally.gains, 30);
  EXPECT_GT(tally.drops, 30);
  EXPECT_GT(tally.otherSize, 600);
  EXPECT_GT(tally.held, 10);
}

}  // namespace
}  // namespace normlens::analysis
