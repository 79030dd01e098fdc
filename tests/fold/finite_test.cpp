#include "core/fold/finite.h"

#include <limits>

#include "tests/fold/weight_tensors.h"

namespace normlens::fold {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void put(const Tensor& tensor, int64_t element, double value) {
  auto* data = const_cast<std::byte*>(tensor.view.data);
  writeElement(data + element * static_cast<int64_t>(graph::dtypeBytes(tensor.view.dtype)), tensor.view.dtype, value);
}

TEST(Finite, OneElementIsFoundWhereverItIs) {
  std::mt19937_64 random(1);
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    for (const double strange : {kInfinite, -kInfinite, kNone}) {
      const Tensor sound = makeTensor({300, 500}, {500, 1}, dtype, random);
      const Tensor last = makeTensor({300, 500}, {500, 1}, dtype, random);
      put(last, 149'999, strange);
      const Tensor columns = makeTensor({7, 5}, {1, 7}, dtype, random);
      put(columns, 20, strange);
      const std::vector<TensorView> weights{sound.view, last.view, columns.view};
      EXPECT_EQ(holdNonFinite(weights, 2), (std::vector<bool>{false, true, true}));
    }
  }
}

TEST(Finite, WhatLiesBetweenTheElementsIsNoneOfThem) {
  std::mt19937_64 random(2);
  const Tensor spaced = makeTensor({4, 3}, {6, 2}, DType::Float32, random);
  put(spaced, 1, kNone);
  EXPECT_EQ(holdNonFinite({&spaced.view, 1}, 1), std::vector<bool>{false});
  put(spaced, 8, kNone);
  EXPECT_EQ(holdNonFinite({&spaced.view, 1}, 1), std::vector<bool>{true});
}

TEST(Finite, OtherTypesAndAbsentDataHoldNone) {
  const std::vector<TensorView> weights{{nullptr, DType::Float32, {2}, {1}, nullptr},
                                        {nullptr, DType::Int64, {0}, {1}, nullptr}};
  EXPECT_EQ(holdNonFinite(weights, 2), (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace normlens::fold
