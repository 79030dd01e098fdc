// A residual add and the norm behind it in modules of their own: one op, where the add stood.
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>

#include "tests/formats/torchscript/edit/fused_across.h"

namespace normlens::formats::torchscript::test {
namespace {

TEST_F(FusingAcross, TheSumOfOneBlockAndTheNormOfTheNext) {
  EXPECT_EQ(fuse(plainNet()).norms, (Names{"b.norm", "end"}));
}

TEST_F(FusingAcross, WhoeverCallsASubmoduleGetsWhatHeGotBefore) {
  const auto fused = fuse(plainNet());
  const auto& before = fused.before->source().module;
  const auto& after = fused.after->source().module;
  const auto x = draw({5, kWidth}, 3);
  for (const char* name : {"a", "b", "end"}) {
    auto original = before.attr(name).toModule(), copy = after.attr(name).toModule();
    EXPECT_LT(relativeDifference(original.forward({x}).toTensor(), copy.forward({x}).toTensor()), kExact) << name;
    EXPECT_EQ(original.get_method("forward").function().getSchema().arguments().size(),
              copy.get_method("forward").function().getSchema().arguments().size());
  }
  Names keys, copied;
  for (const auto& parameter : before.named_parameters()) keys.push_back(parameter.name);
  for (const auto& parameter : after.named_parameters()) copied.push_back(parameter.name);
  EXPECT_EQ(keys, copied);
}

TEST_F(FusingAcross, AnotherMethodOfTheModelGoesOnWithTheOriginalBlocks) {
  auto module = plainNet();
  module.define("def features(self, x):\n  return self.b.forward(self.a.forward(x))\n");
  const auto fused = fuse(module);
  EXPECT_EQ(fused.norms, (Names{"b.norm", "end"}));
  const auto model = fused.before->fuseNorms(analysis::findNorms(fused.before->graph()), {});
  ASSERT_TRUE(model);
  auto copy = static_cast<const TorchScriptModel&>(*model->model).source().module;
  const auto x = draw({5, kWidth}, 3);
  EXPECT_LT(
      relativeDifference(module.get_method("features")({x}).toTensor(), copy.get_method("features")({x}).toTensor()),
      kExact);
}

TEST_F(FusingAcross, AnAddInASubmoduleOfItsOwn) {
  auto output = newModule("Output");
  output.register_module("dense", linear(40));
  output.define("def forward(self, h, x):\n  return self.dense.forward(h) + x\n");
  auto block = newModule("Block");
  block.register_module("norm", norm(10));
  block.register_module("output", output);
  block.define("def forward(self, x):\n  return self.output.forward(self.norm.forward(x), x)\n");
  EXPECT_EQ(fuse(netOf(block, blockOf(20, kPlainBlock), kInARow)).norms, (Names{"b.norm", "end"}));
}

TEST_F(FusingAcross, ASumInATupleBesideOtherResults) {
  const auto a = blockOf(10,
                         "def forward(self, x):\n  h = self.norm.forward(x)\n"
                         "  return (h, (x + self.branch.forward(h), x))\n");
  EXPECT_EQ(fuse(netOf(a, blockOf(20, kPlainBlock),
                       "def forward(self, x):\n  h, rest = self.a.forward(x)\n  s, y = rest\n"
                       "  return self.end.forward(self.b.forward(s)) + h * y\n"))
                .norms,
            (Names{"b.norm", "end"}));
}

TEST_F(FusingAcross, TheCallerReadsTheSumBeforeAndAfterTheNorm) {
  EXPECT_EQ(fuse(netOf(blockOf(10, kPlainBlock), blockOf(20, kPlainBlock),
                       "def forward(self, x):\n  s = self.a.forward(x)\n  t = torch.tanh(s)\n"
                       "  return self.end.forward(self.b.forward(s)) + t * s\n"))
                .norms,
            (Names{"b.norm", "end"}));
}

TEST_F(FusingAcross, TheRowsMayBeSeenInOtherLeadingSizes) {
  const char* const flat =
      "def forward(self, x):\n  r = x.reshape([-1, x.size(-1)])\n"
      "  s = r + self.branch.forward(self.norm.forward(r))\n  return s.view([x.size(0), x.size(1), x.size(2)])\n";
  const auto fused = fuse(netOf(blockOf(10, flat), blockOf(20, flat), kInARow));
  EXPECT_EQ(fused.norms, (Names{"b.norm", "end"}));
}

TEST_F(FusingAcross, ABlockThatIsCalledTwiceGetsABodyForEachCall) {
  const auto net = netOf(blockOf(10, kPlainBlock), blockOf(20, kPlainBlock),
                         "def forward(self, x):\n  s = self.a.forward(self.a.forward(x))\n"
                         "  return self.end.forward(self.a.forward(self.b.forward(s)))\n");
  EXPECT_EQ(fuse(net).norms.size(), 4U) << "all but the first";
}

TEST_F(FusingAcross, TwoCallsOfOneBlockWhoseNormsDifferByEpsAlone) {
  auto scaled = newModule("Norm");
  scaled.register_parameter("weight", draw({kWidth}, 5), false);
  scaled.register_parameter("bias", draw({kWidth}, 6), false);
  scaled.define(
      "def forward(self, x, eps: float):\n  return torch.layer_norm(x, [8], self.weight, self.bias, eps, False)\n");
  auto net = newModule("Net");
  net.register_module("a", blockOf(10, kPlainBlock));
  net.register_module("n", scaled);
  net.define(
      "def forward(self, x):\n  u = self.n.forward(self.a.forward(x), 1e-12)\n"
      "  return self.n.forward(self.a.forward(u), 1e-07)\n");
  EXPECT_EQ(fuse(net).norms.size(), 2U);
}

// As torch.nn.LayerNorm is when it is scripted: the op stands in a free function.
TEST_F(FusingAcross, ANormInAFunction) {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  auto module = plainNet();
  auto layer = norm(50);
  unit->define(c10::QualifiedName("__torch__"),
               "def normed(x, w, b):\n  return torch.layer_norm(x, [8], w, b, 1e-05, False)\n",
               torch::jit::nativeResolver(), nullptr);
  auto* function = &unit->get_function(c10::QualifiedName("__torch__.normed"));
  auto graph = torch::jit::toGraphFunction(layer.get_method("forward").function()).graph();
  auto* op = *std::find_if(graph->nodes().begin(), graph->nodes().end(),
                           [](const auto* node) { return node->kind() == c10::aten::layer_norm; });
  const torch::jit::WithInsertPoint here(op);
  auto* callee = graph->create(c10::prim::Constant);
  callee->s_(c10::attr::name, "normed");
  callee->output()->setType(c10::FunctionType::create(function));
  graph->insertNode(callee);
  auto* call = graph->create(c10::prim::CallFunction, {callee->output(), op->input(0), op->input(2), op->input(3)});
  call->output()->setType(c10::TensorType::get());
  graph->insertNode(call);
  op->output()->replaceAllUsesWith(call->output());
  op->destroy();
  module.register_module("last", layer);
  module.define("def both(self, x):\n  s = self.b.forward(self.a.forward(x))\n  return self.last.forward(s)\n");
  auto outer = newModule("Outer");
  outer.register_module("net", module);
  outer.define("def forward(self, x):\n  return self.net.both(x)\n");
  EXPECT_EQ(fuse(outer).norms, (Names{"net.b.norm", "net.last"}));
}

// --norm fast: folded and fused at once.
TEST_F(FusingAcross, FoldedNormsTakeTheirAddsInAndBlocksCanStillBeCalled) {
  auto net = plainNet();
  net.register_module("first", linear(60));
  net.define("def run(self, x):\n  return self.forward(self.first.forward(x))\n");
  auto outer = newModule("Outer");
  outer.register_module("net", net);
  outer.define("def forward(self, x):\n  return self.net.run(x)\n");
  const auto x = draw({2, 3, kWidth}, 1);
  const auto model = makeModel(outer, {x});
  std::vector<fold::Edit> edits;
  for (const char* name : {"first", "a.branch", "b.branch"}) {
    for (const char* tensor : {".weight", ".bias"}) {
      edits.emplace_back(centerOver(model->graph(), std::string("net.") + name + tensor, 0));
    }
  }
  for (int i = 0; i < 3; ++i) edits.emplace_back(fold::ReplaceNorm{i});
  const auto fast = applied(*model, edits, NormFlavour::Fast), portable = applied(*model, edits);
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*fast, {x})), kExact);
  EXPECT_EQ(countOps(*fast, "normlens::add_rms_norm"), 2);
  EXPECT_EQ(countOps(*fast, "normlens::rms_norm"), 1);
  EXPECT_EQ(countOps(*fast, "aten::layer_norm"), 0);
  for (const char* name : {"a", "b"}) {
    const auto block = [&](const ModelPtr& folded) {
      auto module = folded->source().module.attr("net").toModule().attr(name).toModule();
      return module.forward({x}).toTensor();
    };
    EXPECT_LT(relativeDifference(block(portable), block(fast)), kExact) << name << ", called by itself, is folded";
  }
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
