// The proof of a fold whose outputs show little (flags, indices, lists that are empty on the sample), and of norms that
// no run has reached.
#include "core/analysis/streams/streams.h"
#include "core/run/proof/verify.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::torchscript::test {
namespace {

torch::jit::Module defining(const std::string& code, int64_t inputs = 6) {
  torch::jit::Module m("Defined");
  m.register_parameter("w", draw({8, inputs}, 1), false);
  m.register_parameter("g", draw({8}, 2), false);
  m.register_parameter("b", draw({8}, 3), false);
  m.define(code);
  return m;
}

torch::jit::Module ending(const std::string& end) {
  return defining("def forward(self, x):\n  y = torch.layer_norm(torch.linear(x, self.w), [8], self.g, self.b)\n" +
                  end);
}

run::Verification verified(torch::jit::Module module, bool right, const std::vector<at::Tensor>& inputs) {
  const auto model = makeModel(std::move(module), inputs);
  const auto norms = analysis::findNorms(model->graph()).layerNorms;
  fold::FoldPlan plan{Policy::All, {fold::ReplaceNorm{0}}};
  if (right) plan.edits.insert(plan.edits.begin(), centerOver(model->graph(), "w", 0));
  const auto folded = must(model->apply(plan, norms, NormFlavour::Portable, {}));
  Tensors sample;
  for (size_t i = 0; i < inputs.size(); ++i) sample.push_back({"in_" + std::to_string(i), viewOf(inputs[i])});
  return must(run::verifyFold({*model, *folded, plan, norms}, sample, {}, {}));
}

run::Verification verified(const std::string& end, bool right) {
  return verified(ending(end), right, {draw({5, 6}, 5)});
}

void expectJudged(const std::string& end) {
  SCOPED_TRACE(end);
  const auto right = verified(end, true), wrong = verified(end, false);
  EXPECT_EQ(right.exact, true) << right.file.reason;
  EXPECT_EQ(wrong.exact, false);
  EXPECT_GT(wrong.algebra.worst->maxRel, 1e-3);
}

TEST(VerifyOutputs, FlagsAreProvedByWhatTheyAreComparedFrom) { expectJudged("  return y > -1000.0\n"); }

TEST(VerifyOutputs, IndicesAreProvedByWhatTheyPointInto) {
  expectJudged("  z = y * 0.001\n  z[:, 2] += 1000.0\n  return z.argmax(-1)\n");
}

// The outputs are equal bit for bit: what is told is of the norm.
TEST(VerifyOutputs, ANormBehindStepsAloneIsComparedItselfInBothTypes) {
  for (const char* end : {"  return torch.ceil(y)\n", "  return torch.where(y > 0.25, 1.5, -2.0)\n",
                          "  return x.gather(-1, y[:, :6].argmax(-1, keepdim=True) // 2)\n",
                          "  return torch.div(y, 0.5, rounding_mode='floor') * 2.0\n"}) {
    expectJudged(end);
    const auto right = verified(end, true);
    EXPECT_GT(right.algebra.worst->maxRel, 0) << end;
    EXPECT_GT(right.file.worst->maxRel, 0) << end;
  }
}

TEST(VerifyOutputs, AnEmptyListIsProvedByWhatItWasTakenFrom) { expectJudged("  return y[y.sum(-1) > 1000.0]\n"); }

TEST(VerifyOutputs, OneThatTellsDoesNotExcuseOneThatDoesNot) { expectJudged("  return x * 2.0, y > -1000.0\n"); }

TEST(VerifyOutputs, AFoldedNormIsComparedWhereNoOutputShowsIt) {
  const std::string hidden = "  return x * 2.0 + torch.relu(y - 1000.0).sum()\n";
  EXPECT_EQ(verified(hidden, true).exact, true);
  const auto wrong = verified(hidden, false);
  EXPECT_EQ(wrong.exact, false);
  EXPECT_GT(wrong.algebra.worst->maxRel, 1e-3);
  EXPECT_FALSE(wrong.firstDiverging.empty());
}

TEST(VerifyOutputs, FoldedNormsAreComparedAtOtherSizes) {
  const auto wrong = verified(defining(R"(
def forward(self, x):
  h = torch.linear(x, self.w)
  if x.size(0) > 5:
    h = h + self.b
  return x * 2.0 + torch.relu(torch.layer_norm(h, [8], self.g, self.b) - 1000.0).sum()
)"),
                              true, {draw({5, 6}, 5)});
  EXPECT_EQ(wrong.exact, false);
  EXPECT_GT(wrong.algebra.worst->maxRel, 1e-3);
  EXPECT_FALSE(wrong.firstDiverging.empty());
}

TEST(VerifyOutputs, ANumberIsTriedAtTheWidthOfANorm) {
  const std::vector<at::Tensor> inputs{draw({5, 8}, 5), torch::tensor(1, torch::kLong)};
  const auto gatedBy = [](const std::string& gate) {
    return defining("def forward(self, x, n: int):\n  h = torch.linear(x, self.w) * " + gate +
                        "\n  return torch.layer_norm(h, [8], self.g, self.b)\n",
                    8);
  };
  EXPECT_EQ(verified(gatedBy("n"), true, inputs).exact, true);
  EXPECT_EQ(verified(gatedBy("x[:, :n]"), true, inputs).exact, false);
}

torch::jit::Module onMean(double mean) {
  torch::jit::Module m("OnMean");
  m.register_parameter("w", draw({8, 6}, 1, at::kFloat), false);
  m.register_parameter("g", draw({8}, 2, at::kFloat), false);
  m.register_parameter("b", draw({8}, 3, at::kFloat), false);
  m.register_parameter("c", at::full({8}, mean, at::kFloat), false);
  m.define(R"(
def forward(self, x):
  return torch.layer_norm(torch.linear(x, self.w, self.c), [8], self.g, self.b)
)");
  return m;
}

TEST(VerifyOutputs, AFoldThatLosesFewerDigitsThanTheOriginalPasses) {
  for (const double mean : {1e4, 1e6, 2e7}) {
    const at::Tensor x = draw({5, 6}, 5, at::kFloat);
    const auto model = makeModel(onMean(mean), {x});
    const auto norms = analysis::findNorms(model->graph()).layerNorms;
    const fold::FoldPlan plan{
        Policy::All, {centerOver(model->graph(), "w", 0), centerOver(model->graph(), "c", 0), fold::ReplaceNorm{0}}};
    const auto folded = must(model->apply(plan, norms, NormFlavour::Portable, {}));
    const auto result = must(run::verifyFold({*model, *folded, plan, norms}, {{"in_0", viewOf(x)}}, {}, {}));
    EXPECT_EQ(result.exact, true) << mean << ": " << result.algebra.worst->maxRel << ", " << result.file.worst->maxRel;
    ASSERT_TRUE(result.file.errors) << mean << ": " << result.file.worst->maxRel << " of " << result.file.limit;
    EXPECT_LT(result.file.errors->folded, result.file.errors->original / 100);
  }
}

// The norm stands in a branch for more than four rows.
torch::jit::Module branching() {
  torch::jit::Module m("Branching");
  m.register_parameter("w", draw({8, 6}, 1), false);
  m.register_parameter("g", draw({8}, 2), false);
  m.register_parameter("b", draw({8}, 3), false);
  m.define(R"(
def forward(self, x):
  h = torch.linear(x, self.w)
  if x.size(0) > 4:
    y = torch.layer_norm(h, [8], self.g, self.b)
  else:
    y = h * 2.0
  return y
)");
  return m;
}

run::Verification verifiedBranch(const at::Tensor& x) {
  const auto model = makeModel(branching(), {x});
  const auto norms = analysis::findNorms(model->graph()).layerNorms;
  const fold::FoldPlan plan{Policy::All, {fold::ReplaceNorm{0}}};
  const auto folded = must(model->apply(plan, norms, NormFlavour::Portable, {}));
  run::VerifyOptions options;
  options.freeAxes = {{}};  // the other branch is not looked into by another size
  return must(run::verifyFold({*model, *folded, plan, norms}, {{"in_0", viewOf(x)}}, options, {}));
}

TEST(VerifyBranches, ANormThatDidNotRunIsNamed) {
  const auto result = verifiedBranch(draw({2, 6}, 5));
  EXPECT_EQ(result.exact, true);
  EXPECT_EQ(result.notRun.size(), 1U);
}

// The norm behind an If is folded where both branches make what can be centered, whichever the sample takes.
TEST(VerifyBranches, BothBranchesAreCentered) {
  for (const char* other : {"torch.linear(x, self.v, self.b)", "torch.relu(torch.linear(x, self.v, self.b))"}) {
    torch::jit::Module m("Either");
    m.register_parameter("w", draw({8, 6}, 1), false);
    m.register_parameter("v", draw({8, 6}, 2), false);
    m.register_parameter("b", draw({8}, 3), false);
    m.define(
        "def forward(self, x, flag: bool):\n  if flag:\n    y = torch.linear(x, self.w, self.b)\n  else:\n    y = " +
        std::string(other) + "\n  return torch.relu(torch.layer_norm(y, [8]))\n");
    for (const bool sample : {false, true}) {
      const auto model = makeModel(m, {draw({2, 6}, 5), at::scalar_tensor(sample, at::kBool)});
      const auto analysis = must(analysis::analyze(model->graph(), Task{}));
      const auto plan = analysis::makePlan(*analysis, {analysis::Policy::Free, 10, {}, {}});
      const bool folds = std::string(other).find("relu") == std::string::npos;
      EXPECT_EQ(plan.folded.size(), folds ? 1U : 0U) << other << sample;
      const auto folded = applied(*model, analysis::narrowed(plan, {}).edits);
      for (const bool flag : {false, true}) {
        const std::vector<at::Tensor> inputs{draw({5, 6}, 7), at::scalar_tensor(flag, at::kBool)};
        EXPECT_LT(relativeDifference(runOn(*model, inputs), runOn(*folded, inputs)), 1e-12) << other << flag;
      }
    }
  }
}

TEST(VerifyBranches, ANormThatRanIsNot) {
  const auto result = verifiedBranch(draw({5, 6}, 5));
  EXPECT_EQ(result.exact, false) << "nothing was centered";
  EXPECT_TRUE(result.notRun.empty());
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
