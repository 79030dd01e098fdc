#include "core/formats/pt2/file/json.h"

#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace normlens::formats::pt2
