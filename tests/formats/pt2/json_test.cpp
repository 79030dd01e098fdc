// What Python's json.dumps writes comes back byte for byte, and sizes written as expressions are computed.
#include <gtest/gtest.h>

#include <limits>

#include "core/formats/pt2/file/json.h"
#include "core/formats/pt2/file/meta_algebra.h"
#include "core/formats/pt2/file/sym_expr.h"
#include "tests/formats/pt2/program_text.h"
#include "tests/support/must.h"

namespace normlens::formats::pt2 {
namespace {

std::string problemOf(const std::string& text) {
  const auto parsed = parseJson(text);
  return parsed ? std::string() : parsed.error().message;
}

// What Python's json.dumps writes comes back byte for byte: numbers in their own spelling, order, escapes.
TEST(Pt2JsonTest, WritesAgainWhatPythonWrote) {
  for (const std::string text : {
           R"({"b": 1, "a": [1e-05, 0.1, 1e+16, 123456789012345678901234567890, -0.0, true, false, null]})",
           R"(["\u00e9\u2192\ud83d\ude00", "\ud800 alone", "tab\tline\n\"quoted\" back\\slash\u007f\u0000"])",
           R"({"nothing": {}, "empty": [], "text": ""})",
           R"([NaN, Infinity, -Infinity])",
       }) {
    const auto parsed = must(parseJson(text));
    EXPECT_EQ(parsed.dump(), text);
  }
}

TEST(Pt2JsonTest, WritesNumbersAsPythonDoes) {
  const auto text = [](double value) { return Json(value).dump(); };
  EXPECT_EQ(text(1e-05), "1e-05");
  EXPECT_EQ(text(1e-04), "0.0001");
  EXPECT_EQ(text(1.0), "1.0");
  EXPECT_EQ(text(-2.5), "-2.5");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(1e15), "1000000000000000.0");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(-3.4028234663852886e+38), "-3.4028234663852886e+38");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
  EXPECT_EQ(Json(int64_t{-7}).dump(), "-7");
}

