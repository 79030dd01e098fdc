// The proof of a fold tells which folded norms no run has reached.
#include "core/run/verify.h"
#include "tests/formats/torchscript_fixture.h"

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
  const fold::FoldPlan plan{"all", {fold::ReplaceNorm{0}}};
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

TEST(VerifyBranches, ANormThatRanIsNot) {
  const auto result = verified(draw({5, 6}, 5));
  EXPECT_EQ(result.exact, false) << "nothing was centered";
  EXPECT_TRUE(result.notRun.empty());
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
