#include "tests/kernels/norm_trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "kernels/reference/row_norm.h"

namespace normlens::kernels::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kGuard = 64;
constexpr double kGuardValue = 3.0;

const char* nameOf(NormKind kind) {
  constexpr const char* kNames[] = {"rms", "layer", "center"};
  return kNames[static_cast<size_t>(kind)];
}

const char* nameOf(Draw draw) {
  constexpr const char* kNames[] = {"normal", "far mean", "step", "spike", "subnormal", "constant"};
  return kNames[static_cast<size_t>(draw)];
}

size_t at(int64_t i) { return static_cast<size_t>(i); }

double rootMeanSquare(const std::vector<double>& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0) / static_cast<double>(v.size()));
}

// How far y, before weight and bias, may be off.
//
// u is half an ulp of the type of the sums. A sum of n numbers in running sums of n/16 and more (the narrowest vector
// has four lanes, four times; a GPU thread adds at most 32 numbers) is off by `growth` roundings of the sum of
// magnitudes: 4 sqrt(n/16) + 8 where roundings are independent (Higham and Mary 2019, theorem 2.4, with lambda = 4).
// In units of the deviation, z = |y| / deviation:
//   x - guess: u (z + 2), since a guess more than two deviations off is not used; its rest: 3 growth u; their
//   difference: u z; the variance: 5 (growth + 2) u, so its root half of that; dividing and scaling: 4 u z.
// That bounds the kinds without a mean too. Where numbers are subnormal, each of these steps rounds to a multiple of
// the smallest of them.
class Allowed {
 public:
  Allowed(const Type& type, NormKind kind, const std::vector<double>& y)
      : roundoff_(type.scalar == Scalar::Float64 ? 0x1p-53 : 0x1p-24),
        underflow_(type.scalar == Scalar::Float64 ? 0x1p-1074 : 0x1p-149) {
    growth_ = 4.0 * std::sqrt(static_cast<double>(y.size()) / 16.0) + 8.0;
    deviation_ = kind == NormKind::Center ? rootMeanSquare(y) : 1.0;
  }

  [[nodiscard]] double of(double y) const {
    const double z = std::abs(y);
    const double plain = (3.0 * growth_ + 2.0) * deviation_ + (2.5 * growth_ + 11.0) * z;
    return roundoff_ * plain + 4.0 * underflow_;
  }
  [[nodiscard]] double roundoff() const { return roundoff_; }

 private:
  double roundoff_;
  double underflow_;  // smallest positive number of the type of the sums
  double growth_ = 0.0;
  double deviation_ = 1.0;
};

}  // namespace

std::string describe(const Type& type, const NormCase& c) {
  std::string text = std::string(type.name) + " " + nameOf(c.kind) + " " + std::to_string(c.rows) + " x " +
                     std::to_string(c.width) + ", " + nameOf(c.draw);
  if (c.gap) text += ", gap " + std::to_string(c.gap);
  if (c.shift) text += ", shifted by " + std::to_string(c.shift);
  if (c.weight) text += ", weight";
  if (c.bias) text += ", bias";
  if (c.residual) text += ", residual";
  if (c.constantsOfRows) text += ", constants of the rows' type";
  return text;
}

NormTrial::NormTrial(const Type& type, const NormCase& c)
    : type_(type),
      case_(c),
      input_(type, at(c.shift + c.rows * (c.width + c.gap)), kNan),
      residual_(type, at(c.shift + c.rows * (c.width + c.gap)), kNan),
      sum_(type, at(c.shift + c.rows * c.width + 2 * kGuard), kGuardValue),
      output_(type, at(c.shift + c.rows * case_.width + 2 * kGuard), kGuardValue) {
  for (int64_t r = 0; r < c.rows; ++r) fillRow(r);
  std::normal_distribution<double> normal(0.3, 1.0);
  for (int64_t i = 0; i < case_.width; ++i) {
    weight_.push_back(rounded(normal(random_)));
    bias_.push_back(rounded(normal(random_)));
  }
}

void NormTrial::fillRow(int64_t row) {
  std::normal_distribution<double> normal(0.0, 1.0);
  const double farMean = 0.125 / type_.ulp < 1e6 ? 0.125 / type_.ulp : 1e6;  // deviation 1 is still a few ulps
  const double smallestNormal = type_.tiny / type_.ulp;
  for (int64_t i = 0; i < case_.width; ++i) {
    double value = 0.3 + normal(random_);
    if (case_.draw == Draw::FarMean) value += farMean;
    if (case_.draw == Draw::Step && i < 24) value += 1000.0;
    if (case_.draw == Draw::Spike && i == 0) value *= 1000.0;
    if (case_.draw == Draw::Subnormal) value *= smallestNormal;
    if (case_.draw == Draw::Constant) value = 1.1;
    input_.set(at(inputIndex(row, i)), value);
    residual_.set(at(inputIndex(row, i)), normal(random_));
  }
}

