// Norms that are written out in several ops become one op each; then they take their adds in.
#include "core/formats/torchscript/program/fast_norm.h"
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

constexpr double kExact = 1e-12;

const std::string kLayerNorm =
    "  c = s - s.mean([-1], True)\n  v = (c * c).mean([-1], True)\n"
    "  y = c / torch.sqrt(v + 1e-05) * self.g + self.b\n";
const std::string kRmsNorm = "  v = s.pow(2).mean([-1], True)\n  y = self.g * (s * torch.rsqrt(v + 1e-06))\n";

torch::jit::Module net(const std::string& body, at::ScalarType type = at::kDouble) {
  torch::jit::Module m("Net");
  m.register_parameter("w1", draw({8, 6}, 1, type), false);
  m.register_parameter("w2", draw({8, 6}, 3, type), false);
  m.register_parameter("g", draw({8}, 5, type), false);
  m.register_parameter("b", draw({8}, 6, type), false);
  m.define("def forward(self, x):\n  p = torch.linear(x, self.w1)\n  q = torch.linear(x, self.w2)\n" + body);
  return m;
}

class JoinedNorms : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fastNormAvailable()) << "libnormlens_ops.so is built with the tests"; }

  // The outputs must be the original's, at both sizes. nullptr: nothing was joined.
  static ModelPtr joined(const torch::jit::Module& module, const at::Tensor& x, const at::Tensor& other,
                         double tolerance = kExact) {
    const auto model = makeModel(module, {x});
    auto result = model->joinNorms(analysis::findNorms(model->graph()), {});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    if (!result || result->fused.empty()) return nullptr;
    ModelPtr after = makeModel(static_cast<const TorchScriptModel&>(*result->model).source().module, {x});
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*after, {x})), tolerance);
    EXPECT_LT(relativeDifference(runOn(*model, {other}), runOn(*after, {other})), tolerance) << "at another size";
    return after;
  }
  static ModelPtr joined(const std::string& body) {
    return joined(net(body), draw({3, 4, 6}, 10), draw({2, 5, 6}, 11));
  }
  static int fusedOps(const TorchScriptModel& model, const std::string& op) {
    const auto fused = model.fuseNorms(analysis::findNorms(model.graph()), {});
    EXPECT_TRUE(fused) << (fused ? "" : fused.error().message);
    return fused ? countOps(static_cast<const TorchScriptModel&>(*fused->model), op) : -1;
  }
};

TEST_F(JoinedNorms, ALayerNormBecomesOneOp) {
  const auto model = joined("  s = p + q\n" + kLayerNorm + "  return y\n");
  ASSERT_TRUE(model);
  EXPECT_EQ(countOps(*model, "normlens::layer_norm"), 1);
  for (const char* gone : {"aten::mean", "aten::sub", "aten::sqrt", "aten::div", "aten::mul"}) {
    EXPECT_EQ(countOps(*model, gone), 0) << gone;
  }
  EXPECT_EQ(countOps(*model, "aten::add"), 1) << "the sum before it";
  const auto norms = analysis::findNorms(model->graph());
  ASSERT_EQ(norms.layerNorms.size(), 1U);
  EXPECT_EQ(norms.layerNorms[0].form, analysis::NormForm::Op);
  EXPECT_EQ(norms.layerNorms[0].eps, 1e-5);
}

TEST_F(JoinedNorms, SoDoesAnRmsNorm) {
  const std::vector<std::string> spellings = {
      kRmsNorm, "  y = s / torch.sqrt((s * s).mean([-1], True) + 1e-06)\n",
      "  y = s * torch.pow((s * s).sum([-1], True) / 8 + 1e-06, -0.5) * (1.0 + self.g)\n",
      "  f = torch.to(s, 7)\n  v = f.square().mean([-1], True)\n"
      "  y = self.g * torch.to(f * torch.rsqrt(v + 1e-06), 7) + self.b\n"};
  for (const std::string& norm : spellings) {
    const auto model = joined("  s = p + q\n" + norm + "  return y\n");
    ASSERT_TRUE(model) << norm;
    EXPECT_EQ(countOps(*model, "normlens::rms_norm"), 1) << norm;
    EXPECT_EQ(countOps(*model, "aten::mean") + countOps(*model, "aten::sum"), 0) << norm;
  }
}

