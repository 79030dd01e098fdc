// NormLens's own operators: a residual add and its norm become one op with --norm fast, written-out norms are joined,
// and a file that has such operators is read as what they compute and folded like any other.
#include <torch/csrc/jit/frontend/resolver.h>

#include "core/formats/torchscript/program/fast_norm.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::torchscript::test {
namespace {

// Two linears of the input, of 8 features each, added and normalised by `body`; w1 b1 w2 b2 are centered by the plan.
torch::jit::Module twoBranches(const std::string& body) {
  torch::jit::Module m("Net");
  m.register_parameter("w1", draw({8, 6}, 1), false);
  m.register_parameter("b1", draw({8}, 2), false);
  m.register_parameter("w2", draw({8, 6}, 3), false);
  m.register_parameter("b2", draw({8}, 4), false);
  m.register_parameter("g", draw({8}, 5), false);
  m.register_parameter("b", draw({8}, 6), false);
  m.define("def forward(self, x):\n  p = torch.linear(x, self.w1, self.b1)\n  q = torch.linear(x, self.w2, self.b2)\n" +
           body);
  return m;
}

std::vector<fold::Edit> foldOf(const graph::Graph& graph) {
  return {centerOver(graph, "w1", 0), centerOver(graph, "b1", 0), centerOver(graph, "w2", 0),
          centerOver(graph, "b2", 0), fold::ReplaceNorm{0}};
}

constexpr const char* kNorm = "  y = torch.layer_norm(s, [8], self.g, self.b, 1e-05, False)\n";

class FusedNorms : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fastNormAvailable()) << "libnormlens_ops.so is built with the tests"; }

  // Folds with the fast norm; the outputs must be the original's. How many fused ops there are.
  static int fusedIn(const torch::jit::Module& module, const at::Tensor& x, const at::Tensor& other) {
    const auto model = makeModel(module, {x});
    const auto folded = applied(*model, foldOf(model->graph()), NormFlavour::Fast);
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
    EXPECT_LT(relativeDifference(runOn(*model, {other}), runOn(*folded, {other})), kExact) << "at another size";
    EXPECT_EQ(countOps(*folded, "aten::layer_norm"), 0);
    const int fused = countOps(*folded, "normlens::add_rms_norm");
    EXPECT_EQ(countOps(*folded, "normlens::rms_norm"), 1 - fused);
    return fused;
  }
  static int fusedIn(const std::string& body) {
    return fusedIn(twoBranches(body), draw({3, 4, 6}, 10), draw({2, 5, 6}, 11));
  }
};

TEST_F(FusedNorms, AnAddAndItsNormBecomeOneOp) {
  EXPECT_EQ(fusedIn(std::string("  s = p + q\n") + kNorm + "  return y\n"), 1);
}

TEST_F(FusedNorms, TheSumIsReadFromTheOpToo) {
  EXPECT_EQ(fusedIn(std::string("  s = p + q\n") + kNorm + "  return torch.softmax(s, -1) + y\n"), 1);
}

TEST_F(FusedNorms, AReaderBeforeTheNormReadsTheSumOfTheOp) {
  EXPECT_EQ(fusedIn(std::string("  s = p + q\n  t = torch.softmax(s, -1)\n") + kNorm + "  return t + y\n"), 1);
}

TEST_F(FusedNorms, ASumThatIsWrittenToLaterIsStillASum) {
  EXPECT_EQ(fusedIn(std::string("  s = p + q\n") + kNorm + "  t = s.mul_(2.0)\n  return torch.softmax(t, -1) + y\n"),
            1);
}

TEST_F(FusedNorms, AnOperandThatIsWrittenToInBetweenKeepsThemApart) {
  EXPECT_EQ(
      fusedIn(std::string("  s = p + q\n  r = torch.sin(x)\n  z = r.mul_(2.0)\n") + kNorm + "  return y + z.sum()\n"),
      0);
}

TEST_F(FusedNorms, AScaledAddIsNotThePlainOne) {
  EXPECT_EQ(fusedIn(std::string("  s = torch.add(p, q, alpha=2)\n") + kNorm + "  return y\n"), 0);
}

TEST_F(FusedNorms, AnAddInPlaceIsNotThePlainOne) {
  EXPECT_EQ(fusedIn(std::string("  s = p.add_(q)\n") + kNorm + "  return y\n"), 0);
}

