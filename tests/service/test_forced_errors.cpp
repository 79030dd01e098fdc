// One LayerNorm of a bundled model folded whatever its verdict, in every type, and what its own centering costs.
#include <gtest/gtest.h>

#include "tests/service/demo_service.h"
#include "tests/support/must.h"

namespace normlens::service {
namespace {

constexpr const char* kTypes[] = {"float64", "float32", "bfloat16", "float16"};

class ForcedErrorsOfBert : public testing::Test {
 protected:
  protocol::ForcedError measure(int norm, const std::string& dtype) {
    return must(service_.forcedError({norm, dtype}, Task{}));
  }

  DemoService service_;
  protocol::Analysis analysis_ = service_.analyzed("bert.pt");
};

TEST_F(ForcedErrorsOfBert, ABlockedNormGivesOtherOutputsAndAFreeOneRoundsOnly) {
  ASSERT_EQ(analysis_.norms[0].verdict, Verdict::Free);
  ASSERT_EQ(analysis_.norms[5].verdict, Verdict::Blocked);
  for (const char* type : kTypes) {
    const auto free = measure(0, type), blocked = measure(5, type);
    EXPECT_EQ(free.error, "");
    EXPECT_EQ(blocked.error, "");
    EXPECT_LE(free.max_rel, free.limit) << type;
    EXPECT_GT(blocked.max_rel, 1e-3) << type;
    EXPECT_GT(blocked.limit, 0) << type;
  }
  const auto exact = measure(5, "float64");
  EXPECT_GT(exact.max_rel, 1e6 * exact.limit);
}

TEST_F(ForcedErrorsOfBert, TheLastFoldStays) {
  service_.folded();
  protocol::DiffParams compared;
  compared.dtype = "float32";
  const auto before = service_.diff(compared, Task{});
  EXPECT_GT(measure(5, "float32").max_rel, 1e-3);
  const auto after = service_.diff(compared, Task{});
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->rows.back().max_rel, after->rows.back().max_rel);
}

TEST_F(ForcedErrorsOfBert, WhatIsNotThereIsRefused) {
  EXPECT_FALSE(service_.forcedError({99, "float32"}, Task{}));
  EXPECT_FALSE(service_.forcedError({0, "int8"}, Task{}));
  EXPECT_FALSE(Service().forcedError({0, "float32"}, Task{}));
}

TEST_F(ForcedErrorsOfBert, TheBlockerIsTheNormBefore) {
  const auto& blocker = analysis_.norms[5].blocker;
  ASSERT_TRUE(blocker);
  EXPECT_EQ(blocker->node, analysis_.norms[4].node);
  EXPECT_EQ(blocker->reason, "γ not equal");
  EXPECT_EQ(service_.model()->graph().value(blocker->gamma).name, "layer.1.ln_2.weight");
  EXPECT_FALSE(analysis_.norms[0].blocker);
}

TEST_F(ForcedErrorsOfBert, PricesAreMeasuredWhereNoPlanHingesOnThem) {
  const auto prices = must(service_.normPrices(Task{}));
  EXPECT_GT(prices.rows * prices.width, 0);
  EXPECT_GT(prices.layer_norm_us, 0);
}

}  // namespace
}  // namespace normlens::service
