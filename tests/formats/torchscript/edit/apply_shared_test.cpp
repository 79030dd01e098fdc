// TorchScriptModel::apply to what is there more than once: tied weights, two instances of a class, two calls of a
// method.
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/export.h>

#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

constexpr double kExact = 1e-12;

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
  const TemporaryFolder folder;
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

  ASSERT_TRUE(folded->save(folder.path() / "after.pt", {}));
  auto loaded = torch::jit::load((folder.path() / "after.pt").string());
  EXPECT_LT(relativeDifference(runOn(*model, {x}), loaded.forward({x}).toTensor()), kExact);
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
    const TemporaryFolder folder;
    const auto model = makeModel(normsOfTorch(bias), {x});
    const auto folded = applied(*model, {centerOver(model->graph(), "w", 1), fold::ReplaceNorm{0}}, flavour);
    ASSERT_TRUE(folded->save(folder.path() / "after.pt", {}));
    auto loaded = torch::jit::load((folder.path() / "after.pt").string());
    EXPECT_LT(relativeDifference(runOn(*model, {x}), loaded.forward({x}).toTensor()), kExact);
    const auto classOf = [&](const char* child) { return *loaded.attr(child).toModule().type()->name(); };
    EXPECT_EQ(classOf("norm").name(), name);
    EXPECT_EQ(classOf("own").name(), "RMSNorm");
    EXPECT_NE(classOf("norm"), classOf("own"));
  }
}

// What a record holds; empty if there is none.
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
  const TemporaryFolder folder;
  const auto x = draw({3, 8}, 53);
  const auto model = makeModel(normCalledTwice(), {x});
  const auto folded = applied(*model, {centerOver(model->graph(), "w", 0), fold::ReplaceNorm{0}});
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  EXPECT_EQ(countOps(*folded, "aten::layer_norm"), 1);
  EXPECT_EQ(countOps(*folded, "aten::rms_norm"), 1);
  ASSERT_TRUE(folded->save(folder.path() / "m.pt", {}));
  auto loaded = torch::jit::load((folder.path() / "m.pt").string());
  EXPECT_LT(relativeDifference(runOn(*model, {x}), loaded.forward({x}).toTensor()), kExact);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
