// The tables of operations are those of norms that are really computed: each operation on a number of these counts.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/base/geometry/norm_cost.h"
#include "core/base/geometry/norm_formulas.h"

namespace normlens::geometry {
namespace {

NormCost counted;

struct Number {
  double value = 0;
  friend Number operator+(Number a, Number b) { return ++counted.additions, Number{a.value + b.value}; }
  friend Number operator-(Number a, Number b) { return ++counted.additions, Number{a.value - b.value}; }
  friend Number operator*(Number a, Number b) { return ++counted.multiplications, Number{a.value * b.value}; }
  friend Number operator/(Number a, Number b) { return ++counted.divisions, Number{a.value / b.value}; }
};
using Row = std::vector<Number>;

Number sumOf(const Row& row) {
  Number sum = row[0];
  for (size_t i = 1; i < row.size(); ++i) sum = sum + row[i];
  return sum;
}

// The mean and the sum of squares of what is left without it, or of the numbers themselves.
struct Moments {
  Number mean, squares, count;
};

Moments twoPasses(const Row& x, bool center, Number d) {
  Moments out{{}, {}, d};
  if (center) out.mean = sumOf(x) / d;
  Row squares;
  for (const Number each : x) {
    const Number left = center ? each - out.mean : each;
    squares.push_back(left * left);
  }
  out.squares = sumOf(squares) / d;
  return out;
}

// Equation 50, and 52: the numbers of one group in turn.
Moments ofGroup(const Row& x, bool center) {
  Moments out{x[0], center ? Number{} : x[0] * x[0], {1}};
  for (size_t i = 1; i < x.size(); ++i) {
    out.count.value += 1;  // known before the model runs
    if (!center) {
      out.squares = out.squares + x[i] * x[i];
      continue;
    }
    const Number delta = x[i] - out.mean;
    out.mean = out.mean + delta / out.count;
    out.squares = out.squares + delta * (x[i] - out.mean);
  }
  return out;
}

// Equation 51, and 53.
Moments combined(const Moments& a, const Moments& b, bool center) {
  if (!center) return {{}, a.squares + b.squares, {a.count.value + b.count.value}};
  const Number count = a.count + b.count, share = b.count / count, delta = b.mean - a.mean;
  return {a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share, count};
}

Moments byGroups(const Row& x, size_t groups, bool center) {
  Moments all;
  for (size_t g = 0; g < groups; ++g) {
    const Moments one = ofGroup(Row(x.begin() + static_cast<std::ptrdiff_t>(x.size() * g / groups),
                                    x.begin() + static_cast<std::ptrdiff_t>(x.size() * (g + 1) / groups)),
                                center);
    all = g == 0 ? one : combined(all, one, center);
  }
  all.squares.value /= static_cast<double>(x.size());  // with the inverse square root
  return all;
}

Vector run(const Row& x, const Moments& moments, bool center, bool affine) {
  Vector y;
  const Number factor{1 / std::sqrt(moments.squares.value)}, gamma{1}, beta{0};
  for (const Number each : x) {
    Number out = (center ? each - moments.mean : each) * factor;
    if (affine) out = center ? out * gamma + beta : out * gamma;
    y.push_back(out.value);
  }
  return y;
}

TEST(NormCost, IsThatOfTheNormsAsTheyAreComputed) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0.7, 1);
  for (const size_t width : {2U, 16U, 768U}) {
    Row x(width);
    Vector plain;
    for (Number& each : x) plain.push_back(each.value = normal(random));
    for (const bool center : {true, false}) {
      const Vector wanted = center ? layerNormOf(plain) : rmsNormOf(plain);
      const auto norm = center ? CountedNorm::LayerNorm : CountedNorm::RmsNorm;
      for (const bool affine : {true, false}) {
        for (const size_t groups : {size_t{0}, size_t{1}, size_t{2}, width / 2, width}) {
          counted = {};
          const Moments moments =
              groups == 0 ? twoPasses(x, center, {static_cast<double>(width)}) : byGroups(x, groups, center);
          EXPECT_LT(distance(run(x, moments, center, affine), wanted), 1e-10);
          const NormCost cost =
              costOf(norm, {static_cast<double>(width), static_cast<double>(groups), affine, affine && center});
          const std::string where = std::to_string(width) + " in " + std::to_string(groups);
          EXPECT_EQ(cost.additions, counted.additions) << where;
          EXPECT_EQ(cost.multiplications, counted.multiplications) << where;
          EXPECT_EQ(cost.divisions, counted.divisions) << where;
        }
      }
    }
  }
}

// 001: "a theoretical reduction of roughly 60% to 80%" by Welford's method, and less in two passes.
TEST(NormCost, TheSavingIsWhatThePaperSays) {
  for (const double width : {64.0, 768.0, 4096.0}) {
    const auto saved = [&](double groups, bool affine) {
      return 1 - costOf(CountedNorm::RmsNorm, {width, groups, affine, false}).ticks() /
                     costOf(CountedNorm::LayerNorm, {width, groups, affine, affine}).ticks();
    };
    for (double groups = 1; groups <= width; groups *= 2) {
      EXPECT_GT(saved(groups, true), 0.6) << width << ' ' << groups;
      EXPECT_LT(saved(groups, false), 0.8) << width << ' ' << groups;
    }
    EXPECT_NEAR(saved(0, true), 0.5, 0.01);
  }
}

TEST(NormCost, Ticks) {
  EXPECT_EQ(costOf(CountedNorm::LayerNorm, {.width = 768}).ticks(), 8 * 768 + 4);
  EXPECT_EQ(costOf(CountedNorm::RmsNorm, {.width = 768, .beta = false}).ticks(), 4 * 768 + 2);
  EXPECT_EQ(costOf(CountedNorm::LayerNorm, {.width = 768, .groups = 32}).ticks(), 12 * 768 + 4 * 32 - 12);
  EXPECT_EQ(costOf(CountedNorm::RmsNorm, {.width = 768, .groups = 32, .beta = false}).ticks(), 4 * 768 - 1);
  EXPECT_EQ(costOf(CountedNorm::Centering, {.width = 768}).ticks(), 2 * 768 + 2);
}

}  // namespace
}  // namespace normlens::geometry
