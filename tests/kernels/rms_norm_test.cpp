// Every compiled variant against the double reference: types, widths, weights, strides, what lies around the rows.
#include "kernels/cpu/rms_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/reference/rms_norm.h"
#include "tests/kernels/small_float.h"

namespace normlens::kernels::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Type {
  const char* name;
  Scalar scalar;
  size_t bytes;
  double ulp;   // distance from 1 to the next number
  double tiny;  // smallest positive number
};

constexpr Type kTypes[] = {{"float32", Scalar::Float32, 4, 0x1p-23, 0x1p-149},
                           {"float64", Scalar::Float64, 8, 0x1p-52, 0x1p-1074},
                           {"float16", Scalar::Float16, 2, 0x1p-10, 0x1p-24},
                           {"bfloat16", Scalar::BFloat16, 2, 0x1p-7, 0x1p-133}};

// Numbers of one scalar type in memory, read and written as double.
class Buffer {
 public:
  Buffer(const Type& type, size_t count, double fill) : type_(type), bytes_(count * type.bytes) {
    for (size_t i = 0; i < count; ++i) set(i, fill);
  }

  void set(size_t i, double value) {
    switch (type_.scalar) {
      case Scalar::Float32:
        return write(i, static_cast<float>(value));
      case Scalar::Float64:
        return write(i, value);
      case Scalar::Float16:
        return write(i, kFloat16.encode(value));
      case Scalar::BFloat16:
        return write(i, kBFloat16.encode(value));
    }
  }
  [[nodiscard]] double get(size_t i) const {
    switch (type_.scalar) {
      case Scalar::Float32:
        return read<float>(i);
      case Scalar::Float64:
        return read<double>(i);
      case Scalar::Float16:
        return kFloat16.decode(read<uint16_t>(i));
      case Scalar::BFloat16:
        return kBFloat16.decode(read<uint16_t>(i));
    }
    return kNan;
  }
  void* at(size_t i) { return bytes_.data() + i * type_.bytes; }

 private:
  template <class T>
  void write(size_t i, T value) {
    std::memcpy(at(i), &value, sizeof value);
  }
  template <class T>
  [[nodiscard]] T read(size_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof value, sizeof value);
    return value;
  }

  Type type_;
  std::vector<unsigned char> bytes_;
};

struct Case {
  int64_t rows = 3;
  int64_t width = 1;
  int64_t gap = 0;  // elements between rows, filled with NaN: a read outside a row shows
  bool weight = false;
  bool bias = false;
  bool residual = false;
};

// One run of a variant over random rows. Outputs lie between guard bands.
class Trial {
 public:
  static constexpr size_t kGuard = 64;
  static constexpr double kGuardValue = 3.0;
  static constexpr double kEps = 1e-5;

  Trial(const Type& type, const Case& c)
      : type_(type),
        case_(c),
        input_(type, total(c.width + c.gap), kNan),
        residual_(type, total(c.width + c.gap), kNan),
        sum_(type, total(c.width) + 2 * kGuard, kGuardValue),
        output_(type, total(c.width) + 2 * kGuard, kGuardValue) {
    std::normal_distribution<double> normal(0.3, 1.0);
    for (int64_t r = 0; r < c.rows; ++r) {
      for (int64_t i = 0; i < c.width; ++i) {
        input_.set(inputIndex(r, i), normal(random_));
        residual_.set(inputIndex(r, i), normal(random_));
      }
    }
    for (int64_t i = 0; i < c.width; ++i) {
      weight_.push_back(static_cast<float>(normal(random_)));
      bias_.push_back(static_cast<float>(normal(random_)));
    }
  }

  Buffer& input() { return input_; }
  [[nodiscard]] size_t inputIndex(int64_t row, int64_t i) const {
    return static_cast<size_t>(row * (case_.width + case_.gap) + i);
  }
  [[nodiscard]] size_t outputIndex(int64_t row, int64_t i) const {
    return kGuard + static_cast<size_t>(row * case_.width + i);
  }
  [[nodiscard]] double output(int64_t row, int64_t i) const { return output_.get(outputIndex(row, i)); }