TEST_F(FusedNorms, ABroadcastAddKeepsThemApartUnlessTheProbeHidIt) {
  const auto module = twoBranches("  s = p + q.mean(0, True)\n" + std::string(kNorm) + "  return y\n");
  EXPECT_EQ(fusedIn(module, draw({3, 4, 6}, 14), draw({2, 4, 6}, 15)), 0);
  EXPECT_EQ(fusedIn(module, draw({1, 4, 6}, 16), draw({2, 4, 6}, 17)), 1) << "a batch of one: the op broadcasts";
}

// As in a traced model: the norm is a submodule that does nothing else.
torch::jit::Module withSubmodule(const std::string& body) {
  torch::jit::Module norm("Norm");
  norm.register_parameter("weight", draw({8}, 5), false);
  norm.register_parameter("bias", draw({8}, 6), false);
  norm.define("def forward(self, s):\n  return torch.layer_norm(s, [8], self.weight, self.bias, 1e-05, False)\n");
  torch::jit::Module m("Net");
  for (const char* name : {"w1", "w2"}) m.register_parameter(name, draw({8, 6}, 1), false);
  for (const char* name : {"b1", "b2"}) m.register_parameter(name, draw({8}, 2), false);
  m.setattr("w2", draw({8, 6}, 3));
  m.setattr("b2", draw({8}, 4));
  m.register_module("norm", norm);
  m.define("def forward(self, x):\n  p = torch.linear(x, self.w1, self.b1)\n  q = torch.linear(x, self.w2, self.b2)\n" +
           body);
  return m;
}

TEST_F(FusedNorms, ANormInASubmoduleOfItsOwnIsTakenIntoTheAddsBody) {
  const auto module = withSubmodule("  s = p + q\n  return torch.softmax(s, -1) + self.norm.forward(s)\n");
  EXPECT_EQ(fusedIn(module, draw({3, 4, 6}, 20), draw({2, 6}, 21)), 1);
  const auto normFirst = withSubmodule("  s = p + q\n  y = self.norm.forward(s)\n  return torch.softmax(s, -1) + y\n");
  EXPECT_EQ(fusedIn(normFirst, draw({3, 4, 6}, 20), draw({2, 6}, 21)), 1);
}

TEST_F(FusedNorms, TheFusedFileLoadsAndRuns) {
  const auto x = draw({3, 4, 6}, 22);
  const auto model =
      makeModel(withSubmodule("  s = p + q\n  y = self.norm.forward(s)\n  return torch.softmax(s, -1) * y\n"), {x});
  const auto folded = applied(*model, foldOf(model->graph()), NormFlavour::Fast);
  ASSERT_EQ(countOps(*folded, "normlens::add_rms_norm"), 1);
  EXPECT_LT(relativeDifference(runOn(*model, {x}), saved(*folded).forward({x}).toTensor()), kExact);
}

TEST_F(FusedNorms, ACenteringBeforeTheNormStaysBetweenThem) {
  const auto x = draw({3, 4, 6}, 23);
  for (const bool submodule : {false, true}) {
    const auto model = makeModel(
        submodule ? withSubmodule("  s = p + q\n  y = self.norm.forward(s)\n  return torch.softmax(s, -1) * y\n")
                  : twoBranches("  s = p + q\n" + std::string(kNorm) + "  return torch.softmax(s, -1) * y\n"),
        {x});
    const auto& graph = model->graph();
    const auto norms = analysis::findNorms(graph);
    const auto& norm = norms.layerNorms.at(0);
    const std::vector<int64_t> last = {2};
    const fold::InsertCentering centering{
        norm.input, ops::Pattern::overAxes(*graph.value(norm.input).shape, last), {{norm.node, 0, graph::kNone}}};
    const auto folded = applied(*model, {centering, fold::ReplaceNorm{0}}, NormFlavour::Fast);
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
    EXPECT_EQ(countOps(*folded, "normlens::add_rms_norm"), 0);
  }
}

// Fusing alone: nothing is folded.
class Fusing : public FusedNorms {
 protected:
  static FusedModel fuse(const TorchScriptModel& model) {
    return must(model.fuseNorms(analysis::findNorms(model.graph()), {}));
  }
  static void expectSameOutputs(const TorchScriptModel& before, const Model& after, const at::Tensor& x) {
    const auto& fused = static_cast<const TorchScriptModel&>(after);
    EXPECT_LT(relativeDifference(runOn(before, {x}), runOn(fused, {x})), kExact);
  }
};

