// NormLens's own operators in a file that is opened: read as what they compute, and folded like the rest.
#include <torch/csrc/jit/frontend/resolver.h>

#include "core/analysis/analysis.h"
#include "core/formats/torchscript/program/fast_norm.h"
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

constexpr double kExact = 1e-12;

// Knows `normlens` beside `torch`.
struct OurOps : torch::jit::NativeResolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(const std::string& name, torch::jit::GraphFunction& function,
                                                         const torch::jit::SourceRange& at) override {
    if (name == "normlens") return std::make_shared<torch::jit::BuiltinModule>("normlens");
    return NativeResolver::resolveValue(name, function, at);
  }
};

// Two linears of the input, of 8 features each; the norm's numbers belong to a submodule. `body` goes on from p and q.
torch::jit::Module withOps(const std::string& body) {
  torch::jit::Module norm("Norm");
  norm.register_parameter("weight", draw({8}, 5), false);
  norm.register_parameter("bias", draw({8}, 6), false);
  torch::jit::Module m("Net");
  m.register_parameter("w1", draw({8, 6}, 1), false);
  m.register_parameter("b1", draw({8}, 2), false);
  m.register_parameter("w2", draw({8, 6}, 3), false);
  m.register_parameter("b2", draw({8}, 4), false);
  m.register_module("norm", norm);
  m.define("def forward(self, x):\n  p = torch.linear(x, self.w1, self.b1)\n  q = torch.linear(x, self.w2, self.b2)\n" +
               body,
           std::make_shared<OurOps>());
  return m;
}

const std::string kAddLayerNorm = "  s, y = normlens.add_layer_norm(p, q, self.norm.weight, self.norm.bias, 1e-05)\n";

class FusedOps : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fastNormAvailable()) << "libnormlens_ops.so is built with the tests"; }

  // Everything that can be, with centerings at run time where weights alone will not do.
  static fold::FoldPlan planOf(const graph::Graph& graph) {
    const auto analysis = analysis::analyze(graph, {});
    const auto plan = analysis::makePlan(**analysis, {analysis::Policy::All, 1000, {}, {}});
    fold::FoldPlan edits{Policy::All, {}};
    for (const auto& planned : plan.edits) edits.edits.push_back(planned.edit);
    return edits;
  }

  struct Counts {
    int rms = 0, addRms = 0, portable = 0, layer = 0;
    auto operator<=>(const Counts&) const = default;
  };

  static Counts fold(const torch::jit::Module& module, NormFlavour flavour) {
    const auto x = draw({3, 4, 6}, 10), other = draw({2, 6}, 11);
    const auto model = makeModel(module, {x});
    const auto folded = applied(*model, planOf(model->graph()).edits, flavour);
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
    EXPECT_LT(relativeDifference(runOn(*model, {other}), runOn(*folded, {other})), kExact) << "at another size";
    return {countOps(*folded, "normlens::rms_norm"), countOps(*folded, "normlens::add_rms_norm"),
            countOps(*folded, "aten::rms_norm"),
            countOps(*folded, "normlens::add_layer_norm") + countOps(*folded, "normlens::layer_norm")};
  }
};

TEST_F(FusedOps, AnAddWithItsNormIsReadAsBoth) {
  const auto model = makeModel(withOps(kAddLayerNorm + "  return torch.softmax(s, -1) + y\n"), {draw({3, 4, 6}, 1)});
  const auto& graph = model->graph();
  const auto norms = analysis::findNorms(graph);
  ASSERT_EQ(norms.layerNorms.size(), 1U);
  const auto& norm = norms.layerNorms[0];
  EXPECT_EQ(norm.form, analysis::NormForm::Fused);
  EXPECT_EQ(norm.name, "norm") << "by the module of its scale";
  EXPECT_EQ(graph.scope(graph.node(norm.node).scope).path, "norm");
  EXPECT_EQ(norm.axes, std::vector<int64_t>{2});
  EXPECT_EQ(norm.eps, 1e-05);
  const auto& add = graph.node(graph.value(norm.input).producer);
  EXPECT_EQ(add.kind, graph::OpKind::Add);
  EXPECT_EQ(add.operands.size(), 2U);
  EXPECT_EQ(graph.value(norm.input).uses.size(), 2U) << "the softmax reads the same sum";
  EXPECT_EQ(graph.value(norm.input).shape, graph.value(norm.output).shape);
  EXPECT_TRUE(graph::checkGraph(graph));
}

