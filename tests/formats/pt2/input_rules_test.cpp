#include <gtest/gtest.h>

#include "tests/formats/pt2/archive_fixture.h"

namespace normlens::formats::pt2 {
namespace {

using graph::DType;
using test::says;

UserInput input(const std::string& name, const std::vector<std::string>& sizes, DType dtype = DType::Float32) {
  UserInput made;
  made.name = name;
  made.meta.dtype = dtype;
  for (const std::string& size : sizes) {
    SymSize& each = made.meta.sizes.emplace_back();
    each.expr = parseSymExpr(size).value();
    each.example = valueOf(each.expr, {{"s0", 3}, {"s1", 3}}).value_or(-1);
  }
  return made;
}

const std::string kS0 = "Symbol('s0')", kS1 = "Symbol('s1')", kTwice = "Mul(Integer(2), Symbol('s0'))";

std::string problem(const InputRules& rules, const std::vector<GivenInput>& given) {
  const Status fits = rules.check(given);
  return fits ? std::string() : fits.error().message;
}

TEST(InputRulesTest, AStaticExportTakesItsOwnSizesAlone) {
  const InputRules rules({input("x", {"3", "8"})}, {});
  EXPECT_EQ(problem(rules, {{DType::Float32, {3, 8}, {}}}), "");
  EXPECT_EQ(problem(rules, {{DType::Float64, {3, 8}, {}}}), "");  // a twin's
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {4, 8}, {}}}), "axis 0 of the model's input 'x' is 4"));
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {3, 8, 1}, {}}}), "3 axes"));
  EXPECT_TRUE(says(problem(rules, {{DType::Int64, {3, 8}, {}}}), "int64"));
}

// What Dim.AUTO makes of ids and their mask.
TEST(InputRulesTest, SizesThatTheExampleHadEqualOnOneAxisStayEqual) {
  const InputRules rules({input("ids", {kS0, "Symbol('s2')"}), input("mask", {kS1, "Symbol('s3')"})}, {});
  // s2 and s3 have no example: they are nobody's twins.
  EXPECT_EQ(rules.twins(), (std::map<std::string, std::string>{{"s1", "s0"}}));
  const SymValues chosen = rules.distinctSymbols();
  EXPECT_EQ(chosen.at("s0"), chosen.at("s1"));
  const InputRules one({input("x", {kS0, kS1})}, {});
  EXPECT_TRUE(one.twins().empty()) << "two axes of one input";
  EXPECT_NE(one.distinctSymbols().at("s0"), one.distinctSymbols().at("s1"));
}

TEST(InputRulesTest, SayWhichSizesMayVary) {
  EXPECT_TRUE(says(InputRules({input("x", {"3", "8"})}, {}).inWords(), "for the sizes of its example alone"));
  const InputRules rules({input("x", {kS0, kTwice, "4"})}, {{"s0", {2, 8}}});
  EXPECT_TRUE(
      says(rules.inWords(), "axis 0 of the model's input 'x' (s0: 2 to 8), axis 1 of the model's input 'x' (2*s0)."));
}

TEST(InputRulesTest, SizesGoTogetherAndStayInTheirRange) {
  const InputRules rules({input("x", {kS0, kTwice}), input("m", {kS0, kS1}, DType::Bool)},
                         {{"s0", {2, 8}}, {"2*s0", {4, 12}}});
  const auto given = [](int64_t a, int64_t b, int64_t c, int64_t d) {
    return std::vector<GivenInput>{{DType::Float32, {a, b}, {}}, {DType::Bool, {c, d}, {}}};
  };
  EXPECT_EQ(problem(rules, given(4, 8, 4, 99)), "");
  EXPECT_TRUE(says(problem(rules, given(4, 9, 4, 1)), "axis 1 of the model's input 'x'"));
  EXPECT_TRUE(says(problem(rules, given(4, 8, 5, 1)), "axis 0 of the model's input 'm'"));
  EXPECT_TRUE(says(problem(rules, given(1, 2, 1, 1)), "2 to 8"));
  EXPECT_TRUE(says(problem(rules, given(7, 14, 7, 1)), "4 to 12"));
}

TEST(InputRulesTest, ASizeMayStandInAnExpressionAlone) {
  const InputRules rules({input("x", {kTwice})}, {{"s0", {2, 8}}});
  EXPECT_EQ(problem(rules, {{DType::Float32, {6}, {}}}), "");
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {7}, {}}}), "exported for 2*s0"));
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {18}, {}}}), "the size s0 is 9"));
}

TEST(InputRulesTest, WhatTheProgramAssertsIsAskedBefore) {
  const SymExpr even = parseSymExpr("Equality(Mod(Symbol('s0'), Integer(2)), Integer(0))").value();
  const SymExpr unbacked = parseSymExpr("GreaterThan(Symbol('u0'), Integer(2))").value();
  const InputRules rules({input("x", {kS0})}, {}, {{even, "an even batch"}, {unbacked, "u0"}});
  EXPECT_EQ(problem(rules, {{DType::Float32, {4}, {}}}), "");
  EXPECT_TRUE(says(problem(rules, {{DType::Float32, {5}, {}}}), "an even batch"));
}

TEST(InputRulesTest, FreeSizesAreMadeToDiffer) {
  const InputRules rules({input("x", {kS0, kS1, kTwice, "5"})}, {{"s0", {2, 8}}, {"s1", {2, 3}}});
  EXPECT_EQ(rules.shapesFor(rules.exampleSymbols())->front(), (graph::Shape{3, 3, 6, 5}));
  const auto distinct = rules.shapesFor(rules.distinctSymbols())->front();
  EXPECT_NE(distinct[0], distinct[1]);
  EXPECT_EQ(distinct[2], 2 * distinct[0]);
  EXPECT_LE(distinct[1], 3);
  EXPECT_EQ(distinct[3], 5);
}

}  // namespace
}  // namespace normlens::formats::pt2