TEST_F(Fusing, ALayerNormStaysALayerNorm) {
  const auto x = draw({3, 4, 6}, 30);
  for (const bool submodule : {false, true}) {
    const auto model = makeModel(submodule ? withSubmodule("  s = p + q\n  y = self.norm.forward(s)\n  return s * y\n")
                                           : twoBranches("  s = p + q\n" + std::string(kNorm) + "  return s * y\n"),
                                 {x});
    const auto fused = fuse(*model);
    ASSERT_EQ(fused.fused.size(), 1U) << submodule;
    EXPECT_EQ(countOps(static_cast<const TorchScriptModel&>(*fused.model), "normlens::add_layer_norm"), 1);
    expectSameOutputs(*model, *fused.model, x);
    expectSameOutputs(*model, *fused.model, draw({2, 6}, 31));
  }
}

TEST_F(Fusing, AnRmsNormWhoseEpsDependsOnTheTypeIsLeftAlone) {
  const auto x = draw({3, 6}, 33);
  const auto model = makeModel(twoBranches("  s = p + q\n  y = torch.rms_norm(s, [8], self.g)\n  return s * y\n"), {x});
  EXPECT_TRUE(fuse(*model).fused.empty());
}

TEST_F(Fusing, ANormOverTwoAxesIsLeftAlone) {
  const auto x = draw({3, 8, 6}, 35);
  const auto model = makeModel(
      twoBranches("  s = p + q\n  y = torch.layer_norm(s, [8, 8], None, None, 1e-05, False)\n  return y\n"), {x});
  EXPECT_TRUE(fuse(*model).fused.empty());
}

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
    const auto result = must(model->joinNorms(analysis::findNorms(model->graph()), {}));
    if (result.fused.empty()) return nullptr;
    ModelPtr after = makeModel(static_cast<const TorchScriptModel&>(*result.model).source().module, {x});
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*after, {x})), tolerance);
    EXPECT_LT(relativeDifference(runOn(*model, {other}), runOn(*after, {other})), tolerance) << "at another size";
    return after;
  }
  static ModelPtr joined(const std::string& body) {
    return joined(net(body), draw({3, 4, 6}, 10), draw({2, 5, 6}, 11));
  }
  static int fusedOps(const TorchScriptModel& model, const std::string& op) {
    return countOps(
        static_cast<const TorchScriptModel&>(*must(model.fuseNorms(analysis::findNorms(model.graph()), {})).model), op);
  }
};

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

TEST_F(JoinedNorms, AnInputThatIsWrittenToBeforeTheEndKeepsThemWrittenOut) {
  EXPECT_FALSE(
      joined("  s = p + q\n  c = s - s.mean([-1], True)\n  v = (c * c).mean([-1], True)\n  t = s.mul_(2.0)\n"
             "  y = c / torch.sqrt(v + 1e-05) * self.g + self.b\n  return y + t\n"));
}

TEST_F(JoinedNorms, ANormOverTwoAxesIsLeftAlone) {
  EXPECT_FALSE(joined(net("  s = p + q\n  return s * torch.rsqrt(s.pow(2).mean([-2, -1], True) + 1e-06)\n"),
                      draw({3, 4, 6}, 16), draw({2, 4, 6}, 17)));
}

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

  struct Counts {
    int rms = 0, addRms = 0, portable = 0, layer = 0;
    auto operator<=>(const Counts&) const = default;
  };

  static Counts fold(const torch::jit::Module& module, NormFlavour flavour) {
    const auto x = draw({3, 4, 6}, 10), other = draw({2, 6}, 11);
    const auto model = makeModel(module, {x});
    const auto folded = foldedUnder(*model, analysis::Policy::All, flavour);
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

TEST_F(FusedOps, AScaledCenteringStaysOpaque) {
  const auto model = makeModel(withOps("  return normlens.center(p, self.norm.weight) * q\n"), {draw({3, 4, 6}, 1)});
  EXPECT_EQ(model->graph().node(nodeOf(model->graph(), "normlens::center")).kind, graph::OpKind::Opaque);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
