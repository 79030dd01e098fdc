#include "core/run/sweep.h"

#include <gtest/gtest.h>

#include "core/run/draw.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

TEST(Sweep, WithoutOneThereIsOnePoint) {
  const auto points = sweepPoints({}, {.threads = 3});
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 1U);
  EXPECT_TRUE(points->front().at.empty());
  EXPECT_EQ(points->front().settings.threads, 3);
}

TEST(Sweep, EveryCombination) {
  const auto points = sweepPoints({"batch=1,2", "dtype=float16,float64", "norm=fast"}, {});
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 4U);
  const SweepPoint& last = points->back();
  EXPECT_EQ(last.sizes.at("batch"), 2);
  EXPECT_EQ(last.settings.dtype, graph::DType::Float64);
  EXPECT_EQ(last.norm, formats::NormFlavour::Fast);
  ASSERT_EQ(last.at.size(), 3U);
  EXPECT_EQ(last.at[1], (std::pair<std::string, std::string>("dtype", "float64")));
}

TEST(Sweep, WhatItCannotBeIsUsage) {
  for (const char* wrong :
       {"batch", "=1", "batch=", "batch=1,", "batch=0", "batch=2x", "dtype=int8", "device=tpu", "norm=layer"}) {
    const auto points = sweepPoints({wrong}, {});
    ASSERT_FALSE(points) << wrong;
    EXPECT_EQ(points.error().code, ErrorCode::Usage) << wrong;
  }
  EXPECT_FALSE(sweepPoints({"seq=1", "seq=2"}, {}));
}

TEST(Sweep, SizesGoByNameOrByAxis) {
  const formats::Tensors inputs = {
      {"ids", fromDoubles(graph::DType::Int64, {2, 5}, std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}};
  const auto byAxis = inputsAt({{"batch", 3}, {"seq", 7}}, {}, inputs);
  ASSERT_TRUE(byAxis);
  EXPECT_EQ(byAxis->front().view.shape, (graph::Shape{3, 7}));
  const auto byName = inputsAt({{"length", 4}}, {"ids=int64[2,length]:0..9"}, inputs);
  ASSERT_TRUE(byName);
  EXPECT_EQ(byName->front().view.shape, (graph::Shape{2, 4}));
  EXPECT_FALSE(inputsAt({{"depth", 4}}, {}, inputs));
}

}  // namespace
}  // namespace normlens::run
