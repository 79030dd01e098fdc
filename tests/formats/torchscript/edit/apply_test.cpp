// TorchScriptModel::apply with plans made by hand: each edit by itself, in float64, against the original.
#include <torch/csrc/jit/passes/freeze_module.h>

#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

constexpr double kExact = 1e-12;

// x -> linear -> LayerNorm -> linear, weights under the names w1 b1 g b w2 b2.
torch::jit::Module linearNormLinear(at::ScalarType type = at::kDouble) {
  torch::jit::Module m("Net");
  m.register_parameter("w1", draw({8, 6}, 1, type), false);
  m.register_parameter("b1", draw({8}, 2, type), false);
  m.register_parameter("g", draw({8}, 3, type), false);
  m.register_parameter("b", draw({8}, 4, type), false);
  m.register_parameter("w2", draw({5, 8}, 5, type), false);
  m.register_parameter("b2", draw({5}, 6, type), false);
  m.define(R"(
    def forward(self, x):
      h = torch.linear(x, self.w1, self.b1)
      y = torch.layer_norm(h, [8], self.g, self.b, 1e-05, False)
      return torch.linear(y, self.w2, self.b2)
  )");
  return m;
}

std::vector<fold::Edit> foldOfLinearNormLinear(const graph::Graph& graph) {
  return {centerOver(graph, "w1", 0), centerOver(graph, "b1", 0), fold::ReplaceNorm{0}};
}

TEST(Apply, FoldsALinearIntoItsNormWithEachFlavour) {
  const auto x = draw({3, 4, 6}, 10);
  const auto model = makeModel(linearNormLinear(), {x});
  for (const auto flavour : {NormFlavour::Portable, NormFlavour::Primitives}) {
    const auto folded = applied(*model, foldOfLinearNormLinear(model->graph()), flavour);
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
    EXPECT_EQ(countOps(*folded, "aten::layer_norm"), 0);
    EXPECT_EQ(countOps(*folded, "aten::rms_norm"), flavour == NormFlavour::Portable ? 1 : 0);
  }
  EXPECT_EQ(countOps(*model, "aten::layer_norm"), 1) << "the original stays as it is";
}

TEST(Apply, WorksForOtherSizesThanTheProbe) {
  const auto model = makeModel(linearNormLinear(), {draw({3, 4, 6}, 10)});
  const auto folded = applied(*model, foldOfLinearNormLinear(model->graph()));
  for (const auto& shape : {std::vector<int64_t>{6}, {7, 6}, {2, 1, 9, 6}}) {
    const auto x = draw(shape, 11);
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  }
}

TEST(Apply, HalfTypesAreNormalisedInFloat32ByThePrimitives) {
  // Squares of 300 overflow float16: only a float32 mean of squares survives.
  auto module = linearNormLinear(at::kHalf);
  const auto x = draw({4, 6}, 12, at::kHalf) * 100;
  const auto model = makeModel(module, {x});
  const auto folded = applied(*model, foldOfLinearNormLinear(model->graph()), NormFlavour::Primitives);
  const auto a = runOn(*model, {x}), b = runOn(*folded, {x});
  EXPECT_EQ(b.scalar_type(), at::kHalf);
  EXPECT_LT(relativeDifference(a, b), 1e-2);
}

TEST(Apply, SavesAndLoadsAgainWithNamesMethodsAndExtraFiles) {
  const TemporaryFolder folder;
  const auto x = draw({3, 6}, 10);
  const auto model = makeModel(linearNormLinear(), {x}, {{"notes.txt", "hello"}, {"empty", ""}});
  const auto folded = applied(*model, foldOfLinearNormLinear(model->graph()));
  const auto path = folder.path() / "folded.pt";
  ASSERT_TRUE(folded->save(path, {}));

  torch::jit::ExtraFilesMap extra = {{"notes.txt", ""}, {"empty", "x"}};
  auto loaded = torch::jit::load(path.string(), std::nullopt, extra);
  EXPECT_EQ(extra["notes.txt"], "hello");
  EXPECT_EQ(extra["empty"], "");
  std::vector<std::string> names;
  for (const auto& parameter : loaded.named_parameters()) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"w1", "b1", "g", "b", "w2", "b2"}));
  EXPECT_LT(relativeDifference(runOn(*model, {x}), loaded.forward({x}).toTensor()), kExact);
  auto opened = TorchScriptModel::open(path, {});  // checks every CRC
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(at::equal(runOn(*folded, {x}), runOn(**opened, {x})));
}

