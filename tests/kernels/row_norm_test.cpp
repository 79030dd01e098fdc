// Every compiled variant against the double reference: kinds, types, widths, weights, strides, hostile numbers;
// loading, adding and storing float16 and bfloat16.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/row_norm.h"
#include "kernels/reference/row_norm.h"
#include "tests/kernels/norm_trial.h"
#include "tests/kernels/numbers.h"

namespace normlens::kernels::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr NormKind kKinds[] = {NormKind::Rms, NormKind::Layer, NormKind::Center};

template <class Work>
void forEachVariant(const Work& work) {
  for (const RowNormVariant& variant : rowNormVariants()) {
    if (variant.supported()) work(variant);
  }
}

void execute(NormTrial& trial, const RowNormVariant& variant, const Type& type, int64_t rows) {
  trial.execute([&](const NormRows& work) { variant.run(type.scalar, work, 0, rows); });
}

void runAll(const Type& type, const NormCase& c) {
  forEachVariant([&](const RowNormVariant& variant) {
    NormTrial trial(type, c);
    execute(trial, variant, type, c.rows);
    trial.check(std::string(variant.name) + " " + describe(type, c));
  });
}

class RowNorm : public testing::TestWithParam<Type> {};

TEST_P(RowNorm, AgreesWithTheReferenceAtEveryWidth) {
  for (const NormKind kind : kKinds) {
    for (const int64_t width : {1,  2,  3,  5,   7,   8,   15,  16,  17,  31,  32,   33,   47,   63,
                                64, 65, 96, 127, 128, 129, 255, 257, 768, 769, 1023, 1024, 4097, 65536}) {
      runAll(GetParam(), {.kind = kind, .rows = width > 4097 ? 1 : 3, .width = width, .weight = true, .bias = true});
    }
  }
}

TEST_P(RowNorm, WeightBiasAndResidualAreOptional) {
  for (const NormKind kind : kKinds) {
    for (int options = 0; options < 8; ++options) {
      runAll(GetParam(), {.kind = kind,
                          .width = 77,
                          .gap = 13,
                          .weight = (options & 1) != 0,
                          .bias = (options & 2) != 0,
                          .residual = (options & 4) != 0});
    }
  }
}

TEST_P(RowNorm, AResidualIsAddedFirst) {
  for (const NormKind kind : kKinds) {
    for (const int64_t width : {1, 3, 16, 31, 64, 129, 768, 1025}) {
      runAll(GetParam(),
             {.kind = kind, .width = width, .gap = 5, .weight = true, .bias = true, .residual = true, .shift = 3});
    }
  }
}

TEST_P(RowNorm, HostileNumbersCostNoDigits) {
  for (const NormKind kind : kKinds) {
    for (const Draw draw : {Draw::FarMean, Draw::Step, Draw::Spike, Draw::Subnormal, Draw::Constant}) {
      for (const int64_t width : {3, 65, 768, 5125}) {
        runAll(GetParam(), {.kind = kind, .width = width, .weight = true, .draw = draw, .eps = 1e-12});
        runAll(GetParam(), {.kind = kind, .width = width, .residual = true, .draw = draw});
      }
    }
  }
}

TEST_P(RowNorm, NanAndInfinityStayInTheirRowAndSpreadAsInTheReference) {
  for (const NormKind kind : kKinds) {
    for (const double poison : {kNan, kInf, -kInf}) {
      for (const int64_t column : {0, 20, 36}) {
        forEachVariant([&](const RowNormVariant& variant) {
          const NormCase c{.kind = kind, .rows = 3, .width = 37};
          NormTrial trial(GetParam(), c);
          trial.setInput(1, column, poison);
          execute(trial, variant, GetParam(), c.rows);
          trial.checkNonFinite(std::string(variant.name) + " " + describe(GetParam(), c) + " poisoned column " +
                               std::to_string(column));
        });
      }
    }
  }
}