int64_t NormTrial::inputIndex(int64_t row, int64_t i) const {
  return case_.shift + row * (case_.width + case_.gap) + i;
}
int64_t NormTrial::outputIndex(int64_t row, int64_t i) const { return case_.shift + kGuard + row * case_.width + i; }
int64_t NormTrial::sumIndex(int64_t row, int64_t i) const { return case_.shift + kGuard + row * case_.width + i; }

const Type& NormTrial::constantType() const {
  const bool isDouble = type_.scalar == Scalar::Float64;
  return case_.constantsOfRows ? type_ : kTypes[isDouble ? 1 : 0];
}

double NormTrial::rounded(double value) const { return Buffer(constantType(), 1, value).get(0); }

Buffer NormTrial::inMemory(const std::vector<double>& values) const {
  Buffer buffer(constantType(), values.size(), 0.0);
  for (size_t i = 0; i < values.size(); ++i) buffer.set(i, values[i]);
  return buffer;
}

void NormTrial::execute(const std::function<void(const NormRows& rows)>& kernel) {
  Buffer weight = inMemory(weight_);
  Buffer bias = inMemory(bias_);
  kernel({.kind = case_.kind,
          .input = input_.at(at(inputIndex(0, 0))),
          .inputStride = case_.width + case_.gap,
          .residual = case_.residual ? residual_.at(at(inputIndex(0, 0))) : nullptr,
          .residualStride = case_.width + case_.gap,
          .weight = case_.weight ? weight.at(0) : nullptr,
          .bias = case_.bias ? bias.at(0) : nullptr,
          .constants = case_.constantsOfRows ? ConstantType::OfRows : ConstantType::OfSums,
          .sum = case_.residual ? sum_.at(at(sumIndex(0, 0))) : nullptr,
          .output = output_.at(at(outputIndex(0, 0))),
          .width = case_.width,
          .eps = case_.eps});
}

void NormTrial::check(const std::string& where) const {
  for (int64_t r = 0; r < case_.rows; ++r) {
    if (case_.residual) checkSum(r, where + " row " + std::to_string(r));
    checkRow(r, where + " row " + std::to_string(r));
    if (testing::Test::HasFatalFailure()) throw std::runtime_error("the first number that is off ends the test");
  }
  checkGuards(where);
}

void NormTrial::checkSum(int64_t row, const std::string& where) const {
  for (int64_t i = 0; i < case_.width; ++i) {
    const double exact = input(row, i) + residual_.get(at(inputIndex(row, i)));
    ASSERT_NEAR(sum(row, i), exact, type_.ulp * std::abs(exact) + type_.tiny) << where << " sum, column " << i;
  }
}

std::vector<double> NormTrial::normalized(int64_t row) const {
  std::vector<double> x;
  for (int64_t i = 0; i < case_.width; ++i) x.push_back(case_.residual ? sum(row, i) : input(row, i));
  return x;
}

void NormTrial::checkRow(int64_t row, const std::string& where) const {
  const std::vector<double> x = normalized(row);
  const std::vector<double> y = reference::rowNorm(case_.kind, x, case_.eps);
  const Allowed allowed(type_, case_.kind, y);
  for (int64_t i = 0; i < case_.width; ++i) {
    const double weight = case_.weight ? weight_[at(i)] : 1.0;
    const double scaled = y[at(i)] * weight;
    const double expected = scaled + (case_.bias ? bias_[at(i)] : 0.0);
    const double arithmetic =
        allowed.of(y[at(i)]) * std::abs(weight) + allowed.roundoff() * (std::abs(scaled) + std::abs(expected));
    const double stored = type_.ulp / 2 * (std::abs(expected) + arithmetic) + type_.tiny;
    ASSERT_NEAR(output(row, i), expected, arithmetic + stored) << where << " column " << i;
  }
}

void NormTrial::checkGuards(const std::string& where) const {
  for (int64_t i = 0; i < kGuard; ++i) {
    for (const int64_t index : {case_.shift + i, outputIndex(case_.rows, i)}) {
      ASSERT_EQ(output_.get(at(index)), kGuardValue) << where << ": wrote outside the output, element " << index;
    }
    for (const int64_t index : {case_.shift + i, sumIndex(case_.rows, i)}) {
      ASSERT_EQ(sum_.get(at(index)), kGuardValue) << where << ": wrote outside the sum, element " << index;
    }
  }
}

void NormTrial::checkNonFinite(const std::string& where) const {
  for (int64_t r = 0; r < case_.rows; ++r) {
    const auto none = std::vector<double>{};
    const auto y = reference::affine(reference::rowNorm(case_.kind, normalized(r), case_.eps),
                                     case_.weight ? weight_ : none, case_.bias ? bias_ : none);
    for (int64_t i = 0; i < case_.width; ++i) {
      const double expected = y[at(i)];
      const double got = output(r, i);
      const std::string element = where + " row " + std::to_string(r) + " column " + std::to_string(i);
      ASSERT_EQ(std::isnan(got), std::isnan(expected)) << element << " got " << got;
      if (std::isinf(expected)) {
        ASSERT_EQ(got, expected) << element;
      }
    }
  }
}

}  // namespace normlens::kernels::test