TEST(Apply, OtherMethodsKeepTheirMeaning) {
  auto module = linearNormLinear();
  module.define(
      "def embed(self, x):\n  return torch.linear(x, self.w1, self.b1)\n"
      "def whole(self, x):\n  return self.forward(x)\n");
  const auto x = draw({3, 6}, 60);
  const auto model = makeModel(module, {x});
  const auto folded = applied(*model, foldOfLinearNormLinear(model->graph()));
  auto before = model->source().module, after = folded->source().module;
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  for (const char* method : {"embed", "whole"}) {
    EXPECT_LT(relativeDifference(before.get_method(method)({x}).toTensor(), after.get_method(method)({x}).toTensor()),
              kExact)
        << method;
  }
  EXPECT_TRUE(after.attr("w1").toTensor().is_same(before.attr("w1").toTensor()));
}

TEST(Apply, FrozenModulesChangeTheirGraphConstants) {
  const TemporaryFolder folder;
  const auto x = draw({3, 6}, 61);
  auto module = linearNormLinear();
  module.eval();
  const auto frozen = torch::jit::freeze_module(module);
  const auto model = makeModel(frozen, {x});
  const auto& graph = model->graph();
  const auto& linear = graph.node(nodeOf(graph, "aten::linear"));
  const auto nameOf = [&](int operand) {
    return graph.constant(graph.value(linear.operands[static_cast<size_t>(operand)]).constant).name;
  };
  const auto folded =
      applied(*model, {centerOver(graph, nameOf(1), 0), centerOver(graph, nameOf(2), 0), fold::ReplaceNorm{0}});
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  ASSERT_TRUE(folded->save(folder.path() / "m.pt", {}));
  auto loaded = torch::jit::load((folder.path() / "m.pt").string());
  EXPECT_LT(relativeDifference(runOn(*model, {x}), loaded.forward({x}).toTensor()), kExact);
}

// A stream that starts at the input: only a centering at run time helps. Two norms and a plain reader.
torch::jit::Module streamFromInput() {
  torch::jit::Module m("Stream");
  m.register_parameter("g", draw({8}, 70), false);
  m.register_parameter("w", draw({8, 8}, 71), false);
  m.define(R"(
    def forward(self, x):
      y = torch.layer_norm(x, [8], self.g, None, 1e-05, False)
      z = torch.layer_norm(x, [8], None, self.g, 1e-05, False)
      return torch.linear(y + z, self.w) * x
  )");
  return m;
}

TEST(Apply, OneCenteringAtRunTimeServesSeveralNorms) {
  const auto x = draw({2, 3, 8}, 72);
  const auto model = makeModel(streamFromInput(), {x});
  const auto& graph = model->graph();
  const int64_t axes[] = {2};
  fold::InsertCentering centering{graph.inputs()[0], ops::Pattern::overAxes({2, 3, 8}, axes), {}};
  for (int k = 0; k < 2; ++k) centering.uses.push_back({nodeOf(graph, "aten::layer_norm", k), 0, graph::kNone});
  const auto folded = applied(*model, {centering, fold::ReplaceNorm{0}, fold::ReplaceNorm{1}});
  EXPECT_EQ(countOps(*folded, "aten::mean"), 1);
  for (const auto& shape : {std::vector<int64_t>{2, 3, 8}, {5, 8}, {1, 7, 2, 8}}) {
    const auto other = draw(shape, 73);
    EXPECT_LT(relativeDifference(runOn(*model, {other}), runOn(*folded, {other})), kExact);
  }
}

