// What the papers' criterion takes for a general linear layer and its bias, however a format writes it.
#include <gtest/gtest.h>

#include "core/analysis/analysis.h"
#include "tests/support/graph_text.h"

namespace normlens::analysis {
namespace {

// Of a norm of %h, which the body makes out of %x, %z and constants.
PaperVerdict verdictOf(const std::string& body) {
  const std::string text = R"(graph {
    input %x: float64[2, 5, 8]
    input %z: float64[8]
    const %w: float64[8, 8] random 1
    const %b: float64[8] random 2
    const %row: float64[1, 1, 8] random 3
    const %positions: float64[5, 8] random 4
    )" + body + R"(
    %n: float64[2, 5, 8] = LayerNorm(%h, _, _) {axes = [2], eps = 1e-05}
    return %n
  })";
  const auto graph = graph::parseGraph(text);
  if (!graph) throw std::logic_error(graph.error().message);
  const auto analysis = analyze(*graph, Task{});
  if (!analysis) throw std::logic_error(analysis.error().message);
  return (*analysis)->paper.verdicts.at(0);
}

TEST(PaperCriteria, aConstantAddendBehindALinearIsItsBias) {
  for (const char* body : {"%h: float64[2, 5, 8] = Linear(%x, %w, %b)",
                           "%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%m, %b)",
                           "%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%b, %m)",
                           "%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%m, %row)",
                           "%m: float64[2, 5, 8] = Linear(%x, %w, _)\n%h: float64[2, 5, 8] = Add(%m, %b)",
                           "%t: float64[8, 8] = Permute(%w) {perm = [1, 0]}\n%m: float64[2, 5, 8] = MatMul(%x, %t)\n"
                           "%h: float64[2, 5, 8] = Add(%m, %b)"}) {
    EXPECT_TRUE(verdictOf(body).paper) << body;
  }
}

TEST(PaperCriteria, anyOtherAddendIsNoBias) {
  for (const char* body : {"%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%m, %z)",
                           "%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%m, %positions)",
                           "%h: float64[2, 5, 8] = Add(%x, %b)"}) {
    EXPECT_FALSE(verdictOf(body).paper) << body;
  }
}

}  // namespace
}  // namespace normlens::analysis
