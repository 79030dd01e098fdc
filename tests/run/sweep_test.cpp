#include "core/run/measure/sweep.h"

#include <gtest/gtest.h>

#include "core/run/inputs/draw.h"
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

TEST(Sweep, ADeviceIsOneOfSeveralGpus) {
  const auto points = sweepPoints({"device=cpu,cuda,cuda:0,cuda:3"}, {.device = formats::Device::Cuda, .gpu = 2});
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 4U);
  std::vector<std::string> names;
  for (const SweepPoint& point : *points) names.push_back(formats::deviceName(point.settings));
  EXPECT_EQ(names, (std::vector<std::string>{"cpu", "cuda", "cuda", "cuda:3"}));
  EXPECT_EQ(points->back().settings.gpu, 3);
  EXPECT_EQ(points->front().settings.device, formats::Device::Cpu);
}

TEST(Sweep, WhatItCannotBeIsUsage) {
  for (const char* wrong : {"batch", "=1", "batch=", "batch=1,", "batch=0", "batch=2x", "dtype=int8", "device=tpu",
                            "device=cuda:", "device=cuda:x", "device=cuda:-1", "device=cuda1", "device=cuda:1x",
                            "device=cuda:999", "device=cpu:1", "norm=layer"}) {
    const auto points = sweepPoints({wrong}, {});
    ASSERT_FALSE(points) << wrong;
    EXPECT_EQ(points.error().code, ErrorCode::Usage) << wrong;
  }
  EXPECT_FALSE(sweepPoints({"seq=1", "seq=2"}, {}));
}

formats::InputSpec named(std::vector<std::string> names, std::vector<int> freeAxes) {
  formats::InputSpec spec;
  spec.axisNames = std::move(names);
  spec.freeAxes = std::move(freeAxes);
  return spec;
}

TEST(Sweep, SizesGoByNameOrByAxis) {
  const formats::Tensors inputs = {
      {"ids", fromDoubles(graph::DType::Int64, {2, 5}, std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}};
  const auto byAxis = inputsAt({{"batch", 3}, {"seq", 7}}, {}, inputs);
  ASSERT_TRUE(byAxis);
  EXPECT_EQ(byAxis->front().view.shape, (graph::Shape{3, 7}));
  const auto byName = inputsAt({{"length", 4}}, {named({"", "length"}, {1})}, inputs);
  ASSERT_TRUE(byName);
  EXPECT_EQ(byName->front().view.shape, (graph::Shape{2, 4}));
  EXPECT_FALSE(inputsAt({{"depth", 4}}, {}, inputs));
  EXPECT_FALSE(inputsAt({{"depth", 4}}, {named({"", "length"}, {1})}, inputs));
}

std::vector<graph::Shape> shapesAt(const DimSizes& sizes, const std::vector<formats::InputSpec>& specs,
                                   const std::vector<graph::Shape>& shapes) {
  formats::Tensors inputs;
  for (const graph::Shape& shape : shapes) {
    const std::vector<double> zeros(static_cast<size_t>(*graph::elementCount(shape)));
    inputs.push_back({"in_" + std::to_string(inputs.size()), fromDoubles(graph::DType::Float32, shape, zeros)});
  }
  const auto swept = inputsAt(sizes, specs, inputs);
  EXPECT_TRUE(swept) << swept.error().message;
  return swept ? shapesOf(*swept) : std::vector<graph::Shape>{};
}

using Shapes = std::vector<graph::Shape>;

TEST(Sweep, ANameIsItsAxisWhereverItStands) {
  // Only one of two inputs has names, and they are not where they would be looked for otherwise.
  EXPECT_EQ(shapesAt({{"seq", 9}}, {named({}, {}), named({"seq", "batch", ""}, {0, 1})}, {{3, 4}, {5, 2, 64}}),
            (Shapes{{3, 4}, {9, 2, 64}}));
  EXPECT_EQ(shapesAt({{"batch", 8}, {"seq", 9}}, {named({"seq", "batch", ""}, {0, 1})}, {{5, 2, 64}}),
            (Shapes{{9, 8, 64}}));
  // One name, one axis by its place.
  EXPECT_EQ(shapesAt({{"batch", 8}, {"frames", 9}}, {named({"", "frames"}, {1})}, {{2, 7}}), (Shapes{{8, 9}}));
}

TEST(Sweep, ASumFollowsItsTerms) {
  const std::vector specs = {named({"batch", "seq"}, {0, 1}), named({"batch", "past"}, {0, 1}),
                             named({"batch", "past + seq"}, {0, 1})};
  EXPECT_EQ(shapesAt({{"seq", 20}}, specs, {{2, 8}, {2, 3}, {2, 11}}), (Shapes{{2, 20}, {2, 3}, {2, 23}}));
  EXPECT_EQ(shapesAt({{"seq", 20}, {"past", 5}}, specs, {{2, 8}, {2, 3}, {2, 11}}), (Shapes{{2, 20}, {2, 5}, {2, 25}}));
}

TEST(Sweep, OneSizeOfSeveralNamesStaysOne) {
  const std::vector specs = {named({"ids_batch", "ids_seq"}, {0, 1}), named({"mask_batch", "mask_seq"}, {0, 1}),
                             named({"", ""}, {})};
  EXPECT_EQ(shapesAt({{"ids_seq", 20}}, specs, {{2, 8}, {2, 8}, {2, 8}}), (Shapes{{2, 20}, {2, 20}, {2, 8}}));
}

}  // namespace
}  // namespace normlens::run
