// The picture of a plan's cut says what the plan does, on random models, at many prices, with and without room to grow.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/analysis/analysis.h"
#include "tests/support/must.h"
#include "tests/support/random_graph/random_graph.h"

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

}  // namespace
}  // namespace normlens::analysis