  void execute(const RmsNormVariant& variant) {
    const std::vector<float> weightFloats(weight_.begin(), weight_.end());
    const std::vector<float> biasFloats(bias_.begin(), bias_.end());
    const bool isDouble = type_.scalar == Scalar::Float64;
    const auto pick = [&](bool wanted, const std::vector<double>& d, const std::vector<float>& f) -> const void* {
      if (!wanted) return nullptr;
      return isDouble ? static_cast<const void*>(d.data()) : f.data();
    };
    variant.run(type_.scalar,
                {.input = input_.at(0),
                 .inputStride = case_.width + case_.gap,
                 .residual = case_.residual ? residual_.at(0) : nullptr,
                 .residualStride = case_.width + case_.gap,
                 .weight = pick(case_.weight, weight_, weightFloats),
                 .bias = pick(case_.bias, bias_, biasFloats),
                 .sum = case_.residual ? sum_.at(kGuard) : nullptr,
                 .output = output_.at(kGuard),
                 .width = case_.width,
                 .eps = kEps},
                0, case_.rows);
  }

  void check(const std::string& where) const {
    for (int64_t r = 0; r < case_.rows; ++r) checkRow(r, where + " row " + std::to_string(r));
    for (size_t i = 0; i < kGuard; ++i) {
      const size_t behind = kGuard + total(case_.width) + i;
      for (const size_t at : {i, behind}) {
        ASSERT_EQ(output_.get(at), kGuardValue) << where << ": wrote outside the output, element " << at;
        ASSERT_EQ(sum_.get(at), kGuardValue) << where << ": wrote outside the sum, element " << at;
      }
    }
  }

 private:
  [[nodiscard]] size_t total(int64_t stride) const { return static_cast<size_t>(case_.rows * stride); }

  void checkRow(int64_t row, const std::string& where) const {
    std::vector<double> x;
    for (int64_t i = 0; i < case_.width; ++i) {
      double value = input_.get(inputIndex(row, i));
      if (case_.residual) {
        value += residual_.get(inputIndex(row, i));
        const double sum = sum_.get(outputIndex(row, i));
        ASSERT_NEAR(sum, value, type_.ulp * std::abs(value) + type_.tiny) << where << " sum, column " << i;
        value = sum;
      }
      x.push_back(value);
    }
    const std::vector<double> none;
    const auto expected = reference::rmsNorm(x, case_.weight ? weight_ : none, case_.bias ? bias_ : none, kEps);
    const auto unbiased = reference::rmsNorm(x, case_.weight ? weight_ : none, none, kEps);
    const double sumUlp = type_.scalar == Scalar::Float64 ? 0x1p-52 : 0x1p-23;
    for (int64_t i = 0; i < case_.width; ++i) {
      const auto at = static_cast<size_t>(i);
      // One rounding of the result, a few of the arithmetic before it, and the sum's growth with the width.
      const double magnitude = std::abs(unbiased[at]) + std::abs(expected[at]);
      const double steps = 8.0 + std::sqrt(static_cast<double>(case_.width)) / 8.0;
      const double allowed = type_.ulp / 2 * std::abs(expected[at]) + steps * sumUlp * magnitude + type_.tiny;
      ASSERT_NEAR(output_.get(outputIndex(row, i)), expected[at], allowed) << where << " column " << i;
    }
  }

  Type type_;
  Case case_;
  std::mt19937 random_{11};
  Buffer input_;
  Buffer residual_;
  Buffer sum_;
  Buffer output_;
  std::vector<double> weight_;
  std::vector<double> bias_;
};

std::string describe(const RmsNormVariant& variant, const Type& type, const Case& c) {
  return std::string(variant.name) + " " + type.name + " width " + std::to_string(c.width) + " gap " +
         std::to_string(c.gap) + (c.weight ? " weight" : "") + (c.bias ? " bias" : "") +
         (c.residual ? " residual" : "");
}