// Norms per head: [B, T, 12] seen as heads of 4, and a norm over columns 4..8 only.
TEST(Apply, CentersFactorsAndRegionsOfAnAxis) {
  torch::jit::Module m("Heads");
  m.register_parameter("scale", draw({12}, 79), false);  // tells that the model is a float64 one
  m.define(R"(
    def forward(self, x):
      heads = torch.layer_norm(x.view([x.size(0), x.size(1), 3, 4]), [4], None, None, 1e-05, False)
      part = torch.layer_norm(torch.slice(x, 2, 4, 8, 1), [4], None, None, 1e-05, False)
      return torch.flatten(heads, 2, 3) * self.scale + torch.cat([part, part, part], 2)
  )");
  const auto x = draw({2, 5, 12}, 80);
  const auto model = makeModel(m, {x});
  const auto& graph = model->graph();
  const auto view = nodeOf(graph, "aten::view");
  const auto slice = nodeOf(graph, "aten::slice");
  fold::InsertCentering perHead{
      graph.inputs()[0], ops::Pattern::fromFactors({{30, 0, 30, false}, {4, 0, 4, true}}), {{view, 0, graph::kNone}}};
  fold::InsertCentering region{
      graph.inputs()[0], ops::Pattern::fromFactors({{10, 0, 10, false}, {12, 4, 8, true}}), {{slice, 0, graph::kNone}}};
  const auto folded = applied(*model, {perHead, region, fold::ReplaceNorm{0}, fold::ReplaceNorm{1}});
  EXPECT_EQ(countOps(*folded, "aten::layer_norm"), 0);
  for (const auto& shape : {std::vector<int64_t>{2, 5, 12}, {3, 7, 12}}) {
    const auto other = draw(shape, 81);
    EXPECT_LT(relativeDifference(runOn(*model, {other}), runOn(*folded, {other})), kExact);
  }
}

TEST(Apply, ACenteringThatWouldFixTwoFreeSizesIsRefused) {
  torch::jit::Module m("Free");
  m.define("def forward(self, x):\n  return torch.layer_norm(x, [12], None, None, 1e-05, False)\n");
  const auto x = draw({5, 12}, 82);
  const auto model = makeModel(m, {x});
  const auto norm = nodeOf(model->graph(), "aten::layer_norm");
  fold::InsertCentering centering{
      model->graph().inputs()[0],
      ops::Pattern::fromFactors({{5, 0, 5, false}, {2, 0, 2, false}, {3, 0, 3, true}, {2, 0, 2, false}}),
      {{norm, 0, graph::kNone}}};
  EXPECT_EQ(refusal(*model, {centering}).code, ErrorCode::Refused);
}

TEST(Apply, AbsorbsALayerScale) {
  torch::jit::Module m("Scaled");
  m.register_parameter("w", draw({8, 6}, 100), false);
  m.register_parameter("b", draw({8}, 101), false);
  m.register_parameter("gamma", draw({8}, 102), false);
  m.define("def forward(self, x):\n  return torch.mul(torch.linear(x, self.w, self.b), self.gamma)\n");
  const auto x = draw({3, 6}, 103);
  const auto model = makeModel(m, {x});
  const auto& graph = model->graph();
  const auto gamma = *graph::toDoubles(graph.constant(constantNamed(graph, "gamma")).view);
  fold::AbsorbScale scale{nodeOf(graph, "aten::mul"),
                          0,
                          false,
                          {{constantNamed(graph, "w"), gamma, {}, 0}, {constantNamed(graph, "b"), gamma, {}, 0}}};
  const auto folded = applied(*model, {scale});
  EXPECT_EQ(countOps(*folded, "aten::mul"), 0);
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  EXPECT_TRUE(folded->source().module.hasattr("gamma")) << "the parameter keeps its name in the file";
}

