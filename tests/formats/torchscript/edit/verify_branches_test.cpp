// The proof of a fold tells which folded norms no run has reached.
#include "core/analysis/analysis.h"
#include "core/run/proof/verify.h"
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

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

run::Verification verified(const at::Tensor& x) {
  const auto model = makeModel(branching(), {x});
  const auto norms = analysis::findNorms(model->graph()).layerNorms;
  const fold::FoldPlan plan{Policy::All, {fold::ReplaceNorm{0}}};
  const auto folded = model->apply(plan, norms, NormFlavour::Portable, {});
  if (!folded) throw std::runtime_error(folded.error().message);
  run::VerifyOptions options;
  options.freeAxes = {{}};  // the other branch is not looked into by another size
  auto result = run::verifyFold({*model, **folded, plan, norms}, {{"in_0", viewOf(x)}}, options, {});
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

TEST(VerifyBranches, ANormThatDidNotRunIsNamed) {
  const auto result = verified(draw({2, 6}, 5));
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
      const auto analysis = analysis::analyze(model->graph(), Task{});
      ASSERT_TRUE(analysis) << analysis.error().message;
      analysis::PlanOptions options;
      options.policy = analysis::Policy::Free;
      const auto plan = analysis::makePlan(**analysis, options);
      const bool folds = std::string(other).find("relu") == std::string::npos;
      EXPECT_EQ(plan.folded.size(), folds ? 1U : 0U) << other << sample;
      fold::FoldPlan edits{Policy::Free, {}};
      for (const auto& planned : plan.edits) edits.edits.push_back(planned.edit);
      const auto folded = asTorchScript(model->apply(edits, (*analysis)->norms.layerNorms, NormFlavour::Portable, {}));
      for (const bool flag : {false, true}) {
        const std::vector<at::Tensor> inputs{draw({5, 6}, 7), at::scalar_tensor(flag, at::kBool)};
        EXPECT_LT(relativeDifference(runOn(*model, inputs), runOn(*folded, inputs)), 1e-12) << other << flag;
      }
    }
  }
}

TEST(VerifyBranches, ANormThatRanIsNot) {
  const auto result = verified(draw({5, 6}, 5));
  EXPECT_EQ(result.exact, false) << "nothing was centered";
  EXPECT_TRUE(result.notRun.empty());
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
