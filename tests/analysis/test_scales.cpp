// Which scales the linears in front of them take in, and that the outputs stay what they are.
#include <gtest/gtest.h>

#include "tests/analysis/analyzed.h"

namespace normlens::analysis {
namespace {

struct Outcome {
  size_t parts = 0;  // tensors that scales moved into
  size_t folded = 0;
};

// Of the plan without centerings; the outputs must stay.
Outcome outcomeOf(const std::string& body) {
  const Analyzed model(R"(graph {
    input %x: float64[2, 3, 8]
    input %z: float64[2, 1, 8]
    const %w: float64[8, 8] random 1
    const %b: float64[8] random 2
    const %v: float64[8, 8] random 3
    const %c: float64[8] random 4
    const %g: float64[8] random 5
    const %rows: float64[3, 8] random 6
    const %row: float64[3, 1] random 7
    const %head: float64[2, 1] random 8
    const %inside: float64[4] random 9
    const %turned: float64[2, 1, 4] random 10
    %h: float64[2, 3, 8] = Linear(%x, %w, %b)
    %k: float64[2, 1, 8] = Linear(%z, %v, _)
)" + body + "\n}");
  const Plan plan = model.plan(Policy::Free);
  Outcome out{0, plan.folded.size()};
  for (const auto& planned : plan.edits) {
    if (const auto* scale = std::get_if<fold::AbsorbScale>(&planned.edit)) out.parts += scale->parts.size();
  }
  EXPECT_LT(model.difference(plan), 1e-10) << body;
  return out;
}

const std::string kNorm = "%n: float64[2, 3, 8] = LayerNorm(%y, _, _) {axes = [2], eps = 1e-05}\n return %n";

TEST(Scales, moveIntoAllLinearsOfASum) {
  for (const char* sum : {"Add(%h, %k)", "Add(%k, %h)", "Sub(%h, %k)", "Add(%h, %k) {alpha = 0.5}"}) {
    const std::string scaled = std::string("%s: float64[2, 3, 8] = ") + sum + "\n";
    const Outcome outcome = outcomeOf(scaled + "%y: float64[2, 3, 8] = Mul(%s, %g)\n" + kNorm);
    EXPECT_EQ(outcome.parts, 3U) << sum;
    EXPECT_EQ(outcome.folded, 1U) << sum;
  }
  const Outcome more = outcomeOf(R"(
    %s: float64[2, 3, 8] = Add(%h, %c)
    %t: float64[2, 3, 8] = Sub(%s, %rows)
    %i: float64[2, 3, 8] = Identity(%t)
    %u: float64[2, 3, 8] = Add(%k, %i)
    %y: float64[2, 3, 8] = Div(%u, %g)
  )" + kNorm);
  EXPECT_EQ(more.parts, 5U);
  EXPECT_EQ(more.folded, 1U);
}

TEST(Scales, ofASumStayWhereAnAddendCannotTakeThemIn) {
  for (const char* sum : {
           "%s: float64[2, 3, 8] = Add(%h, %x)",                                         // an input
           "%s: float64[2, 3, 8] = Add(%h, %row)",                                       // one number per token
           "%s: float64[2, 3, 8] = Add(%h, 2)",                                          //
           "%e: float64[2, 1, 8] = Elementwise(%k)\n%s: float64[2, 3, 8] = Add(%h, %e)"  //
       }) {
    const Outcome outcome = outcomeOf(std::string(sum) + "\n%y: float64[2, 3, 8] = Mul(%s, %g)\n" + kNorm);
    EXPECT_EQ(outcome.folded, 0U) << sum;
  }
  const std::string scaled = "%s: float64[2, 3, 8] = Add(%h, %k)\n%y: float64[2, 3, 8] = Mul(%s, %g)\n";
  EXPECT_EQ(outcomeOf(scaled + kNorm + ", %s").folded, 0U) << "the sum is read elsewhere";
  EXPECT_EQ(outcomeOf(scaled + kNorm + ", %k").folded, 0U) << "an addend is read elsewhere";
  const std::string twice = "%l: float64[2, 3, 8] = Linear(%x, %w, _)\n%s: float64[2, 3, 8] = Add(%h, %l)\n";
  EXPECT_EQ(outcomeOf(twice + "%y: float64[2, 3, 8] = Mul(%s, %g)\n" + kNorm).folded, 0U) << "a weight of two linears";
  EXPECT_EQ(outcomeOf("%s: float64[2, 3, 8] = Add(%h, %h)\n%y: float64[2, 3, 8] = Mul(%s, %g)\n" + kNorm).folded, 0U);
}

std::string perHead(const char* scale, bool turns, const std::string& norm) {
  const std::string shape = turns ? "float64[2, 2, 3, 4]" : "float64[2, 3, 2, 4]";
  const std::string turned = turns ? "%t: " + shape + " = Permute(%v4) {perm = [0, 2, 1, 3]}\n" : "";
  return "%v4: float64[2, 3, 2, 4] = Reshape(%h)\n" + turned + "%q: " + shape + " = Mul(" + (turns ? "%t" : "%v4") +
         ", %" + scale + ")\n" + "%n: " + shape + " = LayerNorm(%q, _, _) {axes = " + norm +
         ", eps = 1e-05}\n return %n";
}

TEST(Scales, ofHeadsMoveThroughTheView) {
  EXPECT_EQ(outcomeOf(perHead("inside", false, "[3]")).folded, 1U);
  EXPECT_EQ(outcomeOf(perHead("inside", true, "[3]")).folded, 1U);
  EXPECT_EQ(outcomeOf(perHead("turned", true, "[3]")).folded, 1U);
  EXPECT_EQ(outcomeOf(perHead("head", false, "[2, 3]")).folded, 1U);
  // Along the tokens, which are as many as there are heads in neither of two runs.
  EXPECT_EQ(outcomeOf(perHead("row", true, "[3]")).parts, 0U);
}

TEST(Scales, stayWhereAnotherRunMayHaveTheChannelsElsewhere) {
  // Of four rows there are two here; in another run the last axis would be 1 long and be broadcast.
  const graph::Graph graph = parsed(R"(graph {
    input %x: float64[4, 8]
    const %w: float64[2, 8] random 1
    const %g: float64[2] random 2
    %h: float64[4, 2] = Linear(%x, %w, _)
    %v: float64[4, 2] = Reshape(%h) {computed = [1]}
    %y: float64[4, 2] = Mul(%v, %g)
    %n: float64[4, 2] = LayerNorm(%y, _, _) {axes = [1], eps = 1e-05}
    return %n
  })");
  EXPECT_TRUE(absorbScales(graph).edits.empty());
}

}  // namespace
}  // namespace normlens::analysis
