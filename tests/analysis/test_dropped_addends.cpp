// Addends, fills and numbers that are constant along a norm's axes: dropped where nobody notices, and only there.
#include <gtest/gtest.h>

#include "core/analysis/explain.h"
#include "tests/analysis/analyzed.h"

namespace normlens::analysis {
namespace {

struct Outcome {
  Verdict verdict = Verdict::Blocked;  // of the first norm
  std::string reason;
  std::vector<std::string> drops;  // in words
  size_t reads = 0;                // that see 0
};

// The outputs stay what they were under every policy.
Outcome soundOutcome(const std::string& text) {
  const Analyzed model(text);
  Outcome out{model->verdicts[0].verdict, model->verdicts[0].reason, {}, 0};
  for (const Policy policy : kPolicies) {
    const Plan plan = makePlan(*model, optionsOf(policy, 1e9));
    EXPECT_LT(model.difference(plan), 1e-10) << nameOf(policy) << "\n" << text;
    if (policy != Policy::Free) continue;
    for (const auto& planned : plan.edits) {
      const auto* drop = std::get_if<fold::DropAddend>(&planned.edit);
      if (drop == nullptr) continue;
      out.drops.push_back(describeEdit(model.graph(), model.norms(), planned).text);
      out.reads += drop->uses.size();
    }
  }
  return out;
}

// A stream %x out of a table, a number %s for each token, a mask for each token and one for each element.
std::string model(const std::string& body, const std::string& returned = "%n") {
  return R"(graph {
    input %ids: int64[2, 5]
    input %z: float64[2, 5, 8]
    const %table: float64[5, 8] random 1
    const %w: float64[1, 8] random 2
    %x: float64[2, 5, 8] = Gather(%table, %ids) {axis = 0}
    %s: float64[2, 5, 1] = Linear(%z, %w, _)
    %few: bool[2, 5, 1] = Elementwise(%s, 0) op "aten::greater"
    %many: bool[2, 5, 8] = Elementwise(%z, 0) op "aten::greater"
)" + body +
         "    %n: float64[2, 5, 8] = LayerNorm(%y, _, _) {axes = [2], eps = 1e-05}\n    return " + returned + "\n}";
}

TEST(DroppedAddends, numbersForEachTokenAndForAll) {
  for (const char* body : {"%y: float64[2, 5, 8] = Add(%x, %s)", "%y: float64[2, 5, 8] = Sub(%s, %x)",
                           "%y: float64[2, 5, 8] = Add(%x, %s) {alpha = 0.5}", "%y: float64[2, 5, 8] = Add(%x, 3)",
                           "%y: float64[2, 5, 8] = Sub(3, %x)", "%y: float64[2, 5, 8] = MaskedFill(%x, %few, 3)",
                           "%y: float64[2, 5, 8] = Where(%few, %x, 3)", "%y: float64[2, 5, 8] = Where(%few, %s, %x)",
                           R"(%e: float64[2, 5, 8] = Expand(%s)
           %g: float64[2, 5, 8] = Elementwise(%e) op "aten::gelu"
           %y: float64[2, 5, 8] = Add(%g, %x))"}) {
    const Outcome outcome = soundOutcome(model(std::string(body) + "\n"));
    EXPECT_EQ(outcome.verdict, Verdict::Free) << body << "\n" << outcome.reason;
    EXPECT_EQ(outcome.reads, 1U) << body;
  }
  const Outcome outcome = soundOutcome(model("%y: float64[2, 5, 8] = Add(%x, 3)\n"));
  EXPECT_EQ(outcome.drops, std::vector<std::string>{"drop the number 3, constant along the channels"});
  EXPECT_EQ(outcome.reason,
            "Every path to it ends in a tensor that can be centered, or in an addend that is constant along the "
            "channels and is dropped.");
}

TEST(DroppedAddends, whatVariesAlongTheChannelsIsNone) {
  for (const char* body : {"%y: float64[2, 5, 8] = Add(%x, %z)", "%y: float64[2, 5, 8] = MaskedFill(%x, %many, 3)",
                           "%y: float64[2, 5, 8] = Where(%many, %x, 3)",
                           "%g: float64[2, 5, 8] = Add(%s, %z)\n%y: float64[2, 5, 8] = Add(%x, %g)"}) {
    const Outcome outcome = soundOutcome(model(std::string(body) + "\n"));
    EXPECT_EQ(outcome.verdict, Verdict::Blocked) << body;
    EXPECT_EQ(outcome.reads, 0U) << body;
  }
}

TEST(DroppedAddends, whoNoticesIsNamed) {
  const Outcome returned = soundOutcome(model("%y: float64[2, 5, 8] = Add(%x, %s)\n", "%n, %y"));
  EXPECT_EQ(returned.verdict, Verdict::Blocked);
  EXPECT_EQ(returned.reads, 0U);
  const Outcome number = soundOutcome(model("%y: float64[2, 5, 8] = Add(%x, 3)\n", "%n, %y"));
  EXPECT_EQ(number.verdict, Verdict::Blocked);
  EXPECT_EQ(number.reason, "Dropping the number 3 would change a model output: it is an output of the model.");
}

// A gate reads the addend as well, and reads on.
TEST(DroppedAddends, otherReadersKeepTheAddend) {
  const Outcome outcome = soundOutcome(model(R"(
    %a: float64[2, 5, 8] = Add(%x, %s)
    %gate: float64[2, 5, 1] = Elementwise(%s) op "aten::sigmoid"
    %y: float64[2, 5, 8] = Mul(%a, %gate)
)"));
  EXPECT_EQ(outcome.verdict, Verdict::Free);
  EXPECT_EQ(outcome.reads, 1U);
}

// A row of -inf makes the norm nan; a row of 0 would not.
TEST(DroppedAddends, infinitiesAreKept) {
  for (const char* body : {"%y: float64[2, 5, 8] = MaskedFill(%x, %few, -inf)",
                           "%m: float64[2, 5, 1] = Where(%few, 0, -inf)\n%y: float64[2, 5, 8] = Add(%x, %m)"}) {
    EXPECT_EQ(Analyzed(model(std::string(body) + "\n"))->verdicts[0].verdict, Verdict::Blocked) << body;
  }
}

// A norm per head would do without the mean of all channels, which makes %c zero-mean for the other norm.
TEST(DroppedAddends, theMeanOfACenteringIsNone) {
  const Outcome outcome = soundOutcome(model(R"(
    %m: float64[2, 5, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true}
    %c: float64[2, 5, 8] = Sub(%x, %m)
    %y: float64[2, 5, 8] = Add(%c, %s)
    %heads: float64[2, 5, 2, 4] = Reshape(%y)
    %h: float64[2, 5, 2, 4] = LayerNorm(%heads, _, _) {axes = [3], eps = 1e-05}
)",
                                             "%n, %h"));
  EXPECT_EQ(outcome.verdict, Verdict::Blocked) << "of the heads' norm";
  EXPECT_EQ(outcome.reads, 1U) << "of %s";
}

}  // namespace
}  // namespace normlens::analysis
