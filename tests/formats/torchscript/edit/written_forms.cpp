#include "tests/formats/torchscript/edit/written_forms.h"

#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {

torch::jit::Module network(const std::string& code) {
  torch::jit::Module m("Net");
  const auto hold = [&](const char* name, at::IntArrayRef shape, uint64_t seed) {
    m.register_parameter(name, draw(shape, seed), false);
  };
  hold("w", {8, 6}, 1);
  hold("b", {8}, 2);
  hold("v", {8, 6}, 3);
  hold("c", {8}, 4);
  hold("gamma", {8}, 5);
  hold("beta", {8}, 6);
  hold("o", {5, 8}, 7);
  hold("p", {5}, 8);
  hold("s", {8}, 9);
  hold("matrix", {6, 8}, 10);
  hold("row", {8}, 11);
  hold("position", {1, 1, 8}, 12);
  hold("qkv", {24, 8}, 13);
  hold("qkvBias", {24}, 14);
  hold("deep", {32, 6}, 18);
  hold("row32", {32}, 19);
  hold("proj", {8, 8}, 15);
  hold("projBias", {8}, 16);
  m.register_parameter("variance", draw({8}, 17).abs() + 0.5, false);
  m.define("def addInto(self, u, k):\n  u.add_(k)\n");
  m.define("def norm(self, h):\n  return torch.layer_norm(h, [8], self.gamma, self.beta, 1e-05, False)\n");
  m.define("def forward(self, x):\n  h = torch.linear(x, self.w, self.b)\n  k = torch.linear(x, self.v, self.c)\n" +
           code + "  return torch.linear(y, self.o, self.p)\n");
  return m;
}

std::vector<fold::Edit> editsOf(const analysis::Plan& plan) {
  std::vector<fold::Edit> edits;
  for (const auto& planned : plan.edits) edits.push_back(planned.edit);
  return edits;
}

namespace {

std::string outcome(const TorchScriptModel& model, size_t norms) {
  const auto analysis = analysis::analyze(model.graph(), {});
  if (!analysis) return analysis.error().message;
  if ((*analysis)->verdicts.size() != norms) return "another number of norms";
  for (const auto& verdict : (*analysis)->verdicts) {
    if (verdict.verdict != analysis::Verdict::Free) return verdict.reason;
  }
  return "free";
}

}  // namespace

TEST_P(FreeFormTest, FoldsExactlyAtEverySize) {
  const auto x = draw({2, 3, 6}, 10), other = draw({3, 7, 6}, 11);
  const auto model = makeModel(network(GetParam().code), {x});
  ASSERT_TRUE(graph::checkGraph(model->graph()));
  ASSERT_EQ(outcome(*model, static_cast<size_t>(GetParam().norms)), "free");
  const auto analysis = analysis::analyze(model->graph(), {});
  const auto plan = analysis::makePlan(**analysis, {analysis::Policy::Free, 1000, {}, {}});
  const auto edits = editsOf(plan);
  const auto folded = applied(*model, edits);
  EXPECT_EQ(outcome(*folded, 0), "free") << "no norm is left";
  const auto foldedTwin = applied(*asTorchScript(model->toFloat64()), edits);
  for (const auto& input : {x, other}) {
    const auto y = runOn(*model, {input});
    EXPECT_LT(relativeDifference(y, runOn(*folded, {input})), kExact);
    EXPECT_LT(relativeDifference(y, runOn(*foldedTwin, {input})), kExact) << "a proof folds a twin without types";
  }
}

TEST_P(CenteredFormTest, FoldsExactlyAtEverySize) {
  const auto x = draw({2, 3, 6}, 10), other = draw({3, 7, 6}, 11);
  const auto model = makeModel(network(GetParam().code), {x});
  const auto analysis = analysis::analyze(model->graph(), {});
  ASSERT_TRUE(analysis);
  const auto plan = analysis::makePlan(**analysis, {analysis::Policy::All, 1000, {}, {}});
  ASSERT_EQ(plan.folded.size(), static_cast<size_t>(GetParam().norms));
  const auto folded = applied(*model, editsOf(plan));
  for (const auto& input : {x, other}) {
    EXPECT_LT(relativeDifference(runOn(*model, {input}), runOn(*folded, {input})), kExact);
  }
}

TEST_P(BlockedFormTest, IsNotFree) {
  const auto model = makeModel(network(GetParam().code), {draw({2, 3, 6}, 10)});
  ASSERT_TRUE(graph::checkGraph(model->graph()));
  EXPECT_NE(outcome(*model, static_cast<size_t>(GetParam().norms)), "free");
}

TEST_P(NoNormTest, IsNoLayerNorm) {
  const auto model = makeModel(network(GetParam().code), {draw({2, 3, 6}, 10)});
  EXPECT_TRUE(analysis::findNorms(model->graph()).layerNorms.empty());
}

}  // namespace normlens::formats::torchscript::test