TEST_F(FusedOps, AFusedFileHasTheVerdictsOfTheOneItCameFrom) {
  torch::jit::Module plain = withOps("  return p\n");
  torch::jit::Module norm = plain.attr("norm").toModule();
  norm.define("def forward(self, s):\n  return torch.layer_norm(s, [8], self.weight, self.bias, 1e-05, False)\n");
  plain.define("def sums(self, p, q):\n  s = p + q\n  y = self.norm.forward(s)\n  return y\n");
  torch::jit::Module outer("Outer");
  outer.register_module("inner", plain);
  outer.define(
      "def forward(self, x):\n  p = torch.linear(x, self.inner.w1, self.inner.b1)\n"
      "  q = torch.linear(x, self.inner.w2, self.inner.b2)\n  return self.inner.sums(p, q)\n");
  const auto x = draw({3, 4, 6}, 2);
  const auto before = makeModel(outer, {x});
  const auto fused = before->fuseNorms(analysis::findNorms(before->graph()), {});
  ASSERT_TRUE(fused);
  ASSERT_EQ(fused->fused, std::vector<std::string>{"inner.norm"});
  const auto after = makeModel(static_cast<const TorchScriptModel&>(*fused->model).source().module, {x});
  ASSERT_EQ(countOps(*after, "normlens::add_layer_norm"), 1);
  const auto a = analysis::analyze(before->graph(), {}), b = analysis::analyze(after->graph(), {});
  ASSERT_EQ((*b)->norms.layerNorms.size(), 1U);
  EXPECT_EQ((*a)->norms.layerNorms[0].name, (*b)->norms.layerNorms[0].name);
  EXPECT_EQ((*a)->verdicts[0].verdict, (*b)->verdicts[0].verdict);
  EXPECT_EQ((*a)->verdicts[0].reason, (*b)->verdicts[0].reason);
}

TEST_F(FusedOps, AFusedLayerNormFoldsToEachFlavour) {
  const auto module = withOps(kAddLayerNorm + "  return y\n");
  EXPECT_EQ(fold(module, NormFlavour::Fast), (Counts{0, 1, 0, 0})) << "the add stays in the op";
  EXPECT_EQ(fold(module, NormFlavour::Portable), (Counts{0, 0, 1, 0}));
  EXPECT_EQ(fold(module, NormFlavour::Primitives), (Counts{0, 0, 0, 0}));
}

TEST_F(FusedOps, WithoutGammaAndBeta) {
  const auto module = withOps("  s, y = normlens.add_layer_norm(p, q, None, None, 1e-05)\n  return y\n");
  for (const auto flavour : {NormFlavour::Fast, NormFlavour::Portable, NormFlavour::Primitives}) {
    EXPECT_EQ(fold(module, flavour).layer, 0);
  }
}

TEST_F(FusedOps, TheSumIsStillReadElsewhere) {
  const auto module = withOps(kAddLayerNorm +
                              "  t, z = normlens.add_layer_norm(s, y, self.norm.bias, None, 0.001)\n"
                              "  return torch.tanh(t) * z\n");
  EXPECT_EQ(fold(module, NormFlavour::Fast).layer, 0);
  EXPECT_EQ(fold(module, NormFlavour::Portable).layer, 0);
}

TEST_F(FusedOps, AlsoTheNormAlone) {
  const auto module = withOps("  y = normlens.layer_norm(p, self.norm.weight, self.norm.bias, 1e-05)\n  return y\n");
  EXPECT_EQ(fold(module, NormFlavour::Fast), (Counts{1, 0, 0, 0}));
  EXPECT_EQ(fold(module, NormFlavour::Portable), (Counts{0, 0, 1, 0}));
}

TEST_F(FusedOps, ANormOverTwoAxesIsWrittenInThePortableForm) {
  const auto module = withOps(
      "  z = torch.layer_norm(q.view(-1, 2, 4), [2, 4], None, None, 1e-05, False)\n"
      "  y = normlens.layer_norm(p, self.norm.weight, self.norm.bias, 1e-05)\n  return y.sum() * z\n");
  EXPECT_EQ(fold(module, NormFlavour::Fast), (Counts{1, 0, 1, 0}));
}

