// The geometry of the bundled models' norms, as they are and folded, and what an RMSNorm in a LayerNorm's place does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/service/describe/probe_findings.h"
#include "tests/service/demo_service.h"
#include "tests/support/must.h"

namespace normlens::service {
namespace {

using protocol::ForcedError;

class Probe : public testing::TestWithParam<const char*> {
 protected:
  void open(const char* model) { analysis_ = service_.analyzed(model); }
  protocol::ProbeResult probe(bool folded = false) { return must(service_.probe({folded, 17}, Task{})); }
  DemoService service_;
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
    EXPECT_EQ(row.kind, protocol::ProbedKind::LayerNorm);
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
  const auto fold = service_.folded();
  const auto before = probe(), after = probe(true);
  ASSERT_TRUE(after.paired);
  ASSERT_EQ(after.rows.size(), before.rows.size());
  for (size_t i = 0; i < after.rows.size(); ++i) {
    const auto& row = after.rows[i];
    EXPECT_EQ(row.name, before.rows[i].name);
    EXPECT_EQ(row.norm, static_cast<int>(i));
    EXPECT_EQ(row.reason, "");
    if (row.kind != protocol::ProbedKind::RmsNorm) continue;
    EXPECT_NEAR(row.input.angle_deg, 90, 1e-3) << row.name;
    EXPECT_LT(row.input.mean_share, 1e-9) << row.name;
  }
  EXPECT_EQ(std::ranges::count(after.rows, protocol::ProbedKind::RmsNorm, &protocol::ProbeRow::kind),
            static_cast<std::ptrdiff_t>(fold.plan.folded.size()));
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
  const auto swaps = must(service_.probeSwaps({.fold_first = true}, task));
  EXPECT_GT(last, 0.5);
  EXPECT_FALSE(swaps.cancelled);
  EXPECT_EQ(swaps.dtype, "float32");
  ASSERT_EQ(swaps.swaps.size(), analysis_.norms.size());
  for (size_t i = 0; i < swaps.swaps.size(); ++i) {
    const auto& swap = swaps.swaps[i];
    EXPECT_EQ(swap.norm, static_cast<int>(i));
    EXPECT_GT(swap.as_it_is.max_rel, swap.as_it_is.limit);
    EXPECT_EQ(swap.notices, swap.as_it_is.max_rel < 3e-2 ? protocol::Notices::Hardly : protocol::Notices::Yes);
    ASSERT_EQ(swap.folded.has_value(), analysis_.norms[i].verdict == Verdict::Free);
    EXPECT_LE(swap.folded ? swap.folded->max_rel : 0, swap.as_it_is.limit);
  }
  const auto alone = must(service_.forcedError({1, "float32", true}, Task{}));
  EXPECT_EQ(swaps.swaps[1].as_it_is.max_rel, alone.max_rel);
  ASSERT_TRUE(swaps.all);
  EXPECT_GT(swaps.all->max_rel, swaps.all->limit);
  EXPECT_FALSE(swaps.findings.empty());
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
  const auto swaps = must(service_.probeSwaps({}, task));
  EXPECT_TRUE(swaps.cancelled);
  EXPECT_EQ(swaps.swaps.size(), 2U);
  EXPECT_FALSE(swaps.all);
  EXPECT_EQ(failureOf(service_.probeSwaps({}, task)).code, ErrorCode::Cancelled);
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

// The sentences of the geometry probe follow from its figures, and 'hardly' means one thing.
using protocol::Notices;
using protocol::ProbedKind;

protocol::ProbeRow row(ProbedKind kind, double angle, double share) {
  protocol::ProbeRow made;
  made.kind = kind;
  made.width = 64;
  made.input.angle_deg = angle;
  made.input.angle_std = angle == 90 ? 0 : 1;
  made.input.mean_share = share;
  made.random = {90.02, 7.1, 7.16};
  return made;
}

ForcedError error(double most, double limit) {
  ForcedError made;
  made.max_rel = most;
  made.limit = limit;
  return made;
}

protocol::ProbeSwap swap(double most, double limit) {
  protocol::ProbeSwap made;
  made.as_it_is = error(most, limit);
  made.notices = wouldNotice(made.as_it_is, 3e-2);
  return made;
}

bool says(const std::vector<std::string>& findings, const std::string& words) {
  return std::ranges::any_of(findings, [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

TEST(ProbeFindings, OfAngles) {
  const auto said = angleFindings(
      {row(ProbedKind::LayerNorm, 82, 0.02), row(ProbedKind::LayerNorm, 90, 0), row(ProbedKind::LayerNorm, 85, 0.008)});
  EXPECT_TRUE(says(said, "2 of 3 LayerNorms get inputs within 6° of a right angle")) << said.front();
  EXPECT_TRUE(says(said, "holds 0 to 2% of the energy of all inputs"));
  EXPECT_TRUE(says(said, "1 of 3 LayerNorms gets an input at exactly 90°: the mean that is subtracted is zero"));
  EXPECT_TRUE(says(said, "Random vectors stand at 90.0° with a spread of 7.10°; expected: 90°, 1/√64 = 7.16°"));
}

TEST(ProbeFindings, SayWhatWasLeftOut) {
  auto norm = row(ProbedKind::LayerNorm, 82, 0.02);
  norm.title = "norms.0";
  norm.input.rows = 30;
  EXPECT_FALSE(says(angleFindings({norm}), "left out"));
  norm.input.bad_rows = 6;
  EXPECT_TRUE(says(angleFindings({norm}), "6 of 30 rows of norms.0 are not finite and were left out"));
}

TEST(ProbeFindings, AFoldedModelStandsUpright) {
  const auto said = angleFindings({row(ProbedKind::RmsNorm, 90, 0), row(ProbedKind::RmsNorm, 90, 0)});
  EXPECT_TRUE(says(said, "2 of 2 RMSNorms get inputs at exactly 90°"));
  EXPECT_FALSE(says(said, "LayerNorms"));
  auto untold = row(ProbedKind::LayerNorm, std::nan(""), 0);
  EXPECT_TRUE(says(angleFindings({untold}), "no norm whose input could be measured"));
  untold = row(ProbedKind::LayerNorm, 80, 0);
  untold.reason = "these inputs do not come by it";
  EXPECT_TRUE(says(angleFindings({untold}), "no norm whose input could be measured"));
}

TEST(ProbeFindings, WhoWouldNotice) {
  EXPECT_EQ(wouldNotice(error(1e-7, 1e-6), 3e-2), Notices::Nothing);
  EXPECT_EQ(wouldNotice(error(2e-6, 1e-6), 3e-2), Notices::Hardly);
  EXPECT_EQ(wouldNotice(error(3e-2, 1e-6), 3e-2), Notices::Yes);
  EXPECT_EQ(wouldNotice(error(2e-2, 1e-6), 1e-2), Notices::Yes);
  ForcedError untold;
  untold.error = "no output has a finite number in this type";
  EXPECT_EQ(wouldNotice(untold, 3e-2), std::nullopt);
}

TEST(ProbeFindings, OfSwaps) {
  protocol::ProbeSwaps swaps;
  swaps.hardly = 3e-2;
  swaps.swaps = {swap(0.2, 1e-6), swap(0.02, 1e-6), swap(1e-8, 1e-6)};
  swaps.swaps.emplace_back().as_it_is.error = "nothing would make an RMSNorm of it";
  EXPECT_TRUE(says(swapFindings(swaps), "2 of 3 LayerNorms could be replaced, one at a time, by a plain RMSNorm"));
  EXPECT_FALSE(says(swapFindings(swaps), "all of them"));
  EXPECT_FALSE(says(swapFindings(swaps), "Folding"));
  swaps.all = error(0.21, 1e-6);
  swaps.swaps[0].folded = error(3e-7, 1e-6);
  swaps.swaps[1].folded = error(4e-7, 1e-6);
  EXPECT_TRUE(says(swapFindings(swaps), "all of them at once changes an output by 0.21 (rounding: up to 1e-6)"));
  EXPECT_TRUE(says(swapFindings(swaps), "Folding one first changes an output by 4e-7 at most"));
  EXPECT_TRUE(swapFindings({}).empty());
}

}  // namespace
}  // namespace normlens::service
