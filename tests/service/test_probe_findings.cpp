// The sentences of the geometry probe follow from its figures, and 'hardly' means one thing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/service/describe/probe_findings.h"

namespace normlens::service {
namespace {

using protocol::ForcedError;

protocol::ProbeRow row(const char* kind, double angle, double share) {
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
  const auto said = angleFindings({row("LayerNorm", 82, 0.02), row("LayerNorm", 90, 0), row("LayerNorm", 85, 0.008)});
  EXPECT_TRUE(says(said, "2 of 3 LayerNorms get inputs within 6° of a right angle")) << said.front();
  EXPECT_TRUE(says(said, "holds 0 to 2 % of their energy"));
  EXPECT_TRUE(says(said, "1 of 3 LayerNorms gets an input at exactly 90°: the mean that is subtracted is zero"));
  EXPECT_TRUE(says(said, "Random vectors stand at 90.0° with a spread of 7.10°; expected: 90°, 1/√64 = 7.16°"));
}

TEST(ProbeFindings, AFoldedModelStandsUpright) {
  const auto said = angleFindings({row("RMSNorm", 90, 0), row("RMSNorm", 90, 0)});
  EXPECT_TRUE(says(said, "2 of 2 RMSNorms get inputs at exactly 90°"));
  EXPECT_FALSE(says(said, "LayerNorms"));
  auto untold = row("LayerNorm", std::nan(""), 0);
  EXPECT_TRUE(says(angleFindings({untold}), "no norm whose input could be measured"));
  untold = row("LayerNorm", 80, 0);
  untold.reason = "these inputs do not come by it";
  EXPECT_TRUE(says(angleFindings({untold}), "no norm whose input could be measured"));
}

TEST(ProbeFindings, WhoWouldNotice) {
  EXPECT_EQ(wouldNotice(error(1e-7, 1e-6), 3e-2), "nothing");
  EXPECT_EQ(wouldNotice(error(2e-6, 1e-6), 3e-2), "hardly");
  EXPECT_EQ(wouldNotice(error(3e-2, 1e-6), 3e-2), "yes");
  EXPECT_EQ(wouldNotice(error(2e-2, 1e-6), 1e-2), "yes");
  ForcedError untold;
  untold.error = "no output has a finite number in this type";
  EXPECT_EQ(wouldNotice(untold, 3e-2), "");
}

TEST(ProbeFindings, OfSwaps) {
  protocol::ProbeSwaps swaps;
  swaps.hardly = 3e-2;
  swaps.swaps = {swap(0.2, 1e-6), swap(0.02, 1e-6), swap(1e-8, 1e-6)};
  swaps.swaps.emplace_back().as_it_is.error = "nothing would make an RMSNorm of it";
  EXPECT_TRUE(says(swapFindings(swaps), "2 of 3 LayerNorms would hardly be missed"));
  EXPECT_FALSE(says(swapFindings(swaps), "all of them"));
  EXPECT_FALSE(says(swapFindings(swaps), "Folding"));
  swaps.all = error(0.21, 1e-6);
  swaps.swaps[0].folded = error(3e-7, 1e-6);
  swaps.swaps[1].folded = error(4e-7, 1e-6);
  EXPECT_TRUE(says(swapFindings(swaps), "all of them change an output by 0.21 (rounding: up to 1e-06)"));
  EXPECT_TRUE(says(swapFindings(swaps), "Folding one first changes an output by 4e-07 at most"));
  EXPECT_TRUE(swapFindings({}).empty());
}

}  // namespace
}  // namespace normlens::service
