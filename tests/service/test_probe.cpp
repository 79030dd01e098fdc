// The geometry of the bundled models' norms, as they are and folded, and what an RMSNorm in a LayerNorm's place does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "core/service/service.h"

namespace normlens::service {
namespace {

const std::filesystem::path kDemos = NORMLENS_DEMO_MODELS;

class Probe : public testing::TestWithParam<const char*> {
 protected:
  void open(const char* model) {
    ASSERT_TRUE(service_.open(kDemos / model, Task{}));
    const auto analysis = service_.analyze(Task{});
    ASSERT_TRUE(analysis);
    analysis_ = *analysis;
  }
  protocol::ProbeResult probe(bool folded = false) {
    auto result = service_.probe({folded, 17}, Task{});
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : protocol::ProbeResult{};
  }
  Service service_;
  protocol::Analysis analysis_;
};

TEST_P(Probe, EveryLayerNormIsTold) {
  open(GetParam());
  const auto result = probe();
  ASSERT_EQ(result.rows.size(), analysis_.norms.size());
  EXPECT_EQ(result.dtype, "float32");
  for (size_t i = 0; i < result.rows.size(); ++i) {
    const auto& row = result.rows[i];
    EXPECT_EQ(row.name, analysis_.norms[i].name);
    EXPECT_EQ(row.norm, static_cast<int>(i));
    EXPECT_EQ(row.kind, "LayerNorm");
    EXPECT_EQ(row.reason, "");
    EXPECT_EQ(row.width, analysis_.norms[i].normalized_shape.back());
    EXPECT_EQ(row.input.rows, row.output.rows);
    EXPECT_EQ(row.input.bad_rows, 0);
    EXPECT_NEAR(row.random.expected_std, 57.2957795 / std::sqrt(static_cast<double>(row.width)), 1e-6);
    EXPECT_NEAR(row.random.angle_deg, 90, 5 * row.random.expected_std);
    ASSERT_TRUE(row.swap);
    EXPECT_GT(row.swap->mean_rel, 0);
    EXPECT_GE(row.swap->max_rel, row.swap->mean_rel);
  }
}

TEST_P(Probe, FoldedNormsGetInputsAtARightAngle) {
  open(GetParam());
  EXPECT_FALSE(service_.probe({true, 17}, Task{})) << "nothing has been folded";
  protocol::FoldParams params;
  params.verify = false;
  const auto fold = service_.fold(params, Task{});
  ASSERT_TRUE(fold);
  const auto before = probe(), after = probe(true);
  ASSERT_TRUE(after.paired);
  ASSERT_EQ(after.rows.size(), before.rows.size());
  for (size_t i = 0; i < after.rows.size(); ++i) {
    const auto& row = after.rows[i];
    EXPECT_EQ(row.name, before.rows[i].name);
    EXPECT_EQ(row.norm, static_cast<int>(i));
    EXPECT_EQ(row.reason, "");
    if (row.kind != "RMSNorm") continue;
    EXPECT_NEAR(row.input.angle_deg, 90, 1e-3) << row.name;
    EXPECT_LT(row.input.mean_share, 1e-9) << row.name;
  }
  EXPECT_EQ(std::ranges::count(after.rows, "RMSNorm", &protocol::ProbeRow::kind),
            static_cast<std::ptrdiff_t>(fold->plan.folded.size()));
}

INSTANTIATE_TEST_SUITE_P(All, Probe, testing::Values("gpt2.pt", "bert.pt", "vit.pt"), [](const auto& row) {
  return std::string(row.param).substr(0, std::string(row.param).find('.'));
});

TEST_F(Probe, NothingIsToldOfAModelThatWasNotRun) {
  EXPECT_FALSE(service_.probe({}, Task{}));
  ASSERT_TRUE(service_.open(kDemos / "gpt2.pt", Task{}));
  EXPECT_FALSE(service_.probe({}, Task{}));
}

// A fold of one norm rounds; the same norm as it is gives other outputs.
TEST_F(Probe, ASwapAsItIsShowsInTheOutputs) {
  open("gpt2.pt");
  for (const char* type : {"float32", "float64"}) {
    const auto folded = service_.forcedError({0, type}, Task{});
    const auto swapped = service_.forcedError({0, type, true}, Task{});
    const auto all = service_.forcedError({protocol::kAllNorms, type, true}, Task{});
    ASSERT_TRUE(folded && swapped && all);
    EXPECT_EQ(swapped->error, "");
    EXPECT_EQ(all->error, "");
    EXPECT_LE(folded->max_rel, folded->limit);
    EXPECT_GT(swapped->max_rel, swapped->limit);
    EXPECT_GT(all->max_rel, swapped->limit);
    EXPECT_EQ(swapped->limit, all->limit);
  }
  EXPECT_FALSE(service_.forcedError({protocol::kAllNorms, "float32"}, Task{})) << "a fold is of one norm";
  EXPECT_FALSE(service_.forcedError({99, "float32", true}, Task{}));
}

// One answer for the page and the command line: each norm alone, and all at once, as forcedError() measures them.
TEST_F(Probe, SwapsAreMeasuredOneAfterTheOther) {
  open("gpt2.pt");
  double last = -1;
  Task task;
  task.onProgress = [&](std::string_view, double fraction) {
    EXPECT_GE(fraction, last);
    EXPECT_LE(fraction, 1);
    last = fraction;
  };
  const auto swaps = service_.probeSwaps({.fold_first = true}, task);
  ASSERT_TRUE(swaps) << swaps.error().message;
  EXPECT_GT(last, 0.5);
  EXPECT_FALSE(swaps->cancelled);
  EXPECT_EQ(swaps->dtype, "float32");
  ASSERT_EQ(swaps->swaps.size(), analysis_.norms.size());
  for (size_t i = 0; i < swaps->swaps.size(); ++i) {
    const auto& swap = swaps->swaps[i];
    EXPECT_EQ(swap.norm, static_cast<int>(i));
    EXPECT_GT(swap.as_it_is.max_rel, swap.as_it_is.limit);
    EXPECT_EQ(swap.notices, swap.as_it_is.max_rel < 3e-2 ? "hardly" : "yes");
    ASSERT_EQ(swap.folded.has_value(), analysis_.norms[i].verdict == "free");
    EXPECT_LE(swap.folded ? swap.folded->max_rel : 0, swap.as_it_is.limit);
  }
  const auto alone = service_.forcedError({1, "float32", true}, Task{});
  ASSERT_TRUE(alone);
  EXPECT_EQ(swaps->swaps[1].as_it_is.max_rel, alone->max_rel);
  ASSERT_TRUE(swaps->all);
  EXPECT_GT(swaps->all->max_rel, swaps->all->limit);
  EXPECT_FALSE(swaps->findings.empty());
}

TEST_F(Probe, StoppedSwapsTellWhatTheyHave) {
  open("gpt2.pt");
  std::stop_source stop;
  Task task;
  task.stop = stop.get_token();
  int stages = 0;
  task.onProgress = [&](std::string_view, double) {
    if (++stages == 3) stop.request_stop();
  };
  const auto swaps = service_.probeSwaps({}, task);
  ASSERT_TRUE(swaps) << swaps.error().message;
  EXPECT_TRUE(swaps->cancelled);
  EXPECT_EQ(swaps->swaps.size(), 2U);
  EXPECT_FALSE(swaps->all);
  const auto none = service_.probeSwaps({}, task);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::Cancelled);
}

TEST_P(Probe, AngleCountsHoldEveryRow) {
  open(GetParam());
  for (const auto& row : probe().rows) {
    const auto total = [](const protocol::AngleCounts& angles) {
      return std::accumulate(angles.counts.begin(), angles.counts.end(), int64_t{0});
    };
    EXPECT_EQ(total(row.input_angles), row.input.rows - row.input.zero_rows - row.input.bad_rows);
    EXPECT_EQ(total(row.output_angles), row.output.rows - row.output.zero_rows - row.output.bad_rows);
    EXPECT_EQ(total(row.random_angles), 2 * total(row.input_angles)) << "two control vectors";
    EXPECT_NEAR(row.bare_angle_deg, 90, 1e-9) << "LayerNorm's output before gamma and beta";
    EXPECT_NEAR(row.bare_angle_std, 0, 1e-9);
  }
}

}  // namespace
}  // namespace normlens::service
