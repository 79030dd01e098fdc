// Residual streams that lose a channel, in TorchScript: in every flavour, padded or not, and what is left as it is.
#include "core/analysis/streams/streams.h"
#include "core/formats/torchscript/program/fast_norm.h"
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

constexpr int64_t kWidth = 8, kHidden = 12;

// A block of its own class, called twice; `normalised` is what the first linear reads, made of n = norm(x).
torch::jit::Module blockOf(uint64_t seed, const std::string& normalised, at::ScalarType type) {
  torch::jit::Module block("Block");
  block.register_parameter("gamma", draw({kWidth}, seed + 1, type), false);
  block.register_parameter("beta", draw({kWidth}, seed + 2, type), false);
  block.register_parameter("w1", draw({kHidden, kWidth}, seed + 3, type), false);
  block.register_parameter("b1", draw({kHidden}, seed + 4, type), false);
  block.register_parameter("w2", draw({kHidden, kWidth}, seed + 5, type), false);  // [in, out], as GPT-2 has it
  block.register_parameter("b2", draw({kWidth}, seed + 6, type), false);
  block.define(
      "def forward(self, x):\n"
      "  n = torch.layer_norm(x, [8], self.gamma, self.beta, 1e-05)\n"
      "  h = torch.gelu(torch.linear(" +
      normalised +
      ", self.w1, self.b1))\n"
      "  flat = h.view([-1, 12])\n"
      "  y = torch.addmm(self.b2, flat, self.w2).view([x.size(0), -1, 8])\n"
      "  return x + y\n");
  return block;
}

struct Net {
  std::string normalised = "n";  // of each block
  at::ScalarType type = at::kDouble;
};

torch::jit::Module netOf(const Net& net) {
  torch::jit::Module m("Net");
  m.register_parameter("table", draw({5, kWidth}, 1, net.type), false);
  m.register_parameter("first", draw({1, 1, kWidth}, 2, net.type), false);
  m.register_parameter("gamma", draw({kWidth}, 3, net.type), false);
  m.register_parameter("beta", at::zeros({kWidth}, net.type), false);
  m.register_parameter("head", draw({4, kWidth}, 4, net.type), false);
  m.register_module("a", blockOf(10, net.normalised, net.type));
  m.register_module("b", blockOf(20, net.normalised, net.type));
  m.define(
      "def forward(self, ids):\n"
      "  x = torch.embedding(self.table, ids)\n"
      "  x = torch.cat([self.first.expand([ids.size(0), 1, 8]), x], 1)\n"
      "  x = self.b.forward(self.a.forward(x))\n"
      "  n = torch.layer_norm(x, [8], self.gamma, self.beta, 1e-05)\n"
      "  return torch.linear(n, self.head)\n");
  return m;
}

at::Tensor idsOf(at::IntArrayRef shape) {
  const at::Tensor all = at::arange(shape[0] * shape[1], at::kLong);
  return (all * 7 % 5).view(shape);
}

struct Narrow {
  analysis::StreamPlan streams;
  ModelPtr model;
  double error = 0;
};

Narrow narrow(const torch::jit::Module& module, NormFlavour flavour = NormFlavour::Portable,
              analysis::StreamPadding padding = analysis::StreamPadding::None) {
  const auto sample = idsOf({2, 3}), other = idsOf({3, 5});
  const auto model = makeModel(module, {sample});
  const auto analysis = analysis::analyze(model->graph(), {}).value();
  analysis::PlanOptions options;
  options.policy = analysis::Policy::Free;
  const auto plan = analysis::makePlan(*analysis, options);
  Narrow out;
  out.streams = analysis::planStreams(*analysis, plan, padding);
  if (!out.streams.refused.empty()) return out;
  out.model =
      asTorchScript(model->apply(analysis::narrowed(plan, out.streams.edits), analysis->norms.layerNorms, flavour, {}));
  for (const auto& ids : {sample, other})
    out.error = std::max(out.error, relativeDifference(runOn(*model, {ids}), runOn(*out.model, {ids})));
  return out;
}

TEST(NarrowStream, EveryFlavourAndPaddingKeepsTheOutputs) {
  for (const NormFlavour flavour : {NormFlavour::Portable, NormFlavour::Primitives, NormFlavour::Fast}) {
    if (flavour == NormFlavour::Fast && !fastNormAvailable()) continue;
    for (const auto padding :
         {analysis::StreamPadding::None, analysis::StreamPadding::Even, analysis::StreamPadding::Blocks}) {
      const auto out = narrow(netOf({}), flavour, padding);
      ASSERT_EQ(out.streams.refused, "");
      ASSERT_EQ(out.streams.streams.size(), 1U);
      EXPECT_EQ(out.streams.streams[0].restored, 0);
      EXPECT_EQ(out.streams.edits.norms.size(), 3U);
      EXPECT_LT(out.error, kExact) << normFlavourName(flavour);
      EXPECT_EQ(countOps(*out.model, "aten::layer_norm"), 0);
      EXPECT_EQ(countOps(*out.model, "aten::rms_norm"), flavour == NormFlavour::Portable ? 3 : 0);
      EXPECT_EQ(countOps(*out.model, "normlens::rms_norm"), flavour == NormFlavour::Fast ? 3 : 0);
    }
  }
}

TEST(NarrowStream, HalfTypesSumInFloat) {
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    const auto out = narrow(netOf({.type = type}));
    ASSERT_NE(out.model, nullptr);
    EXPECT_LT(out.error, type == at::kFloat ? 1e-5 : 0.1);
  }
}

TEST(NarrowStream, AViewBetweenNormAndLinearIsResized) {
  const auto out = narrow(netOf({.normalised = "n.reshape([n.size(0), -1, 8])"}));
  ASSERT_NE(out.model, nullptr);
  EXPECT_EQ(out.streams.edits.norms.size(), 3U);
  EXPECT_LT(out.error, kExact);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
