// What lessons compute: a weight centered in part, and the cut that decides where a mean is taken away at run time.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/service/demo_service.h"
#include "tests/support/must.h"

namespace normlens::service {
namespace {

class Opened {
 public:
  explicit Opened(const std::string& name) : analysis(service.analyzed(name)) {}
  // Of two axes or more, that a plan centers for a norm which weights alone free; with that norm.
  [[nodiscard]] std::vector<std::pair<int, int>> weights() const {
    std::vector<std::pair<int, int>> found;
    for (const auto& edit : analysis.edits) {
      if (edit.kind != EditKind::CenterConstant) continue;
      for (const int value : edit.values) {
        const auto constant = service.model()->graph().value(value).constant;
        if (service.model()->graph().constant(constant).view.shape.size() >= 2)
          found.emplace_back(value, edit.frees.indices().front());
      }
    }
    return found;
  }
  protocol::PartialCentering centered(const protocol::PartialCenteringParams& params) {
    auto told = must(service.partialCentering(params, Task{}));
    EXPECT_EQ(told.error, "");
    return told;
  }

  DemoService service;
  protocol::Analysis analysis;
};

double meanSize(const std::vector<double>& means) {
  double sum = 0;
  for (const double mean : means) sum += std::abs(mean);
  return sum / static_cast<double>(means.size());
}

protocol::PartialCenteringParams shareOf(const std::pair<int, int>& weight, double share) {
  protocol::PartialCenteringParams params;
  params.norm = weight.second;
  params.value = weight.first;
  params.share = share;
  return params;
}

TEST(PartialCentering, TheMeansShrinkWithTheShareAndOnlyAllOfItIsExact) {
  for (const char* name : {"gpt2.pt", "vit.pt", "lessons/kinds.pt"}) {
    Opened opened(name);
    const auto weights = opened.weights();
    ASSERT_FALSE(weights.empty()) << name;
    for (const auto& weight : weights) {
      const auto none = opened.centered(shareOf(weight, 0)), half = opened.centered(shareOf(weight, 0.5)),
                 all = opened.centered(shareOf(weight, 1));
      ASSERT_EQ(none.means.size(), half.means.size());
      ASSERT_EQ(none.means.size(), all.means.size());
      const double size = meanSize(none.means);
      ASSERT_GT(size, 1e-3) << name;
      for (size_t row = 0; row < none.means.size(); ++row) {
        EXPECT_NEAR(half.means[row], none.means[row] / 2, 1e-4 * size + 1e-5) << name << " row " << row;
        EXPECT_NEAR(all.means[row], 0, 1e-5) << name << " row " << row;
      }
      EXPECT_LE(all.max_rel, all.limit) << name << " value " << weight.first;
      EXPECT_GT(none.max_rel, none.limit) << name << " value " << weight.first;
      EXPECT_GT(half.max_rel, half.limit) << name << " value " << weight.first;
    }
  }
}

TEST(PartialCentering, WhatElseTheNormRestsOnCounts) {
  Opened opened("gpt2.pt");
  auto params = shareOf(opened.weights().back(), 1);
  const auto all = opened.centered(params);
  params.others = false;
  const auto alone = opened.centered(params);
  EXPECT_GT(alone.max_rel, alone.limit);
  params.others = true;
  params.biases = false;
  const auto unbiased = opened.centered(params);
  EXPECT_GT(unbiased.max_rel, unbiased.limit);
  EXPECT_LT(meanSize(all.means), meanSize(alone.means));
  EXPECT_LT(meanSize(all.means), meanSize(unbiased.means));
}

TEST(PartialCentering, InFloat64AllOfItLeavesFarLess) {
  Opened opened("gpt2.pt");
  auto params = shareOf(opened.weights().front(), 1);
  params.dtype = "float64";
  const auto exact = opened.centered(params);
  EXPECT_EQ(exact.dtype, "float64");
  EXPECT_LE(exact.max_rel, exact.limit);
  EXPECT_LT(exact.max_rel, 1e-12);
}

TEST(PartialCentering, WhatIsNotThereIsRefused) {
  Opened opened("lessons/post_norm.pt");
  const auto weight = opened.weights().front();
  EXPECT_FALSE(opened.service.partialCentering(shareOf({weight.first, 99}, 1), Task{}));
  EXPECT_FALSE(opened.service.partialCentering(shareOf({-1, weight.second}, 1), Task{}));
  EXPECT_FALSE(opened.service.partialCentering(shareOf(weight, 1.5), Task{}));
  EXPECT_FALSE(opened.service.partialCentering(shareOf(weight, std::nan("")), Task{}));
  EXPECT_FALSE(Service().partialCentering({}, Task{}));
  const auto blocked = must(opened.service.partialCentering(shareOf({weight.first, 1}, 1), Task{}));
  EXPECT_NE(blocked.error, "");
}

protocol::CenteringCut cutAt(Service& service, double factor, bool curve = false) {
  protocol::CenteringCutParams params;
  params.factor = factor;
  params.curve = curve;
  return must(service.centeringCut(params, Task{}));
}

int freed(const protocol::CenteringCut& cut) {
  return static_cast<int>(std::ranges::count(cut.norms, true, &protocol::CutNorm::freed));
}

TEST(CenteringCut, FlowAndCutAreOne) {
  for (const char* name : {"lessons/mixer.pt", "bert.pt", "gpt2.pt", "lessons/concatenated.pt"}) {
    Opened opened(name);
    for (const double factor : {0.0, 0.3, 0.7, 1.0, 1.4, 2.2, 3.0}) {
      const auto cut = cutAt(opened.service, factor);
      EXPECT_NEAR(cut.flow, cut.paid + cut.given_up, 1e-6 * cut.flow + 1e-2) << name << " at " << factor;
      double possible = 0, throughValues = 0;
      for (const auto& norm : cut.norms) {
        EXPECT_LE(norm.flow, norm.saving);
        EXPECT_TRUE(norm.freed || norm.flow == norm.saving) << "what is cut is full";
        possible += norm.saving;
      }
      for (const auto& value : cut.values) {
        EXPECT_LE(value.flow, value.price);
        EXPECT_TRUE(!value.cut || value.flow == value.price) << "what is cut is full";
        throughValues += value.flow;
      }
      EXPECT_NEAR(possible, cut.saved + cut.given_up, 1e-9 * possible);
      EXPECT_GE(throughValues, cut.paid);
    }
  }
}

TEST(CenteringCut, WhatCostsMoreFreesLess) {
  Opened opened("lessons/mixer.pt");
  const auto cut = cutAt(opened.service, 1, true);
  ASSERT_GT(cut.curve.size(), 10U);
  EXPECT_EQ(cut.curve.front().freed, static_cast<int>(cut.norms.size())) << "for nothing all are freed";
  for (size_t i = 1; i < cut.curve.size(); ++i) {
    const auto &before = cut.curve[i - 1], &now = cut.curve[i];
    EXPECT_LE(now.freed, before.freed);
    EXPECT_LE(now.saved - now.paid, before.saved - before.paid + 1e-6);
    EXPECT_GE(now.saved, now.paid) << "no plan that loses";
  }
  EXPECT_GT(freed(cut), 0);
  EXPECT_LT(freed(cut), static_cast<int>(cut.norms.size()));
}

// The picture is the plan's own cut: at the usual price the planner centers the same values and folds the same norms.
TEST(CenteringCut, ThePlannerDoesWhatThePictureSays) {
  for (const char* name : {"lessons/mixer.pt", "bert.pt", "lessons/concatenated.pt"}) {
    Opened opened(name);
    const auto cut = cutAt(opened.service, 1);
    const auto plan = must(opened.service.plan({}, Task{}));
    std::vector<int> centered, shown;
    for (const auto& edit : plan.edits) {
      if (edit.kind == EditKind::InsertCentering)
        centered.insert(centered.end(), edit.values.begin(), edit.values.end());
    }
    for (const auto& value : cut.values) {
      if (value.cut) shown.push_back(value.value);
    }
    std::ranges::sort(centered);
    std::ranges::sort(shown);
    EXPECT_EQ(shown, centered) << name;
    for (const auto& norm : cut.norms) {
      const bool folded = std::ranges::find(plan.folded, norm.norm) != plan.folded.end();
      EXPECT_EQ(norm.freed, folded) << name << " norm " << norm.norm;
    }
  }
}

// With room for a copy of the tied table weights do it; without, a centering competes with it.
TEST(CenteringCut, NothingToCutWhereWeightsDoIt) {
  Opened opened("gpt2.pt");
  protocol::CenteringCutParams params;
  params.plan.max_growth_percent = 100;
  const auto free = must(opened.service.centeringCut(params, Task{}));
  EXPECT_TRUE(free.norms.empty());
  EXPECT_TRUE(free.values.empty());
  params.plan.max_growth_percent = 0;
  const auto tight = must(opened.service.centeringCut(params, Task{}));
  EXPECT_EQ(std::ranges::count(tight.values, true, &protocol::CutValue::cut), 1);
  EXPECT_GT(freed(tight), 0);
}

TEST(CenteringCut, NoPriceIsRefused) {
  Opened opened("lessons/mixer.pt");
  protocol::CenteringCutParams params;
  for (const double factor : {-1.0, 1e9, std::nan("")}) {
    params.factor = factor;
    EXPECT_FALSE(opened.service.centeringCut(params, Task{}));
  }
  params.factor = 1;
  for (const Policy policy : {Policy::Paper, Policy::All, Policy::Free}) {  // no price decides there
    params.plan.policy = policy;
    EXPECT_FALSE(opened.service.centeringCut(params, Task{})) << nameOf(policy);
  }
}

// Lesson 7: each model has a norm that cannot fold, for the reason that the lesson tells.
TEST(LessonModels, WhatDoesNotFoldSaysWhyAndGivesOtherOutputsIfForced) {
  for (const char* name : {"post_norm", "over_space", "concatenated", "depthwise", "hidden_states"}) {
    Opened opened("lessons/" + std::string(name) + ".pt");
    const auto blocked = std::ranges::find(opened.analysis.norms, Verdict::Blocked, &protocol::NormInfo::verdict);
    ASSERT_NE(blocked, opened.analysis.norms.end()) << name;
    EXPECT_FALSE(blocked->reason.empty());
    const auto forced = must(opened.service.forcedError({blocked->index, "float32"}, Task{}));
    EXPECT_EQ(forced.error, "") << name;
    EXPECT_GT(forced.max_rel, 10 * forced.limit) << name;
  }
}

}  // namespace
}  // namespace normlens::service