// A sum that something else reads as it is: only the norm may see it centered.
TEST_F(FusedOps, ACenteringInsideWritesTheOpOut) {
  const auto module = withOps(kAddLayerNorm + "  return torch.tanh(s) + y\n");
  const auto x = draw({3, 4, 6}, 3);
  const auto model = makeModel(module, {x});
  const auto& graph = model->graph();
  const auto norms = analysis::findNorms(graph);
  const auto& norm = norms.layerNorms.at(0);
  const std::vector<int64_t> last = {2};
  const fold::InsertCentering centering{
      norm.input, ops::Pattern::overAxes(*graph.value(norm.input).shape, last), {{norm.node, 0, graph::kNone}}};
  for (const auto flavour : {NormFlavour::Fast, NormFlavour::Portable, NormFlavour::Primitives}) {
    const auto folded = applied(*model, {centering, fold::ReplaceNorm{0}}, flavour);
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
    EXPECT_EQ(countOps(*folded, "normlens::add_layer_norm"), 0);
    EXPECT_EQ(countOps(*folded, "normlens::add_rms_norm"), 0);
  }
}

TEST_F(FusedOps, RmsNormsAreNorms) {
  const auto model = makeModel(withOps("  s, y = normlens.add_rms_norm(p, q, self.norm.weight, self.norm.bias, 1e-05)\n"
                                       "  return s * normlens.rms_norm(y, self.norm.weight, None, 1e-05)\n"),
                               {draw({3, 4, 6}, 1)});
  const auto norms = analysis::findNorms(model->graph());
  EXPECT_TRUE(norms.layerNorms.empty());
  ASSERT_EQ(norms.others.size(), 2U);
  for (const auto& norm : norms.others) EXPECT_EQ(norm.kind, OtherNormKind::RmsNorm);
  EXPECT_EQ(model->graph().node(nodeOf(model->graph(), "aten::add")).kind, graph::OpKind::Add);
}

TEST_F(FusedOps, ACenteringIsOne) {
  const auto module = withOps(
      "  s, c = normlens.add_center(p, q)\n"
      "  d = normlens.center(x)\n"
      "  y = normlens.layer_norm(c, self.norm.weight, self.norm.bias, 1e-05)\n"
      "  return torch.tanh(s) + y * d.sum()\n");
  const auto model = makeModel(module, {draw({3, 4, 6}, 1)});
  EXPECT_TRUE(graph::checkGraph(model->graph()));
  const auto analysis = analysis::analyze(model->graph(), {});
  ASSERT_EQ((*analysis)->verdicts.size(), 1U);
  EXPECT_EQ((*analysis)->verdicts[0].verdict, analysis::Verdict::Free) << (*analysis)->verdicts[0].reason;
  EXPECT_EQ(fold(module, NormFlavour::Fast), (Counts{1, 0, 0, 0}));
}

TEST_F(FusedOps, AScaledCenteringAndAShortenedNormStayOpaque) {
  const auto model = makeModel(withOps("  c = normlens.center(p, self.norm.weight)\n"
                                       "  r = normlens.crms_norm(q, None, None, 1e-05, False)\n"
                                       "  return c * r.sum()\n"),
                               {draw({3, 4, 6}, 1)});
  for (const char* op : {"normlens::center", "normlens::crms_norm"}) {
    EXPECT_EQ(model->graph().node(nodeOf(model->graph(), op)).kind, graph::OpKind::Opaque) << op;
  }
  // Nothing is claimed of the last one, and it is a norm for whoever looks.
  const auto norms = analysis::findNorms(model->graph());
  ASSERT_EQ(norms.others.size(), 1U);
  EXPECT_EQ(norms.others[0].kind, OtherNormKind::CrmsNorm);
  EXPECT_EQ(norms.others[0].axes, std::vector<int64_t>{2});
  EXPECT_EQ(norms.others[0].eps, 1e-05);
  EXPECT_TRUE(norms.layerNorms.empty());
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
