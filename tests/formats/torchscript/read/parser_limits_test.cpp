// Code that ends LibTorch's parser is refused before it; what models write is not.
#include "core/formats/torchscript/file/archive_check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace normlens::formats::torchscript {
namespace {

std::string times(int count, const std::string& text) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}
std::string blocks(int count, const std::string& head) {
  std::string out = "def f(b):\n";
  for (int i = 0; i < count; ++i) out += times(i + 1, " ") + head + "\n";
  return out + times(count + 1, " ") + "pass\n";
}
bool survives(const std::string& code) { return beyondLibTorchsParser(code) == nullptr; }
bool returns(const std::string& expression) { return survives("def f(b):\n  return " + expression + "\n"); }

TEST(ParserLimitsTest, DeepExpressions) {
  const auto each = [](int count) {
    return std::vector<std::string>{times(count, "not ") + "b",
                                    times(count, "1 + ") + "b",
                                    times(count, "-") + "b",
                                    "b" + times(count, ".T"),
                                    "b" + times(count, ".t()"),
                                    "b" + times(count, "[0]"),
                                    times(count, "b if b else ") + "b",
                                    times(count, "[") + "b" + times(count, "]"),
                                    times(count, "torch.neg(") + "b" + times(count, ")"),
                                    times(count, "{1: ") + "b" + times(count, "}"),
                                    times(count, "[i for i in ") + "b" + times(count, "]"),
                                    times(count, "b < \\\n") + "b",
                                    "(" + times(count, "b and\n") + "b)"};
  };
  for (const std::string& expression : each(60)) EXPECT_TRUE(returns(expression)) << expression;
  for (const std::string& expression : each(2000)) EXPECT_FALSE(returns(expression)) << expression.substr(0, 40);
  EXPECT_FALSE(survives("def f(x: " + times(2000, "List[") + "int" + times(2000, "]") + "):\n  pass\n"));
  EXPECT_FALSE(survives("def f(x):\n  # type: (" + times(2000, "List[") + "int" + times(2000, "]") + ") -> int\n"));
}

TEST(ParserLimitsTest, DeepBlocks) {
  for (const char* head : {"if b:", "while b:", "for i in b:", "def g():"}) {
    EXPECT_TRUE(survives(blocks(100, head))) << head;
    EXPECT_FALSE(survives(blocks(2000, head))) << head;
  }
  const auto branches = [](int count) { return "def f(b):\n if b:\n  pass\n" + times(count, " elif b:\n  pass\n"); };
  EXPECT_TRUE(survives(branches(200)));
  EXPECT_FALSE(survives(branches(2000)));
  EXPECT_TRUE(survives(times(100, branches(100))));
}

TEST(ParserLimitsTest, WhatIsLongIsNotDeep) {
  EXPECT_TRUE(returns("[" + times(20000, "-1.5, ") + "0]"));
  EXPECT_TRUE(returns("[" + times(20000, "torch.add(a.b, -c), ") + "0]"));
  EXPECT_TRUE(returns("\"" + times(5000, "[(-\\\"") + "\""));
  EXPECT_TRUE(returns("'''" + times(5000, "not [\n") + "'''"));
  EXPECT_TRUE(survives("def f(b):\n" + times(20000, "  b = b + 1  # ((((\n\n") + "  return b\n"));
}

// A string that does not end in its line is none for LibTorch, so what follows counts.
TEST(ParserLimitsTest, NothingHidesInAString) {
  EXPECT_FALSE(survives("def f(b):\n  x = '\n  return " + times(2000, "not ") + "'b\n"));
  EXPECT_FALSE(returns("'a\\\\' + " + times(2000, "-") + "b + ''"));
}

TEST(ParserLimitsTest, EmptySubscripts) {
  EXPECT_FALSE(returns("b[]"));
  EXPECT_FALSE(returns("b()[ \n]"));
  EXPECT_FALSE(survives("def f(b: List[]):\n  pass\n"));
  EXPECT_TRUE(returns("[]"));
  EXPECT_TRUE(returns("b in []"));
  EXPECT_TRUE(returns("annotate(List[int], [])"));
  EXPECT_TRUE(survives("def f(b: Tuple[]) -> Tuple[()]:\n  return ()\n"));
}

}  // namespace
}  // namespace normlens::formats::torchscript
