// TorchScriptModel::apply with plans made by hand, in float64, against the original: names, methods and other sizes;
// tied weights, two instances of a class, two calls of a method. Each edit by itself is tested in tests/formats/edit.
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/serialization/export.h>

#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

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

// x -> linear -> LayerNorm -> linear, and beta in the last bias.
std::vector<fold::Edit> foldWithoutBeta(const graph::Graph& graph) {
  auto edits = foldOfLinearNormLinear(graph);
  const auto linear = nodeOf(graph, "aten::linear", 1);
  const fold::AbsorbShift shift{
      0,
      nodeOf(graph, "aten::layer_norm"),
      2,
      {{constantNamed(graph, "w2"), {linear, 1, graph::kNone}, 1, constantNamed(graph, "b2")}}};
  edits.insert(edits.end() - 1, shift);
  return edits;
}

TEST(Apply, WorksForOtherSizesThanTheProbe) {
  const auto model = makeModel(linearNormLinear(), {draw({3, 4, 6}, 10)});
  const auto folded = applied(*model, foldOfLinearNormLinear(model->graph()));
  for (const auto& shape : {std::vector<int64_t>{6}, {7, 6}, {2, 1, 9, 6}}) {
    const auto x = draw(shape, 11);
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  }
}

TEST(Apply, SavesAndLoadsAgainWithNamesMethodsAndExtraFiles) {
  const TemporaryFolder folder;
  const auto x = draw({3, 6}, 10);
  const auto model = makeModel(linearNormLinear(), {x}, {{"notes.txt", "hello"}, {"empty", ""}});
  const auto folded = applied(*model, foldWithoutBeta(model->graph()));
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
  EXPECT_LT(relativeDifference(runOn(*model, {x}), saved(*folded).forward({x}).toTensor()), kExact);
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

TEST(Apply, TheFastNormIsRefusedWhereItsLibraryIsMissingOrUsed) {
  const auto x = draw({3, 6}, 10, at::kFloat);
  const auto model = makeModel(linearNormLinear(at::kFloat), {x});
  const auto norms = analysis::findNorms(model->graph());
  auto result =
      model->apply({Policy::Free, foldOfLinearNormLinear(model->graph())}, norms.layerNorms, NormFlavour::Fast, {});
  if (!result) {
    EXPECT_EQ(result.error().code, ErrorCode::Unsupported);
    EXPECT_FALSE(result.error().hint.empty());
    return;
  }
  const auto& folded = static_cast<const TorchScriptModel&>(**result);
  EXPECT_EQ(countOps(folded, "normlens::rms_norm"), 1);
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(folded, {x})), 1e-5);
}