void runAll(const Type& type, const Case& c) {
  for (const RmsNormVariant& variant : rmsNormVariants()) {
    if (!variant.supported()) continue;
    Trial trial(type, c);
    trial.execute(variant);
    trial.check(describe(variant, type, c));
    if (testing::Test::HasFatalFailure()) return;
  }
}

class RmsNorm : public testing::TestWithParam<Type> {};

TEST_P(RmsNorm, AgreesWithTheReferenceAtEveryWidth) {
  for (const int64_t width : {1,  2,  3,  5,   7,   8,   15,  16,  17,  31,   32,   33,   47,   63,   64,
                              65, 96, 97, 127, 128, 129, 255, 257, 768, 1000, 1023, 1024, 4096, 4097, 65536}) {
    runAll(GetParam(), {.width = width, .weight = true, .bias = true});
    if (HasFatalFailure()) return;
  }
}

TEST_P(RmsNorm, WeightAndBiasAreOptional) {
  for (const bool weight : {false, true}) {
    for (const bool bias : {false, true}) {
      for (const bool residual : {false, true}) {
        runAll(GetParam(), {.width = 77, .gap = 13, .weight = weight, .bias = bias, .residual = residual});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(RmsNorm, AResidualIsAddedFirst) {
  for (const int64_t width : {1, 3, 16, 31, 64, 129, 768, 1025}) {
    runAll(GetParam(), {.width = width, .gap = 5, .weight = true, .bias = true, .residual = true});
    if (HasFatalFailure()) return;
  }
}

TEST_P(RmsNorm, NanAndInfinityStayInTheirRow) {
  for (const double poison : {kNan, kInf, -kInf}) {
    for (const int64_t column : {0, 20, 36}) {
      for (const RmsNormVariant& variant : rmsNormVariants()) {
        if (!variant.supported()) continue;
        const Case c{.rows = 3, .width = 37, .weight = true};
        Trial trial(GetParam(), c);
        trial.input().set(trial.inputIndex(1, column), poison);
        trial.execute(variant);
        const std::string where = describe(variant, GetParam(), c) + " poisoned column " + std::to_string(column);
        EXPECT_TRUE(std::isnan(trial.output(1, column))) << where;
        for (int64_t i = 0; i < c.width; ++i) {
          EXPECT_TRUE(std::isfinite(trial.output(0, i))) << where;
          EXPECT_TRUE(std::isfinite(trial.output(2, i))) << where;
          // A finite number over an infinite root is zero; anything over NaN is NaN.
          const double y = trial.output(1, i);
          EXPECT_TRUE(std::isnan(poison) ? std::isnan(y) : i == column || y == 0.0) << where << " got " << y;
        }
      }
    }
  }
}

TEST_P(RmsNorm, ARowOfZerosGivesTheBias) {
  for (const RmsNormVariant& variant : rmsNormVariants()) {
    if (!variant.supported()) continue;
    const Case c{.rows = 2, .width = 19, .weight = true};
    Trial trial(GetParam(), c);
    for (int64_t i = 0; i < c.width; ++i) trial.input().set(trial.inputIndex(0, i), 0.0);
    trial.execute(variant);
    for (int64_t i = 0; i < c.width; ++i) EXPECT_EQ(trial.output(0, i), 0.0) << variant.name;
  }
}

TEST_P(RmsNorm, NoRowsWriteNothing) {
  for (const RmsNormVariant& variant : rmsNormVariants()) {
    if (!variant.supported()) continue;
    Trial trial(GetParam(), {.rows = 0, .width = 33, .weight = true, .bias = true});
    trial.execute(variant);
    trial.check(variant.name);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RmsNorm, testing::ValuesIn(kTypes),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(RmsNormVariants, TheLastOneRunsEverywhereAndTheBestIsSupported) {
  ASSERT_FALSE(rmsNormVariants().empty());
  EXPECT_TRUE(rmsNormVariants().back().supported());
  EXPECT_TRUE(bestRmsNormVariant().supported());
}

}  // namespace
}  // namespace normlens::kernels::test
