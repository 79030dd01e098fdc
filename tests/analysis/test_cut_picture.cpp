// The picture of a plan's cut says what the plan does, on random models, at many prices, with and without room to grow;
// and the map of values that are zero-mean now, after the plan, and not.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/analysis/analysis.h"
#include "core/analysis/zero_mean_map.h"
#include "tests/analysis/analyzed.h"
#include "tests/support/must.h"
#include "tests/support/random_graph.h"

namespace normlens::analysis {
namespace {

struct Tally {
  int cuts = 0, kept = 0, models = 0;
};

std::vector<int> centered(const Plan& plan) {
  std::vector<int> values;
  for (const auto& planned : plan.edits) {
    if (const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit)) values.push_back(insert->value);
  }
  std::ranges::sort(values);
  return values;
}

void check(const Analysis& analysis, const PlanOptions& options, Tally& tally) {
  const Plan plan = makePlan(analysis, options);
  const CutPicture picture = cutPicture(analysis, options, 1000);
  std::vector<int> cut;
  int64_t flow = 0, through = 0;
  for (const auto& centering : picture.centerings) {
    EXPECT_FALSE(centering.norms.empty());
    EXPECT_LE(centering.flow, centering.price);
    if (!centering.cut) continue;
    EXPECT_EQ(centering.flow, centering.price) << "what is cut is full";
    cut.push_back(centering.value);
    through += centering.price;
  }
  for (const auto& norm : picture.savings) {
    const bool folded = std::ranges::find(plan.folded, norm.norm) != plan.folded.end();
    EXPECT_EQ(norm.freed, folded) << "norm " << norm.norm;
    EXPECT_LE(norm.flow, norm.saving);
    flow += norm.flow;
    if (!norm.freed) through += norm.saving;
    tally.kept += norm.freed ? 0 : 1;
  }
  std::ranges::sort(cut);
  EXPECT_EQ(cut, centered(plan));
  // A copy or a dropped addend is a cut of one unit.
  EXPECT_NEAR(static_cast<double>(flow), static_cast<double>(through),
              static_cast<double>(analysis.claims.all().size()));
  tally.cuts += static_cast<int>(cut.size());
}

TEST(CutPicture, SaysWhatThePlanDoes) {
  Tally tally;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const graph::Graph graph = testing::randomModel(seed, {}, 10 + static_cast<int>(seed % 20));
    const auto analysis = must(analyze(graph, Task{}));
    ++tally.models;
    for (const int64_t price : {1, 300, 1001, 1700, 2600}) {
      for (const double growth : {0.0, 10.0, 1e9}) {
        PlanOptions options;
        options.prices.centering = price;
        options.maxGrowthPercent = growth;
        SCOPED_TRACE("seed " + std::to_string(seed) + ", price " + std::to_string(price) + ", growth " +
                     std::to_string(growth));
        check(*analysis, options, tally);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(tally.cuts, 100);
  EXPECT_GT(tally.kept, 100);
}

TEST(CutPicture, OnlyTheLargestAreDescribed) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const graph::Graph graph = testing::randomModel(seed, {}, 25);
    const auto analysis = must(analyze(graph, Task{}));
    const CutPicture all = cutPicture(*analysis, {}, 1000), two = cutPicture(*analysis, {}, 2);
    ASSERT_EQ(all.centerings.size(), two.centerings.size());
    size_t described = 0;
    for (size_t i = 0; i < all.centerings.size(); ++i) {
      if (two.centerings[i].norms.empty()) continue;
      ++described;
      EXPECT_EQ(two.centerings[i].norms, all.centerings[i].norms);
    }
    EXPECT_EQ(described, std::min<size_t>(2, all.centerings.size()));
  }
}

// A table feeds a stream; a linear adds to it; two norms read it. Behind them a norm of an activation, which is
// blocked.
constexpr const char* kModel = R"(graph {
    input %ids: int64[2, 5]
    const %table: float32[11, 8] random 9
    const %w: float32[8, 8] random 1
    const %b: float32[8] random 2
    const %g: float32[8] random 3
    %s: float32[2, 5, 8] = Gather(%table, %ids) {axis = 0}
    %n1: float32[2, 5, 8] = LayerNorm(%s, %g, %b) {axes = [2], eps = 1e-05}
    %f: float32[2, 5, 8] = Linear(%n1, %w, _)
    %r: float32[2, 5, 8] = Add(%s, %f)
    %n2: float32[2, 5, 8] = LayerNorm(%r, %g, %b) {axes = [2], eps = 1e-05}
    %e: float32[2, 5, 8] = Elementwise(%n2)
    %n3: float32[2, 5, 8] = LayerNorm(%e, %g, %b) {axes = [2], eps = 1e-05}
    return %n3
  })";

