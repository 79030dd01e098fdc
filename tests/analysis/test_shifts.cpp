// Which betas move into the linears behind their norms, and what the model says then.
#include "core/analysis/claims/shifts.h"

#include <gtest/gtest.h>

#include "tests/analysis/analyzed.h"

namespace normlens::analysis {
namespace {

// A norm that folds for free, then `rest`, which reads %n and says what is returned.
std::string normThen(const std::string& rest,
                     const std::string& norm = "%n: float64[2, 5, 8] = LayerNorm(%h, %g, %beta)") {
  return betweenLinears(norm + " {axes = [2], eps = 1e-05}", rest);
}

// How many parts the plan's only shift has; 0: beta stays. Checks that the plan keeps the outputs either way.
size_t partsOf(const std::string& text, const PlanOptions& options = {Policy::All, 1000, {}, {}}) {
  const Analyzed model(text);
  const Plan plan = makePlan(*model, options);
  EXPECT_FALSE(plan.folded.empty()) << text;
  size_t parts = 0;
  for (const auto& planned : plan.edits) {
    if (const auto* shift = std::get_if<fold::AbsorbShift>(&planned.edit)) parts += shift->parts.size();
  }
  EXPECT_LT(model.difference(plan), 1e-12) << text;
  return parts;
}

TEST(Shifts, moveIntoEveryFormOfLinear) {
  EXPECT_EQ(partsOf(normThen("%y: float64[2, 5, 6] = Linear(%n, %w1, %b1)\nreturn %y")), 1U);
  EXPECT_EQ(partsOf(normThen("%m: float64[2, 5, 6] = MatMul(%n, %w2)\n%y: float64[2, 5, 6] = Add(%b2, %m)\nreturn %y")),
            1U);
  EXPECT_EQ(
      partsOf(normThen("%r: float64[10, 8] = Reshape(%n)\n%y: float64[10, 6] = AddMatMul(%b2, %r, %w2)\nreturn %y")),
      1U);
  EXPECT_EQ(partsOf(normThen("%t: float64[8, 6] = Permute(%w1) {perm = [1, 0]}\n%m: float64[2, 5, 6] = MatMul(%n, %t)\n"
                             "%y: float64[2, 5, 6] = Add(%m, %b2)\nreturn %y")),
            1U);
}

TEST(Shifts, moveIntoAllLinearsThatReadTheNorm) {
  EXPECT_EQ(
      partsOf(normThen("%p: float64[2, 5, 6] = Linear(%n, %w1, %b1)\n%q: float64[2, 5, 6] = Linear(%n, %w1, %b2)\n"
                       "return %p, %q")),
      2U);
}

TEST(Shifts, passWhatKeepsTheChannels) {
  for (const std::string between :
       {"%v: float64[5, 2, 8] = Permute(%n) {perm = [1, 0, 2]}", "%v: float64[2, 8] = Select(%n) {axis = 1, index = 0}",
        "%v: float64[2, 8] = Reduce(%n) {op = \"mean\", axes = [1], keepdim = false}",
        "%v: float64[2, 5, 8] = Roll(%n) {axes = [1]}"}) {
    const std::string shape = between.substr(4, between.find("8]") - 4) + "6]";
    EXPECT_EQ(partsOf(normThen(between + "\n%y: " + shape + " = Linear(%v, %w1, %b1)\nreturn %y")), 1U) << between;
  }
}

TEST(Shifts, ofNormsThatAreWrittenOutAreAdditions) {
  EXPECT_EQ(partsOf(R"(graph {
  input %x: float64[2, 5, 8]
  const %w: float64[8, 8] random 1
  const %g: float64[8] random 3
  const %beta: float64[8] random 4
  const %w1: float64[6, 8] random 5
  const %b1: float64[6] random 6
  %h: float64[2, 5, 8] = Linear(%x, %w, _)
  %mean: float64[2, 5, 1] = Reduce(%h) {op = "mean", axes = [2], keepdim = true}
  %c: float64[2, 5, 8] = Sub(%h, %mean)
  %s: float64[2, 5, 8] = Mul(%c, %c)
  %v: float64[2, 5, 1] = Reduce(%s) {op = "mean", axes = [2], keepdim = true}
  %e: float64[2, 5, 1] = Add(%v, 1e-05)
  %r: float64[2, 5, 1] = Elementwise(%e) function SquareRoot
  %d: float64[2, 5, 8] = Div(%c, %r)
  %m: float64[2, 5, 8] = Mul(%d, %g)
  %a: float64[2, 5, 8] = Add(%m, %beta)
  %y: float64[2, 5, 6] = Linear(%a, %w1, %b1)
  return %y
})"),
            1U);
}

TEST(Shifts, stayWhereSomethingElseReadsThem) {
  for (const std::string rest :
       {"%y: float64[2, 5, 6] = Linear(%n, %w1, %b1)\nreturn %y, %n",
        "%y: float64[2, 5, 6] = Linear(%n, %w1, _)\nreturn %y",
        "%a: float64[2, 5, 8] = Elementwise(%n) function Relu\n%y: float64[2, 5, 6] = Linear(%a, %w1, %b1)\nreturn "
        "%y",
        "%p: float64[2, 5, 6] = Linear(%n, %w1, %b1)\n%q: float64[2, 5, 6] = Linear(%x, %w1, %b1)\nreturn %p, %q",
        "%t: float64[2, 8, 5] = Permute(%n) {perm = [0, 2, 1]}\nreturn %t",
        "%r: float64[10, 8] = Reshape(%n)\n%y: float64[10, 6] = AddMatMul(%b2, %r, %w2) {alpha = 2.0}\nreturn %y",
        "%m: float64[2, 5, 6] = MatMul(%n, %w2)\n%y: float64[2, 5, 6] = Add(%m, %b2) {alpha = 2.0}\nreturn %y",
        "%v: float64[2, 5, 8] = Roll(%n) {axes = [2]}\n%y: float64[2, 5, 6] = Linear(%v, %w1, %b1)\nreturn %y",
        "%v: float64[2, 8] = Reduce(%n) {op = \"sum\", axes = [1], keepdim = false}\n"
        "%y: float64[2, 6] = Linear(%v, %w1, %b1)\nreturn %y"}) {
    EXPECT_EQ(partsOf(normThen(rest)), 0U) << rest;
  }
  EXPECT_EQ(partsOf(normThen("%y: float64[2, 5, 6] = Linear(%n, %w1, %b1)\nreturn %y",
                             "%n: float64[2, 5, 8] = LayerNorm(%h, %g, _)")),
            0U);
}

TEST(Shifts, stayWhereTheNormAddsThemForNothing) {
  PlanOptions options{Policy::All, 1000, {}, {}};
  options.moveShifts = false;
  EXPECT_EQ(partsOf(normThen("%y: float64[2, 5, 6] = Linear(%n, %w1, %b1)\nreturn %y"), options), 0U);
}

}  // namespace
}  // namespace normlens::analysis
