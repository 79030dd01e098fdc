// Which gammas of RMSNorms move into the linears behind them, and what the model says then.
#include "core/analysis/claims/gains.h"

#include <gtest/gtest.h>

#include "tests/analysis/analyzed.h"

namespace normlens::analysis {
namespace {

constexpr const char* kRmsNorm = "%n: float64[2, 5, 8] = RmsNorm(%x, %g) {axes = [2], eps = 1e-05}";
constexpr const char* kLinear = "%y: float64[2, 5, 6] = Linear(%n, %w1, _)\nreturn %y";

// The kind of what keeps the only RMSNorm's gamma in its place; nullopt: it moves, and no output changes.
std::optional<Obstacle::Kind> obstacleOf(const std::string& text) {
  const Analyzed model(text);
  PlanOptions options{Policy::Free, 0, {}, {}};
  options.foldGains = true;
  const Plan plan = makePlan(*model, options);
  const auto moved = std::ranges::count_if(
      plan.edits, [](const PlannedEdit& planned) { return std::holds_alternative<fold::AbsorbGain>(planned.edit); });
  EXPECT_LT(model.difference(plan), 1e-12) << text;
  EXPECT_EQ(model->norms.others.size(), 1U) << text;
  const auto found = movableGain(model.graph(), model->norms.others.at(0));
  EXPECT_EQ(moved, found ? 1 : 0) << text;
  return found ? std::nullopt : std::optional(found.error().kind);
}

// Counts the gammas of folded LayerNorms that move.
size_t movedOf(const std::string& text) {
  const Analyzed model(text);
  PlanOptions options{Policy::All, 1000, {}, {}};
  options.foldGains = true;
  const Plan plan = makePlan(*model, options);
  EXPECT_FALSE(plan.folded.empty()) << text;
  EXPECT_LT(model.difference(plan), 1e-12) << text;
  return static_cast<size_t>(std::ranges::count_if(
      plan.edits, [](const PlannedEdit& planned) { return std::holds_alternative<fold::AbsorbGain>(planned.edit); }));
}

TEST(Gains, moveIntoEveryFormOfLinear) {
  for (const std::string& rest :
       {std::string(kLinear), std::string("%y: float64[2, 5, 6] = Linear(%n, %w1, %b1)\nreturn %y"),
        std::string("%y: float64[2, 5, 6] = MatMul(%n, %w2)\nreturn %y"),
        std::string("%r: float64[10, 8] = Reshape(%n)\n%y: float64[10, 6] = AddMatMul(%b1, %r, %w2)\nreturn %y"),
        std::string("%t: float64[8, 6] = Permute(%w1) {perm = [1, 0]}\n%y: float64[2, 5, 6] = MatMul(%n, %t)\nreturn "
                    "%y"),
        std::string("%y: float64[2, 5, 6] = Linear(%n, %w1, _)\n%z: float64[2, 5, 6] = MatMul(%n, %w2)\nreturn %y, "
                    "%z")}) {
    EXPECT_EQ(obstacleOf(betweenLinears(kRmsNorm, rest)), std::nullopt) << rest;
  }
}

TEST(Gains, ofNormsThatAreWrittenOutAreProducts) {
  EXPECT_EQ(obstacleOf(betweenLinears(R"(%s: float64[2, 5, 8] = Mul(%x, %x)
  %v: float64[2, 5, 1] = Reduce(%s) {op = "mean", axes = [2], keepdim = true}
  %e: float64[2, 5, 1] = Add(%v, 1e-05)
  %r: float64[2, 5, 1] = Elementwise(%e) function SquareRoot
  %d: float64[2, 5, 8] = Div(%x, %r)
  %n: float64[2, 5, 8] = Mul(%g, %d))",
                                      kLinear)),
            std::nullopt);
}

TEST(Gains, stayWhereSomethingElseReadsThem) {
  using Kind = Obstacle::Kind;
  const std::pair<Kind, std::string> kept[] = {
      {Kind::ModelOutput, "%y: float64[2, 5, 6] = Linear(%n, %w1, _)\nreturn %y, %n"},
      {Kind::OtherReader,
       "%a: float64[2, 5, 8] = Elementwise(%n) function Relu\n%y: float64[2, 5, 6] = Linear(%a, %w1, "
       "_)\nreturn %y"},
      {Kind::SharedWeight,
       "%y: float64[2, 5, 6] = Linear(%n, %w1, _)\n%z: float64[2, 5, 6] = Linear(%x, %w1, "
       "_)\nreturn %y, %z"},
      {Kind::OtherReader, "%y: float64[2, 5, 8] = Add(%n, %x)\nreturn %y"},
      {Kind::OtherReader, "%t: float64[2, 8, 5] = Permute(%n) {perm = [0, 2, 1]}\nreturn %t"},
      {Kind::OtherReader,
       "%v: float64[2, 5, 8] = Roll(%n) {axes = [2]}\n%y: float64[2, 5, 6] = Linear(%v, %w1, "
       "_)\nreturn %y"},
  };
  for (const auto& [kind, rest] : kept) EXPECT_EQ(obstacleOf(betweenLinears(kRmsNorm, rest)), kind) << rest;
  EXPECT_EQ(obstacleOf(betweenLinears("%n: float64[2, 5, 8] = RmsNorm(%x, _) {axes = [2], eps = 1e-05}", kLinear)),
            Kind::NoGamma);
}

TEST(Gains, ofFoldedNormsMoveBehindTheirBetas) {
  const std::string norm = "%n: float64[2, 5, 8] = LayerNorm(%h, %g, %beta) {axes = [2], eps = 1e-05}";
  EXPECT_EQ(movedOf(betweenLinears(norm, "%y: float64[2, 5, 6] = Linear(%n, %w1, %b1)\nreturn %y")), 1U);
  EXPECT_EQ(movedOf(betweenLinears(norm, kLinear)), 0U);  // its beta has no bias to go to
  EXPECT_EQ(movedOf(betweenLinears("%n: float64[2, 5, 8] = LayerNorm(%h, %g, _) {axes = [2], eps = 1e-05}", kLinear)),
            1U);
}

}  // namespace
}  // namespace normlens::analysis