// x -> linear -> LayerNorm -> linear, and beta in the last bias.
std::vector<fold::Edit> foldWithoutBeta(const graph::Graph& graph, const std::string& w2 = "w2",
                                        const std::string& b2 = "b2") {
  auto edits = foldOfLinearNormLinear(graph);
  const auto linear = nodeOf(graph, "aten::linear", 1);
  const fold::AbsorbShift shift{0,
                                nodeOf(graph, "aten::layer_norm"),
                                2,
                                {{constantNamed(graph, w2), {linear, 1, graph::kNone}, 1, constantNamed(graph, b2)}}};
  edits.insert(edits.end() - 1, shift);
  return edits;
}

TEST(Apply, MovesBetaIntoTheNextBias) {
  const TemporaryFolder folder;
  const auto x = draw({3, 4, 6}, 110);
  const auto model = makeModel(linearNormLinear(), {x});
  for (const auto flavour : {NormFlavour::Portable, NormFlavour::Primitives, NormFlavour::Fast}) {
    if (flavour == NormFlavour::Fast && countOps(*model, "normlens::rms_norm") == 0) {
      const auto norms = analysis::findNorms(model->graph());
      if (!model->apply({"free", foldWithoutBeta(model->graph())}, norms.layerNorms, flavour, {})) continue;
    }
    const auto folded = applied(*model, foldWithoutBeta(model->graph()), flavour);
    const double limit = flavour == NormFlavour::Fast ? 1e-6 : kExact;
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), limit);
    EXPECT_EQ(countOps(*folded, "aten::add"), flavour == NormFlavour::Primitives ? 1 : 0) << "of eps alone";
    ASSERT_TRUE(folded->save(folder.path() / "m.pt", {}));
    auto loaded = torch::jit::load((folder.path() / "m.pt").string());
    EXPECT_TRUE(loaded.hasattr("b")) << "the parameter keeps its name in the file";
    EXPECT_LT(relativeDifference(runOn(*model, {x}), loaded.forward({x}).toTensor()), limit);
  }
}

TEST(Apply, ABetaOfZerosIsLeftOutAndTheBiasLeftAlone) {
  auto module = linearNormLinear();
  module.setattr("b", at::zeros({8}, at::kDouble));
  const auto x = draw({3, 6}, 111);
  const auto model = makeModel(module, {x});
  const auto folded = applied(*model, foldWithoutBeta(model->graph()));
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  EXPECT_TRUE(folded->source().module.attr("b2").toTensor().is_same(model->source().module.attr("b2").toTensor()));
}

TEST(Apply, MovingABetaKeepsOtherMethodsAsTheyAre) {
  auto module = linearNormLinear();
  module.define("def tail(self, y):\n  return torch.linear(y, self.w2, self.b2)\n");
  const auto x = draw({3, 6}, 112), y = draw({3, 8}, 113);
  const auto model = makeModel(module, {x});
  const auto folded = applied(*model, foldWithoutBeta(model->graph()));
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  auto before = model->source().module, after = folded->source().module;
  EXPECT_TRUE(at::equal(before.get_method("tail")({y}).toTensor(), after.get_method("tail")({y}).toTensor()));
}

TEST(Apply, ABetaMovesOnlyTogetherWithItsNorm) {
  const auto x = draw({3, 6}, 114);
  const auto model = makeModel(linearNormLinear(), {x});
  auto edits = foldWithoutBeta(model->graph());
  edits.pop_back();
  EXPECT_EQ(refusal(*model, edits).code, ErrorCode::Refused);
}

TEST(Apply, TheFastNormIsRefusedWhereItsLibraryIsMissingOrUsed) {
  const auto x = draw({3, 6}, 10, at::kFloat);
  const auto model = makeModel(linearNormLinear(at::kFloat), {x});
  const auto norms = analysis::findNorms(model->graph());
  auto result = model->apply({"free", foldOfLinearNormLinear(model->graph())}, norms.layerNorms, NormFlavour::Fast, {});
  if (!result) {
    EXPECT_EQ(result.error().code, ErrorCode::Unsupported);
    EXPECT_FALSE(result.error().hint.empty());
    return;
  }
  const auto& folded = static_cast<const TorchScriptModel&>(**result);
  EXPECT_EQ(countOps(folded, "normlens::rms_norm"), 1);
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(folded, {x})), 1e-5);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
