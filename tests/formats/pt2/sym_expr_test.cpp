#include "core/formats/pt2/file/sym_expr.h"

#include <gtest/gtest.h>

namespace normlens::formats::pt2 {
namespace {

const std::string kS0 = "Symbol('s0', positive=True, integer=True)";

SymExpr parsed(const std::string& text) { return parseSymExpr(text).value(); }

TEST(SymExprTest, EvaluatesWhatTorchWrites) {
  const SymValues s0{{"s0", 6}};
  EXPECT_EQ(valueOf(parsed(kS0), s0), 6);
  EXPECT_EQ(valueOf(parsed("Mul(Integer(2), " + kS0 + ")"), s0), 12);
  EXPECT_EQ(valueOf(parsed("Add(" + kS0 + ", Integer(-1), Integer(3))"), s0), 8);
  EXPECT_EQ(valueOf(parsed("FloorDiv(Add(" + kS0 + ", Integer(1)), Integer(2))"), s0), 3);
  EXPECT_EQ(valueOf(parsed("Pow(" + kS0 + ", Integer(2))"), s0), 36);
  EXPECT_EQ(valueOf(parsed("Max(Integer(1), torch.utils._sympy.functions.Mod(" + kS0 + ", Integer(4)))"), s0), 2);
  EXPECT_EQ(valueOf(parsed("IntTrueDiv(" + kS0 + ", Integer(4))"), s0), std::nullopt);
  EXPECT_EQ(valueOf(parsed("Unheard(" + kS0 + ", Integer(4))"), s0), std::nullopt);
  EXPECT_EQ(valueOf(parsed("Symbol('u0', integer=True)"), s0), std::nullopt);
}

TEST(SymExprTest, ReadsAsPythonPrintsIt) {
  EXPECT_EQ(textOf(parsed(kS0)), "s0");
  EXPECT_EQ(textOf(parsed("Mul(Integer(2), " + kS0 + ")")), "2*s0");
  EXPECT_EQ(textOf(parsed("FloorDiv(" + kS0 + ", Integer(2))")), "FloorDiv(s0, 2)");
}

TEST(SymExprTest, SolvesForOneSymbol) {
  SymValues known;
  EXPECT_TRUE(solveFor(parsed("Add(Mul(Integer(2), " + kS0 + "), Integer(1))"), 9, known));
  EXPECT_EQ(known.at("s0"), 4);
  SymValues none;
  EXPECT_FALSE(solveFor(parsed("Mul(Integer(2), " + kS0 + ")"), 9, none));
  EXPECT_FALSE(solveFor(parsed("Mul(Integer(0), " + kS0 + ")"), 0, none));
  EXPECT_FALSE(solveFor(parsed("Mul(" + kS0 + ", Symbol('s1'))"), 6, none));
}

TEST(SymExprTest, DoesNotOverflow) {
  const std::string huge = "Integer(9223372036854775807)";
  EXPECT_EQ(valueOf(parsed("Add(" + huge + ", Integer(1))"), {}), std::nullopt);
  EXPECT_EQ(valueOf(parsed("Mul(" + huge + ", Integer(2))"), {}), std::nullopt);
  EXPECT_EQ(valueOf(parsed("FloorDiv(Integer(-9223372036854775808), Integer(-1))"), {}), std::nullopt);
  EXPECT_EQ(valueOf(parsed("FloorDiv(Integer(1), Integer(0))"), {}), std::nullopt);
}

TEST(SymExprTest, RefusesWhatIsBroken) {
  for (const std::string text : {"", "Mul(", "Mul(Integer(2)", "Symbol('s0", "Mul(Integer(2)) x", "(1)", "Mul(=)"})
    EXPECT_FALSE(parseSymExpr(text)) << text;
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "Add(";
  EXPECT_FALSE(parseSymExpr(deep));
  std::string wide = "Add(";
  for (int i = 0; i < 10'000; ++i) wide += "Integer(1), ";
  EXPECT_FALSE(parseSymExpr(wide + "Integer(1))"));
  EXPECT_FALSE(parseSymExpr("Integer(" + std::string(100'000, '9') + ")"));
  EXPECT_FALSE(parseSymExpr("Symbol('" + std::string(100'000, 's') + "')"));
}

}  // namespace
}  // namespace normlens::formats::pt2
