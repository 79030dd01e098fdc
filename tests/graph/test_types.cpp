#include <gtest/gtest.h>

#include <cmath>

#include "core/graph/types.h"
#include "tests/support/graph_text.h"

namespace normlens::graph {

TEST(Types, everyHalfSurvivesTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = halfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
    } else {
      EXPECT_EQ(floatToHalf(value), half) << bits;
    }
    const float wide = bfloat16ToFloat(half);
    if (!std::isnan(wide)) {
      EXPECT_EQ(floatToBfloat16(wide), half) << bits;
    }
  }
}

TEST(Types, halfRoundsTiesToEven) {
  EXPECT_EQ(floatToHalf(1.0F + 0x1p-11F), floatToHalf(1.0F));
  EXPECT_EQ(halfToFloat(floatToHalf(1.0F + 3 * 0x1p-11F)), 1.0F + 0x1p-9F);
  EXPECT_EQ(halfToFloat(floatToHalf(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(halfToFloat(floatToHalf(65520.0F))));
}

TEST(Types, elementCountRefusesNegativeAndOverflow) {
  EXPECT_EQ(elementCount({2, 3, 4}), 24);
  EXPECT_EQ(elementCount({}), 1);
  EXPECT_EQ(elementCount({0, int64_t{1} << 62, 8}), 0);
  EXPECT_FALSE(elementCount({2, -1}));
  EXPECT_FALSE(elementCount({int64_t{1} << 62, 4}));
}

TEST(Types, exactCasts) {
  EXPECT_TRUE(castIsExact(DType::Float16, DType::Float32));
  EXPECT_TRUE(castIsExact(DType::BFloat16, DType::Float32));
  EXPECT_FALSE(castIsExact(DType::Float16, DType::BFloat16));
  EXPECT_FALSE(castIsExact(DType::BFloat16, DType::Float16));
  EXPECT_FALSE(castIsExact(DType::Float32, DType::Float16));
  EXPECT_FALSE(castIsExact(DType::Int64, DType::Float32));
}

TEST(Types, toDoublesFollowsStrides) {
  TensorView view = tensorFromDoubles({2, 3}, {1, 2, 3, 4, 5, 6});
  view.shape = {3, 2};
  view.strides = {1, 3};
  EXPECT_EQ(toDoubles(view), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_FALSE(view.contiguous());
}

TEST(Types, whatHasAShapeOnlyHasNoNumbers) {
  TensorView view;
  view.dtype = DType::Float32;
  view.shape = {2, 3};
  EXPECT_FALSE(toDoubles(view));
  EXPECT_FALSE(isZero(view, 10));
  view.shape = {2, 0};
  view.strides = {0, 1};
  EXPECT_EQ(toDoubles(view), std::vector<double>());
}

TEST(Types, isZeroLooksAtEveryElementThatItMay) {
  EXPECT_TRUE(isZero(tensorFromDoubles({2, 2}, {0, -0.0, 0, 0}), 4));
  EXPECT_FALSE(isZero(tensorFromDoubles({2, 2}, {0, 0, 0, 1e-300}, DType::Float64), 4));
  EXPECT_FALSE(isZero(tensorFromDoubles({2, 2}, {0, 0, 0, 0}), 3));
  EXPECT_TRUE(isZero(tensorFromDoubles({0}, {}), 4));
  TensorView everyOther = tensorFromDoubles({4}, {0, 7, 0, 7});
  everyOther.shape = {2};
  everyOther.strides = {2};
  EXPECT_TRUE(isZero(everyOther, 4));
  TensorView quantised = tensorFromDoubles({1}, {0});
  quantised.dtype = DType::Quantized;
  EXPECT_FALSE(isZero(quantised, 4));
}

}  // namespace normlens::graph