TEST(Pt2JsonTest, ReadsValues) {
  const auto parsed = parseJson(R"({"n": 3, "x": 2.5, "big": "-Infinity", "list": [1]})").value();
  EXPECT_EQ(parsed.at("n").integer(), 3);
  EXPECT_EQ(parsed.at("x").real(), 2.5);
  EXPECT_EQ(parsed.at("big").real(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parsed.find("absent"), nullptr);
  EXPECT_THROW(static_cast<void>(parsed.at("absent")), BrokenDocument);
  EXPECT_THROW(static_cast<void>(parsed.at("x").integer()), BrokenDocument);
  EXPECT_THROW(static_cast<void>(parsed.at("list").text()), BrokenDocument);
  EXPECT_THROW(static_cast<void>(parsed.only()), BrokenDocument);
}

TEST(Pt2JsonTest, RefusesWhatIsBroken) {
  EXPECT_NE(problemOf(""), "");
  EXPECT_NE(problemOf("[1, 2"), "");
  EXPECT_NE(problemOf("[1] 2"), "");
  EXPECT_NE(problemOf(R"({"a" 1})"), "");
  EXPECT_NE(problemOf(R"(["\x41"])"), "");
  EXPECT_NE(problemOf("[\"a\nb\"]"), "");
  EXPECT_NE(problemOf("[01e]"), "");
  EXPECT_NE(problemOf(R"({"a": 1, "a": 2})").find("twice"), std::string::npos);
}

// What is no UTF-8 could not be written again as what it was.
TEST(Pt2JsonTest, RefusesWhatIsNoText) {
  EXPECT_EQ(parseJson("[\"\xc3\xa9 \xf0\x9f\x98\x80\"]")->dump(), R"(["\u00e9 \ud83d\ude00"])");
  for (const char* bytes : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"})
    EXPECT_NE(problemOf("[\"" + std::string(bytes) + "\"]").find("UTF-8"), std::string::npos) << bytes;
}

TEST(Pt2JsonTest, RefusesDeepNesting) {
  EXPECT_EQ(problemOf(std::string(kMostJsonDepth, '[') + std::string(kMostJsonDepth, ']')), "");
  const std::string deep(1'000'000, '[');
  EXPECT_NE(problemOf(deep).find("deep"), std::string::npos);
}

using test::tensorMeta;

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

// A size of -1 is the symbol s0, 3 in the example.
Json meta(const std::vector<int>& sizes, int dtype = 7) { return parseJson(tensorMeta(sizes, dtype)).value(); }
std::string sizesAndStrides(const Json& of) { return of.at("sizes").dump() + of.at("strides").dump(); }

TEST(MetaAlgebraTest, AnElementwiseResultIsAsLargeAsBoth) {
  EXPECT_EQ(broadcastMeta(meta({-1, 4}), meta({4})), meta({-1, 4}));
  EXPECT_EQ(sizesAndStrides(broadcastMeta(meta({4}), meta({-1, 1}))), sizesAndStrides(meta({-1, 4})));
  EXPECT_EQ(sizesAndStrides(broadcastMeta(meta({-1, 1, 4}), meta({5, 1}))), sizesAndStrides(meta({-1, 5, 4})));
  EXPECT_THROW(static_cast<void>(broadcastMeta(meta({3}), meta({4}))), BrokenDocument);
  EXPECT_THROW(static_cast<void>(broadcastMeta(meta({-1}), meta({4}))), BrokenDocument);
}

TEST(MetaAlgebraTest, AReductionKeepsItsAxesOrNot) {
  EXPECT_EQ(sizesAndStrides(reducedMeta(meta({-1, 5, 4}), {-1}, true)), sizesAndStrides(meta({-1, 5, 1})));
  EXPECT_EQ(sizesAndStrides(reducedMeta(meta({-1, 5, 4}), {1, 2}, false)), sizesAndStrides(meta({-1})));
  EXPECT_THROW(static_cast<void>(reducedMeta(meta({4}), {1}, true)), BrokenDocument);
}

TEST(MetaAlgebraTest, AxesAreCutAndJoinedWhereTheirSizesAreFixed) {
  EXPECT_EQ(sizesAndStrides(unflattenedMeta(meta({-1, 12}), -1, {3, -1})), sizesAndStrides(meta({-1, 3, 4})));
  EXPECT_EQ(sizesAndStrides(flattenedMeta(meta({-1, 3, 4}), -2, -1)), sizesAndStrides(meta({-1, 12})));
  EXPECT_EQ(slicedMeta(meta({-1, 12}), 1, 3, 99).at("sizes").dump(), meta({-1, 9}).at("sizes").dump());
  const Json a = meta({-1, 3}), b = meta({-1, 9});
  EXPECT_EQ(sizesAndStrides(joinedMeta({&a, &b}, 1)), sizesAndStrides(meta({-1, 12})));
  EXPECT_THROW(static_cast<void>(unflattenedMeta(meta({-1, 12}), 0, {3, -1})), BrokenDocument);
  EXPECT_THROW(static_cast<void>(unflattenedMeta(meta({12}), 0, {5, -1})), BrokenDocument);
  EXPECT_THROW(static_cast<void>(flattenedMeta(meta({-1, 3}), 0, 1)), BrokenDocument);
}

TEST(MetaAlgebraTest, ANarrowerAxisMovesTheStridesBeyondIt) {
  EXPECT_EQ(sizesAndStrides(resizedMeta(meta({-1, 5, 12}), 2, 11)), sizesAndStrides(meta({-1, 5, 11})));
  EXPECT_EQ(sizesAndStrides(resizedMeta(meta({2, -1, 12}), 2, 11)), sizesAndStrides(meta({2, -1, 11})));
  EXPECT_EQ(sizesAndStrides(resizedMeta(meta({12, 5}), 0, 11)), sizesAndStrides(meta({11, 5})));
  EXPECT_EQ(resizedMeta(meta({-1, 12}), 1, 12), meta({-1, 12}));
  // A transposed one stays transposed.
  Json turned = meta({12, 5});
  turned.set("strides", parseJson(R"([{"as_int": 1}, {"as_int": 12}])").value());
  const Json narrow = resizedMeta(turned, 0, 11);
  EXPECT_EQ(narrow.at("strides").dump(), parseJson(R"([{"as_int": 1}, {"as_int": 11}])")->dump());
  EXPECT_THROW(static_cast<void>(resizedMeta(meta({-1, 12}), 0, 2)), BrokenDocument);
}

TEST(MetaAlgebraTest, PaddingIsCountedFromTheLastAxis) {
  EXPECT_EQ(sizesAndStrides(paddedMeta(meta({-1, 5, 11}), {0, 1})), sizesAndStrides(meta({-1, 5, 12})));
  EXPECT_EQ(sizesAndStrides(paddedMeta(meta({-1, 5, 11}), {0, 0, 2, 1})), sizesAndStrides(meta({-1, 8, 11})));
  EXPECT_THROW(static_cast<void>(paddedMeta(meta({5}), {0, 1, 0, 1})), BrokenDocument);
}

TEST(MetaAlgebraTest, AnotherTypeIsOfTheSameSizes) { EXPECT_EQ(typedMeta(meta({-1, 4}), 13), meta({-1, 4}, 13)); }

}  // namespace
}  // namespace normlens::formats::pt2
