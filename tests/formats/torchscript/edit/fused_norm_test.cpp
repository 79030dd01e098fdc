// What --norm fast makes of a residual add and the norm behind it: one op where nothing could notice, two elsewhere.
#include "core/formats/torchscript/program/fast_norm.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

constexpr double kExact = 1e-12;

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

TEST_F(FusedNorms, ASumThatIsWrittenToLaterIsStillASum) {
  EXPECT_EQ(fusedIn(std::string("  s = p + q\n") + kNorm + "  t = s.mul_(2.0)\n  return torch.softmax(t, -1) + y\n"),
            1);
}

TEST_F(FusedNorms, AnOperandThatIsWrittenToInBetweenKeepsThemApart) {
  EXPECT_EQ(
      fusedIn(std::string("  s = p + q\n  r = torch.sin(x)\n  z = r.mul_(2.0)\n") + kNorm + "  return y + z.sum()\n"),
      0);
}

TEST_F(FusedNorms, AReaderBeforeTheNormReadsTheSumOfTheOp) {
  EXPECT_EQ(fusedIn(std::string("  s = p + q\n  t = torch.softmax(s, -1)\n") + kNorm + "  return t + y\n"), 1);
}

TEST_F(FusedNorms, AScaledAddIsNotThePlainOne) {
  EXPECT_EQ(fusedIn(std::string("  s = torch.add(p, q, alpha=2)\n") + kNorm + "  return y\n"), 0);
}

TEST_F(FusedNorms, AnAddInPlaceIsNotThePlainOne) {
  EXPECT_EQ(fusedIn(std::string("  s = p.add_(q)\n") + kNorm + "  return y\n"), 0);
}

TEST_F(FusedNorms, AnAddOfANumberIsNotOfTwoTensors) {
  const auto module = twoBranches(std::string("  s = (p + q).neg()\n") + kNorm + "  return y\n");
  EXPECT_EQ(fusedIn(module, draw({3, 6}, 12), draw({2, 6}, 13)), 0) << "something stands between add and norm";
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
  const TemporaryFolder folder;
  const auto x = draw({3, 4, 6}, 22);
  const auto model =
      makeModel(withSubmodule("  s = p + q\n  y = self.norm.forward(s)\n  return torch.softmax(s, -1) * y\n"), {x});
  const auto folded = applied(*model, foldOf(model->graph()), NormFlavour::Fast);
  ASSERT_EQ(countOps(*folded, "normlens::add_rms_norm"), 1);
  ASSERT_TRUE(folded->save(folder.path() / "m.pt", {}));
  auto loaded = torch::jit::load((folder.path() / "m.pt").string());
  EXPECT_LT(relativeDifference(runOn(*model, {x}), loaded.forward({x}).toTensor()), kExact);
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
    auto result = model.fuseNorms(analysis::findNorms(model.graph()), {});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? std::move(*result) : FusedModel{};
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

TEST_F(Fusing, AnRmsNormTakesItsAddInToo) {
  const auto x = draw({3, 4, 6}, 32);
  const auto model =
      makeModel(twoBranches("  s = p + q\n  y = torch.rms_norm(s, [8], self.g, 1e-05)\n  return s * y\n"), {x});
  const auto fused = fuse(*model);
  ASSERT_EQ(fused.fused.size(), 1U);
  EXPECT_EQ(countOps(static_cast<const TorchScriptModel&>(*fused.model), "normlens::add_rms_norm"), 1);
  expectSameOutputs(*model, *fused.model, x);
}

TEST_F(Fusing, AnRmsNormWhoseEpsDependsOnTheTypeIsLeftAlone) {
  const auto x = draw({3, 6}, 33);
  const auto model = makeModel(twoBranches("  s = p + q\n  y = torch.rms_norm(s, [8], self.g)\n  return s * y\n"), {x});
  EXPECT_TRUE(fuse(*model).fused.empty());
}

TEST_F(Fusing, OfTwoNormsOfOneSumTheFirstTakesTheAddIn) {
  const auto x = draw({3, 6}, 34);
  const auto model =
      makeModel(twoBranches("  s = p + q\n" + std::string(kNorm) +
                            "  z = torch.layer_norm(s, [8], self.b, self.g, 1e-05, False)\n  return z * y\n"),
                {x});
  const auto fused = fuse(*model);
  EXPECT_EQ(fused.fused.size(), 1U);
  expectSameOutputs(*model, *fused.model, x);
}

TEST_F(Fusing, ANormOverTwoAxesIsLeftAlone) {
  const auto x = draw({3, 8, 6}, 35);
  const auto model = makeModel(
      twoBranches("  s = p + q\n  y = torch.layer_norm(s, [8, 8], None, None, 1e-05, False)\n  return y\n"), {x});
  EXPECT_TRUE(fuse(*model).fused.empty());
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