TEST_F(JoinedNorms, AHalfNormWithItsStatisticsInFloat32) {
  const auto module =
      net("  s = p + q\n  f = torch.to(s, 6)\n  v = f.pow(2).mean([-1], True)\n"
          "  y = self.g * torch.to(f * torch.rsqrt(v + 1e-06), 5)\n  return y\n",
          at::kHalf);
  constexpr double kHalf = 4e-3;
  const auto model = joined(module, draw({3, 4, 6}, 12, at::kHalf), draw({2, 6}, 13, at::kHalf), kHalf);
  ASSERT_TRUE(model);
  EXPECT_EQ(countOps(*model, "normlens::rms_norm"), 1);
  EXPECT_EQ(countOps(*model, "aten::to"), 0);
  EXPECT_EQ(fusedOps(*model, "normlens::add_rms_norm"), 1);
}

TEST_F(JoinedNorms, ThenTheyTakeTheirAddsIn) {
  for (const auto& norm : {kLayerNorm, kRmsNorm}) {
    const auto model = joined("  s = p + q\n" + norm + "  return torch.softmax(s, -1) + y\n");
    ASSERT_TRUE(model);
    EXPECT_EQ(fusedOps(*model, norm == kRmsNorm ? "normlens::add_rms_norm" : "normlens::add_layer_norm"), 1);
  }
}

TEST_F(JoinedNorms, InAModuleOfTheirOwnToo) {
  torch::jit::Module norm("Norm");
  norm.register_parameter("g", draw({8}, 5), false);
  norm.define("def forward(self, s):\n" + kRmsNorm + "  return y\n");
  torch::jit::Module m = net("  return p + q\n");
  torch::jit::Module outer("Outer");
  outer.register_module("net", m);
  outer.register_module("norm", norm);
  outer.define(
      "def forward(self, x):\n  s = self.net.forward(x)\n  t = s + s.neg() * 0.5\n  return self.norm.forward(t)\n");
  const auto model = joined(outer, draw({3, 4, 6}, 14), draw({2, 6}, 15));
  ASSERT_TRUE(model);
  EXPECT_EQ(countOps(*model, "normlens::rms_norm"), 1);
  EXPECT_EQ(fusedOps(*model, "normlens::add_rms_norm"), 1);
}

TEST_F(JoinedNorms, OneModuleWithTwoEpsAsksForTwoBodies) {
  torch::jit::Module norm("Norm");
  norm.define(
      "def forward(self, s, eps: float):\n  v = s.pow(2).mean([-1], True)\n  return s * torch.rsqrt(v + eps)\n");
  torch::jit::Module m = net("  return p + q\n");
  torch::jit::Module outer("Outer");
  outer.register_module("net", m);
  outer.register_module("norm", norm);
  // In six decimals both eps are 0.000000; beside so small an x they matter.
  outer.define(
      "def forward(self, x):\n  s = self.net.forward(x) * 1e-05\n"
      "  return self.norm.forward(s, 1e-12), self.norm.forward(s, 1e-07)\n");
  const auto model = joined(outer, draw({3, 4, 6}, 18), draw({2, 6}, 19));
  ASSERT_TRUE(model);
  std::set<double> eps;
  for (const auto& found : analysis::findNorms(model->graph()).others) eps.insert(found.eps);
  EXPECT_EQ(eps, (std::set<double>{1e-12, 1e-7}));
}

TEST_F(JoinedNorms, WhatIsReadInsideKeepsThemWrittenOut) {
  EXPECT_FALSE(joined("  s = p + q\n" + kRmsNorm + "  return y * v\n"));
  EXPECT_FALSE(joined("  s = p + q\n" + kLayerNorm + "  return y * c\n"));
}

TEST_F(JoinedNorms, AnInputThatIsWrittenToBeforeTheEndKeepsThemWrittenOut) {
  EXPECT_FALSE(
      joined("  s = p + q\n  c = s - s.mean([-1], True)\n  v = (c * c).mean([-1], True)\n  t = s.mul_(2.0)\n"
             "  y = c / torch.sqrt(v + 1e-05) * self.g + self.b\n  return y + t\n"));
}

TEST_F(JoinedNorms, ANormOverTwoAxesIsLeftAlone) {
  EXPECT_FALSE(joined(net("  s = p + q\n  return s * torch.rsqrt(s.pow(2).mean([-2, -1], True) + 1e-06)\n"),
                      draw({3, 4, 6}, 16), draw({2, 4, 6}, 17)));
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
