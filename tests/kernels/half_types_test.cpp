// Loading, adding and storing float16 and bfloat16, in every variant, seen through the sum that add_rms_norm writes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cpu/row_norm.h"
#include "tests/kernels/numbers.h"

namespace normlens::kernels::test {
namespace {

std::vector<uint16_t> sumOf(const RowNormVariant& variant, Scalar scalar, const std::vector<uint16_t>& a,
                            const std::vector<uint16_t>& b) {
  std::vector<uint16_t> sum(a.size());
  std::vector<uint16_t> output(a.size());
  const auto width = static_cast<int64_t>(a.size());
  variant.run(scalar,
              {.input = a.data(),
               .inputStride = width,
               .residual = b.data(),
               .residualStride = width,
               .sum = sum.data(),
               .output = output.data(),
               .width = width,
               .eps = 1e-5},
              0, 1);
  return sum;
}

struct HalfType {
  const char* name;
  Scalar scalar;
  SmallFloat format;
};

class HalfTypes : public testing::TestWithParam<HalfType> {};

void expectSame(const SmallFloat& format, uint16_t got, uint16_t expected, const std::string& where) {
  if (std::isnan(format.decode(expected))) {
    EXPECT_TRUE(std::isnan(format.decode(got))) << where;
  } else {
    EXPECT_EQ(got, expected) << where;
  }
}

TEST_P(HalfTypes, EveryValueSurvivesAddingZero) {
  const HalfType& type = GetParam();
  std::vector<uint16_t> all(65536);
  std::iota(all.begin(), all.end(), uint16_t{0});
  const std::vector<uint16_t> minusZeros(all.size(), 0x8000);  // x + (-0) is x, for x = -0 too
  for (const RowNormVariant& variant : rowNormVariants()) {
    if (!variant.supported()) continue;
    const auto sum = sumOf(variant, type.scalar, all, minusZeros);
    for (size_t i = 0; i < all.size(); ++i) {
      expectSame(type.format, sum[i], all[i], std::string(variant.name) + " bits " + std::to_string(i));
    }
  }
}

TEST_P(HalfTypes, SumsAreRoundedToNearestEven) {
  const HalfType& type = GetParam();
  std::mt19937 random(7);
  std::vector<uint16_t> a(65536);
  std::vector<uint16_t> b(a.size());
  for (auto& bits : a) bits = static_cast<uint16_t>(random());
  // Neighbouring exponents make ties and carries common.
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<uint16_t>(a[i] + (random() % 4096) - 2048);
  for (const RowNormVariant& variant : rowNormVariants()) {
    if (!variant.supported()) continue;
    const auto sum = sumOf(variant, type.scalar, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const auto exact = static_cast<float>(type.format.decode(a[i])) + static_cast<float>(type.format.decode(b[i]));
      expectSame(type.format, sum[i], type.format.encode(exact),
                 std::string(variant.name) + " bits " + std::to_string(a[i]) + " + " + std::to_string(b[i]));
    }
  }
}

// Rounding adds to the bits: a carry out of a NaN's payload would make a number of it.
TEST_P(HalfTypes, ANanWithEveryBitSetStaysOne) {
  const HalfType& type = GetParam();
  constexpr int64_t width = 77;
  const std::vector<uint16_t> ones(width, type.scalar == Scalar::Float16 ? 0x3c00 : 0x3f80);
  for (const uint32_t bits : {0x7fffffffU, 0xffffffffU, 0x7f800001U, 0x7fc00000U}) {
    float nan = 0.0F;
    std::memcpy(&nan, &bits, sizeof nan);
    const std::vector<float> nans(width, nan);
    const std::vector<uint16_t> narrowNans(width, static_cast<uint16_t>((bits >> 16) | 1U));
    double nanEps = 0.0;
    const uint64_t wide = (uint64_t{bits | 0x7ff00000U} << 32) | 0xffffffffU;
    std::memcpy(&nanEps, &wide, sizeof nanEps);
    const NormRows plain{.input = ones.data(), .inputStride = width, .width = width, .outputWidth = width, .eps = 1e-5};
    NormRows withWeight = plain, withBias = plain, withEps = plain, withInput = plain;
    withWeight.weight = nans.data();
    withBias.bias = nans.data();
    withEps.eps = nanEps;
    withInput.input = narrowNans.data();
    for (const NormRows& rows : {withWeight, withBias, withEps, withInput}) {
      for (const RowNormVariant& variant : rowNormVariants()) {
        if (!variant.supported()) continue;
        std::vector<uint16_t> output(width);
        NormRows work = rows;
        work.output = output.data();
        variant.run(type.scalar, work, 0, 1);
        for (const uint16_t got : output) EXPECT_TRUE(std::isnan(type.format.decode(got))) << variant.name << bits;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, HalfTypes,
                         testing::Values(HalfType{"float16", Scalar::Float16, kFloat16},
                                         HalfType{"bfloat16", Scalar::BFloat16, kBFloat16}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace normlens::kernels::test
