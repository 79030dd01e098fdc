// TorchScriptModel::apply to norms that are written out in several ops, against the original in float64.
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

// Folds the one norm that `code` makes of h, a linear layer of the input.
ModelPtr foldedNormOf(const std::string& code) {
  torch::jit::Module m("Written");
  m.register_parameter("w", draw({8, 6}, 90), false);
  m.register_parameter("gamma", draw({8}, 92), false);
  m.define("def forward(self, x):\n  h = torch.linear(x, self.w)\n" + code);
  const auto x = draw({3, 6}, 91);
  const auto model = makeModel(m, {x});
  EXPECT_EQ(analysis::findNorms(model->graph()).layerNorms.size(), 1U);
  auto folded = applied(*model, {centerOver(model->graph(), "w", 0), fold::ReplaceNorm{0}});
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), 1e-12);
  return folded;
}

TEST(Apply, ADecomposedNormLosesItsMeanAndTheDeadCode) {
  const auto folded = foldedNormOf(
      "  c = h - torch.mean(h, [-1], True)\n"
      "  v = torch.mean(torch.pow(c, 2), [-1], True)\n"
      "  return c / torch.sqrt(v + 1e-05)\n");
  EXPECT_EQ(countOps(*folded, "aten::sub"), 0);
  EXPECT_EQ(countOps(*folded, "aten::mean"), 1);
}

TEST(Apply, ACenteredRmsNormLosesItsMeanAndKeepsItsGamma) {
  const auto folded = foldedNormOf(
      "  c = h - torch.mean(h, [-1], True)\n"
      "  return torch.rms_norm(c, [8], self.gamma, 1e-05)\n");
  EXPECT_EQ(countOps(*folded, "aten::mean"), 0);
  EXPECT_EQ(countOps(*folded, "aten::rms_norm"), 1);
}

TEST(Apply, ANormWithTheMeanOfSquaresLosesItsSubtractions) {
  const auto folded = foldedNormOf(
      "  m = torch.mean(h, [-1], True)\n"
      "  v = torch.mean(torch.mul(h, h), [-1], True) - m * m\n"
      "  return (h - m) * (torch.rsqrt(torch.relu(v) + 1e-05) * self.gamma)\n");
  EXPECT_EQ(countOps(*folded, "aten::sub"), 0);
  EXPECT_EQ(countOps(*folded, "aten::mean"), 1);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