struct Stream : Analyzed {
  Stream() : Analyzed(kModel) {}
  [[nodiscard]] std::vector<std::string> names(const std::vector<int>& values) const {
    std::vector<std::string> out;
    for (const int value : values) out.push_back(graph().value(value).name);
    return out;
  }
  [[nodiscard]] graph::NodeId makerOf(const std::string& name) const {
    for (const auto& node : graph().nodes) {
      if (graph().value(node.outputs.at(0)).name == name) return graph().value(node.outputs[0]).producer;
    }
    return graph::kNone;
  }
};

TEST(ZeroMeanMap, streamIsZeroMeanAfterThePlanAndTheActivationIsNot) {
  const Stream stream;
  const auto map = zeroMeanMap(*stream, stream.plan(Policy::Free));
  EXPECT_EQ(stream.names(map.planned), (std::vector<std::string>{"s", "f", "r"}));
  EXPECT_EQ(stream.names(map.notZero), std::vector<std::string>{"e"});
  EXPECT_TRUE(map.now.empty());
}

TEST(ZeroMeanMap, withoutAPlanNothingIsPlanned) {
  const Stream stream;
  const auto map = zeroMeanMap(*stream, {});
  EXPECT_TRUE(map.planned.empty());
  EXPECT_EQ(map.notZero.size(), 4U);
}

TEST(ZeroMeanMap, aCenteringAtRunTimeCounts) {
  const Stream stream;
  const auto map = zeroMeanMap(*stream, stream.plan(Policy::All));
  EXPECT_TRUE(map.notZero.empty());
  EXPECT_EQ(map.planned.size(), 4U);
}

TEST(ZeroMeanMap, whatIsZeroMeanAlreadyIsSo) {
  const Analyzed model(R"(graph {
    input %x: float32[2, 5, 8]
    %m: float32[2, 5, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true}
    %c: float32[2, 5, 8] = Sub(%x, %m)
    %y: float32[2, 5, 8] = LayerNorm(%c, _, _) {axes = [2], eps = 1e-05}
    return %y
  })");
  const auto map = zeroMeanMap(*model, {});
  ASSERT_EQ(map.now.size(), 1U);
  EXPECT_EQ(model.graph().value(map.now[0]).name, "c");
}

TEST(ZeroMeanMap, theShiftOfALayerEndsAtTheNorms) {
  const Stream stream;
  const auto plan = stream.plan(Policy::Free);
  const auto cone = shiftCone(*stream, plan, stream.makerOf("f"));
  EXPECT_TRUE(cone.reason.empty());
  EXPECT_EQ(stream.names(cone.values), (std::vector<std::string>{"f", "r"}));
  EXPECT_EQ(cone.ends, std::vector<int>{stream.makerOf("n2")});
  const auto table = shiftCone(*stream, plan, stream.makerOf("s"));
  EXPECT_EQ(stream.names(table.values), (std::vector<std::string>{"s", "r"}));
  EXPECT_EQ(table.ends, (std::vector<int>{stream.makerOf("n1"), stream.makerOf("n2")}));
}

TEST(ZeroMeanMap, aNodeWithoutCenteredWeightsHasNoCone) {
  const Stream stream;
  const auto cone = shiftCone(*stream, stream.plan(Policy::Free), stream.makerOf("e"));
  EXPECT_TRUE(cone.values.empty());
  EXPECT_FALSE(cone.reason.empty());
}

}  // namespace
}  // namespace normlens::analysis