TEST_P(RowNorm, ARowOfZerosGivesZeros) {
  for (const NormKind kind : kKinds) {
    forEachVariant([&](const RowNormVariant& variant) {
      const NormCase c{.kind = kind, .rows = 2, .width = 19, .weight = true};
      NormTrial trial(GetParam(), c);
      for (int64_t i = 0; i < c.width; ++i) trial.setInput(0, i, 0.0);
      execute(trial, variant, GetParam(), c.rows);
      for (int64_t i = 0; i < c.width; ++i) EXPECT_EQ(trial.output(0, i), 0.0) << variant.name;
    });
  }
}

TEST_P(RowNorm, NoRowsWriteNothing) {
  forEachVariant([&](const RowNormVariant& variant) {
    NormTrial trial(GetParam(), {.rows = 0, .width = 33, .weight = true, .bias = true});
    execute(trial, variant, GetParam(), 0);
    trial.check(variant.name);
  });
}

TEST_P(RowNorm, WeightAndBiasMayBeOfTheTypeOfTheRows) {
  for (const NormKind kind : kKinds) {
    for (const int64_t width : {1, 64, 77, 1024}) {
      runAll(GetParam(), {.kind = kind, .width = width, .weight = true, .bias = true, .constantsOfRows = true});
    }
  }
}

// Whichever rows a thread gets, and whichever of them a kernel takes together.
TEST_P(RowNorm, ARowHasTheSameBitsInWhateverCompany) {
  for (const NormKind kind : kKinds) {
    for (const auto& shape : {std::pair<int64_t, int64_t>{37, 1},
                              {37, 17},
                              {39, 64},
                              {37, 200},
                              {37, 768},
                              {22, 1500},
                              {9, 4099},
                              {5, 20000},
                              {300, 1024}}) {
      const int64_t rows = shape.first, width = shape.second;
      const NormCase c{
          .kind = kind, .rows = rows, .width = width, .weight = true, .bias = true, .residual = width == 200};
      forEachVariant([&](const RowNormVariant& variant) {
        NormTrial together(GetParam(), c), split(GetParam(), c);
        execute(together, variant, GetParam(), rows);
        split.execute([&](const NormRows& work) {
          for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 1}, {1, 3}, {3, 5}, {5, rows}}) {
            variant.run(GetParam().scalar, work, begin, end);
          }
        });
        if (rows < 100) together.check(std::string(variant.name) + " " + describe(GetParam(), c));
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t i = 0; i < width; ++i) {
            ASSERT_EQ(together.output(r, i), split.output(r, i))
                << variant.name << " " << describe(GetParam(), c) << " row " << r << " column " << i;
          }
        }
      });
    }
  }
}

TEST_P(RowNorm, ManyRowsWithWhateverBelongsToThem) {
  for (const NormKind kind : kKinds) {
    for (int options = 0; options < 8; ++options) {
      runAll(GetParam(), {.kind = kind,
                          .rows = 23,
                          .width = 77,
                          .gap = 13,
                          .weight = (options & 1) != 0,
                          .bias = (options & 2) != 0,
                          .residual = (options & 4) != 0,
                          .constantsOfRows = true});
    }
  }
}

TEST_P(RowNorm, OneHostileRowLeavesItsTileAlone) {
  for (const NormKind kind : kKinds) {
    forEachVariant([&](const RowNormVariant& variant) {
      const NormCase c{.kind = kind, .rows = 19, .width = 100, .weight = true, .bias = true, .constantsOfRows = true};
      NormTrial trial(GetParam(), c);
      for (int64_t i = 0; i < 24; ++i) trial.setInput(6, i, 1000.0);  // a guess of the mean that is far off
      execute(trial, variant, GetParam(), c.rows);
      trial.check(std::string(variant.name) + " " + describe(GetParam(), c));
      trial.setInput(6, 50, kNan);
      execute(trial, variant, GetParam(), c.rows);
      trial.checkNonFinite(std::string(variant.name) + " " + describe(GetParam(), c));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RowNorm, testing::ValuesIn(kTypes),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(RowNormVariants, TheLastOneRunsEverywhereAndTheBestIsSupported) {
  ASSERT_FALSE(rowNormVariants().empty());
  EXPECT_TRUE(rowNormVariants().back().supported());
  EXPECT_TRUE(bestRowNormVariant().supported());
}

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
    const NormRows plain{.input = ones.data(), .inputStride = width, .width = width, .eps = 1e-5};
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
