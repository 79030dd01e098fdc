// The proof of a fold whose outputs show little: flags, indices, lists that are empty on the sample.
#include "core/run/verify.h"
#include "tests/formats/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

torch::jit::Module ending(const std::string& end) {
  torch::jit::Module m("Ending");
  m.register_parameter("w", draw({8, 6}, 1), false);
  m.register_parameter("g", draw({8}, 2), false);
  m.register_parameter("b", draw({8}, 3), false);
  m.define("def forward(self, x):\n  y = torch.layer_norm(torch.linear(x, self.w), [8], self.g, self.b)\n" + end);
  return m;
}

run::Verification verified(const std::string& end, bool right) {
  const at::Tensor x = draw({5, 6}, 5);
  const auto model = makeModel(ending(end), {x});
  const auto norms = analysis::findNorms(model->graph()).layerNorms;
  fold::FoldPlan plan{"all", {fold::ReplaceNorm{0}}};
  if (right) plan.edits.insert(plan.edits.begin(), centerOver(model->graph(), "w", 0));
  const auto folded = model->apply(plan, norms, NormFlavour::Portable, {});
  if (!folded) throw std::runtime_error(folded.error().message);
  auto result = run::verifyFold({*model, **folded, plan, norms}, {{"in_0", viewOf(x)}}, {}, {});
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

void expectJudged(const std::string& end) {
  SCOPED_TRACE(end);
  const auto right = verified(end, true), wrong = verified(end, false);
  EXPECT_EQ(right.exact, true) << right.fileReason;
  EXPECT_EQ(wrong.exact, false);
  EXPECT_GT(wrong.algebra->maxRel, 1e-3);
}

TEST(VerifyOutputs, FlagsAreProvedByWhatTheyAreComparedFrom) { expectJudged("  return y > -1000.0\n"); }

TEST(VerifyOutputs, IndicesAreProvedByWhatTheyPointInto) {
  expectJudged("  z = y * 0.001\n  z[:, 2] += 1000.0\n  return z.argmax(-1)\n");
}

TEST(VerifyOutputs, AnEmptyListIsProvedByWhatItWasTakenFrom) { expectJudged("  return y[y.sum(-1) > 1000.0]\n"); }

TEST(VerifyOutputs, OneThatTellsDoesNotExcuseOneThatDoesNot) { expectJudged("  return x * 2.0, y > -1000.0\n"); }

}  // namespace
}  // namespace normlens::formats::torchscript::test