// A stream from a table, a norm, and a head that is tied to the table.
torch::jit::Module tiedHead(bool separateName) {
  torch::jit::Module m("Tied");
  const auto table = draw({11, 8}, 20);
  m.register_parameter("wte", table, false);
  if (separateName) m.register_parameter("head", table, false);
  m.register_parameter("g", draw({8}, 21), false);
  m.define(std::string(R"(
    def forward(self, ids):
      h = torch.embedding(self.wte, ids)
      y = torch.layer_norm(h, [8], self.g, None, 1e-05, False)
      return torch.linear(y, self.)") +
           (separateName ? "head" : "wte") + ")\n");
  return m;
}

TEST(Apply, ATiedTableIsSplitAlongItsNamesOrIntoANewAttribute) {
  const auto ids = at::arange(11).view({1, 11});
  for (const bool separateName : {true, false}) {
    const auto model = makeModel(tiedHead(separateName), {ids});
    const auto& graph = model->graph();
    ASSERT_EQ(graph.constants.size(), 2U) << "tied weights are one constant";
    const auto uses = usesOf(graph, constantNamed(graph, "wte"));
    graph::Uses only;
    for (const auto& use : uses) {
      if (graph.node(use.node).op == "aten::embedding") only.push_back(use);
    }
    ASSERT_EQ(only.size(), 1U);
    const auto folded = applied(*model, {centerOver(graph, "wte", 1, only), fold::ReplaceNorm{0}});
    EXPECT_LT(relativeDifference(runOn(*model, {ids}), runOn(*folded, {ids})), kExact);
    const auto& module = folded->source().module;
    EXPECT_EQ(module.hasattr("wte_centered"), !separateName);
    // The head keeps the very memory it had.
    const auto original = model->source().module.attr("wte").toTensor();
    EXPECT_TRUE(module.attr(separateName ? "head" : "wte").toTensor().is_same(original));
  }
}

TEST(Apply, AnEditOfAllReadsReplacesEveryNameOfTheMemory) {
  const auto ids = at::arange(11).view({1, 11});
  const auto model = makeModel(tiedHead(true), {ids});
  const auto result = applied(*model, {centerOver(model->graph(), "wte", 1)});
  const auto& module = result->source().module;
  EXPECT_TRUE(sameTensor(module.attr("wte").toTensor(), module.attr("head").toTensor()));
  EXPECT_LT(module.attr("head").toTensor().sum(1).abs().max().item<double>(), 1e-12);
}

torch::jit::Module twoBlocksOfOneClass() {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module block("__torch__.blocks.Block", unit);
  block.register_parameter("w", draw({8, 8}, 30), false);
  block.register_parameter("g", draw({8}, 31), false);
  block.register_buffer("seen", draw({2}, 32));
  block.define(R"(
    def norm(self, x):
      return torch.layer_norm(x, [8], self.g, None, 1e-05, False)
    def forward(self, x):
      return self.norm(torch.matmul(x, self.w))
  )");
  torch::jit::Module other(unit, block.type());
  other.setattr("w", draw({8, 8}, 33));
  other.setattr("g", draw({8}, 34));
  other.setattr("seen", draw({2}, 35));
  torch::jit::Module net("__torch__.net.Net", unit);
  net.register_module("first", block);
  net.register_module("second", other);
  net.define(R"(
    def forward(self, x):
      return self.second.forward(torch.relu(self.first.forward(x)))
  )");
  return net;
}

TEST(Apply, OneOfTwoInstancesOfAClassGetsAClassOfItsOwn) {
  const auto x = draw({3, 8}, 40);
  const auto model = makeModel(twoBlocksOfOneClass(), {x}, {{"a", "b"}});
  const auto folded = applied(*model, {centerOver(model->graph(), "second.w", 1), fold::ReplaceNorm{1}});
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  EXPECT_EQ(countOps(*folded, "aten::layer_norm"), 1);
  EXPECT_EQ(countOps(*folded, "aten::rms_norm"), 1);

  const auto& before = model->source().module;
  const auto& after = folded->source().module;
  const auto classOf = [](const torch::jit::Module& m, const char* child) { return m.attr(child).toModule().type(); };
  EXPECT_EQ(classOf(after, "first"), classOf(before, "first")) << "the other instance keeps its class";
  EXPECT_NE(classOf(after, "second"), classOf(before, "second"));
  EXPECT_EQ(classOf(after, "second")->methods().size(), 2U);
  EXPECT_TRUE(after.attr("second").toModule().attr("seen").toTensor().is_same(
      before.attr("second").toModule().attr("seen").toTensor()));

  EXPECT_LT(relativeDifference(runOn(*model, {x}), saved(*folded).forward({x}).toTensor()), kExact);
}

// w, then a LayerNorm of torch's class; in front of it the file's own RMSNorm.
torch::jit::Module normsOfTorch(bool bias) {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const std::string package = "__torch__.torch.nn.modules.normalization.";
  torch::jit::Module own(package + "RMSNorm", unit), norm(package + "LayerNorm", unit), net("__torch__.Net", unit);
  own.define("def forward(self, x):\n  return torch.rms_norm(x, [8], None, 1e-05)\n");
  norm.register_parameter("weight", draw({8}, 50), false);
  if (bias) norm.register_parameter("bias", draw({8}, 51), false);
  norm.define(std::string("def forward(self, x):\n  return torch.layer_norm(x, [8], self.weight, ") +
              (bias ? "self.bias" : "None") + ", 1e-05, False)\n");
  net.register_parameter("w", draw({8, 8}, 52), false);
  net.register_module("own", own);
  net.register_module("norm", norm);
  net.define("def forward(self, x):\n  return self.norm.forward(torch.matmul(self.own.forward(x), self.w))\n");
  return net;
}

TEST(Apply, AClassIsCalledRmsNormWhereItsCodeIsThatOfTorchsRmsNorm) {
  const auto x = draw({3, 8}, 53);
  for (const auto& [bias, flavour, name] : {std::tuple{false, NormFlavour::Portable, "RMSNorm"},
                                            {true, NormFlavour::Portable, "FoldedRMSNorm"},
                                            {false, NormFlavour::Primitives, "FoldedRMSNorm"}}) {
    const auto model = makeModel(normsOfTorch(bias), {x});
    const auto folded = applied(*model, {centerOver(model->graph(), "w", 1), fold::ReplaceNorm{0}}, flavour);
    auto loaded = saved(*folded);
    EXPECT_LT(relativeDifference(runOn(*model, {x}), loaded.forward({x}).toTensor()), kExact);
    const auto classOf = [&](const char* child) { return *loaded.attr(child).toModule().type()->name(); };
    EXPECT_EQ(classOf("norm").name(), name);
    EXPECT_EQ(classOf("own").name(), "RMSNorm");
    EXPECT_NE(classOf("norm"), classOf("own"));
  }
}

// Returns the record's text; empty if there is none.
std::string recordOf(const std::filesystem::path& path, const std::string& name) {
  const auto archive = Archive::open(MappedFile::open(path).value()).value();
  const auto* record = archive->find(std::string(archive->prefix()) + name);
  return record == nullptr ? std::string() : archive->read(*record, 1 << 20).value();
}

TEST(Apply, RecordsOfWhatIsNotEditedAreTheFilesOwn) {
  const TemporaryFolder folder;
  const auto before = folder.path() / "before.pt", after = folder.path() / "after.pt";
  const auto x = draw({3, 8}, 40);
  // torch's own writer, with something in the archive that no reader asks for.
  {
    caffe2::serialize::PyTorchStreamWriter writer(before.string());
    torch::jit::ScriptModuleSerializer serializer(writer);
    serializer.serialize(twoBlocksOfOneClass(), {{"a", "b"}}, false, false);
    writer.writeRecord("traced_inputs/0", "1234", 4);
  }
  auto model = TorchScriptModel::open(before, {});
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_TRUE((*model)->probe({{"in_0", viewOf(x)}}, {}));
  const auto folded = applied(**model, {centerOver((*model)->graph(), "second.w", 1), fold::ReplaceNorm{1}});
  ASSERT_TRUE(folded->save(after, {}));
  for (const char* name : {"code/__torch__/blocks.py", "code/__torch__/blocks.py.debug_pkl", "traced_inputs/0",
                           "extra/a", "version", "byteorder"}) {
    EXPECT_FALSE(recordOf(before, name).empty()) << name;
    EXPECT_EQ(recordOf(before, name), recordOf(after, name)) << name;
  }
  EXPECT_NE(recordOf(before, "code/__torch__/net.py"), recordOf(after, "code/__torch__/net.py"));
  EXPECT_EQ(Archive::open(MappedFile::open(after).value()).value()->prefix(), "before/");
  auto loaded = torch::jit::load(after.string());
  EXPECT_LT(relativeDifference(runOn(**model, {x}), loaded.forward({x}).toTensor()), kExact);
  ASSERT_TRUE(TorchScriptModel::open(after, {})) << "every CRC is right";
}

TEST(Apply, BothInstancesShareTheEditedClassUnderItsOldName) {
  const auto x = draw({3, 8}, 40);
  const auto model = makeModel(twoBlocksOfOneClass(), {x});
  const auto folded =
      applied(*model, {centerOver(model->graph(), "first.w", 1), centerOver(model->graph(), "second.w", 1),
                       fold::ReplaceNorm{0}, fold::ReplaceNorm{1}});
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  const auto first = folded->source().module.attr("first").toModule().type();
  EXPECT_EQ(first, folded->source().module.attr("second").toModule().type());
  EXPECT_EQ(first->name()->qualifiedName(), "__torch__.blocks.Block");
}

// One norm module called twice, of which only the first call folds.
torch::jit::Module normCalledTwice() {
  torch::jit::Module norm("Norm");
  norm.register_parameter("g", draw({8}, 50), false);
  norm.register_parameter("b", draw({8}, 51), false);
  norm.define("def forward(self, x):\n  return torch.layer_norm(x, [8], self.g, self.b, 1e-05, False)\n");
  torch::jit::Module m("Net");
  m.register_parameter("w", draw({8, 8}, 52), false);
  m.register_module("norm", norm);
  m.define(R"(
    def forward(self, x):
      y = self.norm.forward(torch.linear(x, self.w))
      return self.norm.forward(torch.relu(y))
  )");
  return m;
}

TEST(Apply, AMethodWhoseCallsWantDifferentEditsGetsASibling) {
  const auto x = draw({3, 8}, 53);
  const auto model = makeModel(normCalledTwice(), {x});
  const auto folded = applied(*model, {centerOver(model->graph(), "w", 0), fold::ReplaceNorm{0}});
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  EXPECT_EQ(countOps(*folded, "aten::layer_norm"), 1);
  EXPECT_EQ(countOps(*folded, "aten::rms_norm"), 1);
  EXPECT_LT(relativeDifference(runOn(*model, {x}), saved(*folded).forward({x}).toTensor()), kExact);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
