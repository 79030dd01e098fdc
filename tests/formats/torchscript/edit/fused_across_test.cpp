// A residual add and the norm behind it in modules of their own: one op, where the add stood; and where they stay two.
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>

#include <map>

#include "core/formats/torchscript/program/fast_norm.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::torchscript::test {
namespace {

constexpr int64_t kWidth = 8;

torch::jit::Module norm(uint64_t seed) {
  auto module = newModule("LayerNorm");
  module.register_parameter("weight", draw({kWidth}, seed), false);
  module.register_parameter("bias", draw({kWidth}, seed + 1), false);
  module.define("def forward(self, x):\n  return torch.layer_norm(x, [8], self.weight, self.bias, 1e-05, False)\n");
  return module;
}

// A norm, a branch, and whatever `body` makes of them.
torch::jit::Module blockOf(uint64_t seed, const std::string& body) {
  auto module = newModule("Block");
  module.register_module("norm", norm(seed));
  module.register_module("branch", linearModule("Linear", kWidth, seed + 2));
  module.define(body);
  return module;
}

constexpr const char* kPlainBlock = "def forward(self, x):\n  return x + self.branch.forward(self.norm.forward(x))\n";

// Blocks a and b, a norm at the end. `body` is forward().
torch::jit::Module netOf(const torch::jit::Module& a, const torch::jit::Module& b, const std::string& body) {
  auto module = newModule("Net");
  module.register_module("a", a);
  module.register_module("b", b);
  module.register_module("end", norm(30));
  module.define(body);
  return module;
}

constexpr const char* kInARow = "def forward(self, x):\n  return self.end.forward(self.b.forward(self.a.forward(x)))\n";

torch::jit::Module plainNet() { return netOf(blockOf(10, kPlainBlock), blockOf(20, kPlainBlock), kInARow); }

using NodePlaces = std::multimap<graph::OpKind, std::string>;

// What a norm reads may have views of its own.
NodePlaces placesOf(const graph::Graph& graph) {
  NodePlaces places;
  for (const auto& node : graph.nodes) {
    if (!node.helper && node.kind != graph::OpKind::Reshape) places.emplace(node.kind, graph.scope(node.scope).path);
  }
  return places;
}

class FusingAcross : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fastNormAvailable()) << "libnormlens_ops.so is built with the tests"; }

  struct Fused {
    ModelPtr before, after;  // `after` as it is opened anew
    std::vector<std::string> norms;
  };

  // The file loads in torch, gives the original's outputs at two sizes, and is read as the original is.
  static Fused fuse(const torch::jit::Module& module, const at::Tensor& x = draw({2, 3, kWidth}, 1),
                    const at::Tensor& other = draw({4, 2, kWidth}, 2)) {
    Fused result;
    result.before = makeModel(module, {x});
    const auto fused = must(result.before->fuseNorms(analysis::findNorms(result.before->graph()), {}));
    result.norms = fused.fused;
    auto loaded = saved(*fused.model);
    result.after = makeModel(loaded, {x});
    for (const auto& input : {x, other}) {
      const auto expected = runOn(*result.before, {input});
      EXPECT_LT(relativeDifference(expected, runOn(*result.after, {input})), kExact);
      EXPECT_LT(relativeDifference(expected, loaded.forward({input}).toTensor()), kExact);
    }
    EXPECT_EQ(countOps(*result.after, "normlens::add_layer_norm"), static_cast<int>(result.norms.size()));
    EXPECT_EQ(placesOf(result.before->graph()), placesOf(result.after->graph()));
    EXPECT_EQ(namesOf(*result.before), namesOf(*result.after));
    return result;
  }

  static std::vector<std::string> namesOf(const TorchScriptModel& model) {
    std::vector<std::string> names;
    for (const auto& found : analysis::findNorms(model.graph()).layerNorms) names.push_back(found.name);
    std::sort(names.begin(), names.end());
    return names;
  }
};

using Names = std::vector<std::string>;

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
  output.register_module("dense", linearModule("Linear", kWidth, 40));
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
  net.register_module("first", linearModule("Linear", kWidth, 60));
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

// Where an add and a norm in modules of their own stay two ops.

TEST_F(FusingAcross, OtherRowsAreNotTheSumsRows) {
  const char* const pairs = "def forward(self, x):\n  return (x + torch.tanh(x)).view([-1, 8])\n";
  const auto x = draw({2, 16}, 4), other = draw({6, 16}, 5);
  EXPECT_EQ(fuse(netOf(blockOf(10, pairs), blockOf(20, kPlainBlock), kInARow), x, other).norms, (Names{"end"}));
}

torch::jit::Module dropout(const std::string& train) {
  auto module = newModule("Dropout");
  module.define("def forward(self, x):\n  return torch.dropout(x, 0.1, " + train + ")\n");
  return module;
}

TEST_F(FusingAcross, DropoutThatIsOffForGoodHandsTheSumOn) {
  for (const bool forGood : {true, false}) {
    auto module = plainNet();
    module.register_module("drop", dropout(forGood ? "False" : "self.training"));
    module.define(
        "def dropped(self, x):\n  return self.end.forward(self.b.forward(self.drop.forward(self.a.forward(x))))\n");
    auto outer = newModule("Outer");
    outer.register_module("net", module);
    outer.define("def forward(self, x):\n  return self.net.dropped(x)\n");
    outer.eval();
    EXPECT_EQ(fuse(outer).norms, (forGood ? Names{"net.b.norm", "net.end"} : Names{"net.end"}));
  }
}

TEST_F(FusingAcross, AWriteInBetweenKeepsThemApart) {
  const auto writing = [](const std::string& line) {
    return netOf(blockOf(10, kPlainBlock), blockOf(20, kPlainBlock),
                 "def forward(self, x):\n  r = torch.tanh(x)\n  s = self.a.forward(x)\n" + line +
                     "  return self.end.forward(self.b.forward(s)) + r\n");
  };
  EXPECT_EQ(fuse(writing("  t = s.mul_(2.0)\n")).norms, (Names{"end"}));
  EXPECT_EQ(fuse(writing("  t = r.mul_(2.0)\n")).norms, (Names{"end"}));
  EXPECT_EQ(fuse(writing("")).norms, (Names{"b.norm", "end"}));
}

TEST_F(FusingAcross, AWriteToTheSumAfterTheNorm) {
  const auto b =
      blockOf(20, "def forward(self, x):\n  h = self.branch.forward(self.norm.forward(x))\n  return x.add_(h)\n");
  const auto fused = fuse(netOf(blockOf(10, kPlainBlock), b, kInARow));
  EXPECT_EQ(fused.norms, (Names{"b.norm"})) << "the second sum is made in place";
}

TEST_F(FusingAcross, AScaledAddIsNotThePlainOne) {
  const auto a = blockOf(10, "def forward(self, x):\n  return torch.add(x, self.branch.forward(x), alpha=2)\n");
  EXPECT_EQ(fuse(netOf(a, blockOf(20, kPlainBlock), kInARow)).norms, (Names{"end"}));
}

TEST_F(FusingAcross, ANormThatDoesNotAlwaysRunIsNotTakenOutOfItsBranch) {
  const auto branching = [](const std::string& indented) {
    return netOf(blockOf(10, kPlainBlock), blockOf(20, kPlainBlock),
                 "def forward(self, x):\n  s = self.a.forward(x)\n  if bool(x.sum() > 1000.0):\n    s = torch.tanh(s)\n"
                 "  else:\n" +
                     indented + "  return self.end.forward(s)\n");
  };
  EXPECT_EQ(fuse(branching("    s = self.b.forward(s)\n")).norms, Names{}) << "the add is outside of the branch";
  EXPECT_EQ(fuse(branching("    s = self.b.forward(self.a.forward(s))\n")).norms, Names{"b.norm"});
}

TEST_F(FusingAcross, ALoopsBody) {
  const auto net = netOf(blockOf(10, kPlainBlock), blockOf(20, kPlainBlock),
                         "def forward(self, x):\n  s = x\n  for i in range(x.size(0)):\n"
                         "    s = self.b.forward(self.a.forward(s))\n  return self.end.forward(s)\n");
  EXPECT_EQ(fuse(net).norms, Names{"b.norm"}) << "what comes round or leaves the loop is no add";
}

TEST_F(FusingAcross, OfTwoNormsOfOneSumOneTakesTheAddIn) {
  const auto net =
      netOf(blockOf(10, kPlainBlock), blockOf(20, kPlainBlock),
            "def forward(self, x):\n  s = self.a.forward(x)\n  return self.end.forward(s) * self.b.forward(s)\n");
  EXPECT_EQ(fuse(net).norms, Names{"end"});
}

TEST_F(FusingAcross, ANormWhoseModuleHoldsNothingKeepsItsName) {
  auto bare = newModule("LayerNorm");
  bare.define("def forward(self, x):\n  return torch.layer_norm(x, [8], None, None, 1e-05, False)\n");
  auto module = plainNet();
  module.register_module("bare", bare);
  module.define("def both(self, x):\n  return self.bare.forward(self.b.forward(self.a.forward(x)))\n");
  auto outer = newModule("Outer");
  outer.register_module("net", module);
  outer.define("def forward(self, x):\n  return self.net.both(x)\n");
  EXPECT_EQ(fuse(outer).norms, Names{"net.b.norm"});
}

TEST_F(FusingAcross, CodeInAForkIsLeftAlone) {
  auto net = plainNet();
  auto outer = newModule("Outer");
  outer.register_module("net", net);
  outer.define("def inner(self, x):\n  return self.net.forward(x)\n");
  auto graph = torch::jit::toGraphFunction(outer.get_method("inner").function()).graph();
  auto body = graph->copy();
  auto forked = std::make_shared<torch::jit::Graph>();
  auto* self = forked->addInput("self");
  self->setType(outer.type());
  auto* x = forked->addInput("x");
  auto* fork = forked->create(c10::prim::fork, {self, x});
  fork->g_(c10::attr::Subgraph, body);
  fork->output()->setType(c10::FutureType::create(c10::TensorType::get()));
  forked->insertNode(fork);
  auto* wait = forked->create(c10::Symbol::fromQualString("aten::wait"), {fork->output()});
  wait->output()->setType(c10::TensorType::get());
  forked->insertNode(wait);
  forked->registerOutput(wait->output());
  auto* function = outer._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*outer.type()->name(), "forward"), forked);
  outer.type()->addMethod(function);
  EXPECT_EQ(fuse(outer).norms, Names{});
}

TEST_F(FusingAcross, AnInterfaceKnowsNoMethodThatTakesOrReturnsMore) {
  const auto known = c10::InterfaceType::create(c10::QualifiedName("__torch__.I"), true);
  known->addMethod(c10::FunctionSchema(
      "forward", "", {c10::Argument("self", c10::AnyType::get()), c10::Argument("x", c10::TensorType::get())},
      {c10::Argument("", c10::TensorType::get())}));
  const auto block = blockOf(10, kPlainBlock);
  for (const bool isInterface : {true, false}) {
    auto net = newModule("Net");
    net.register_attribute("a", isInterface ? c10::TypePtr(known) : block.type(), block._ivalue());
    net.register_module("end", norm(30));
    net.define("def forward(self, x):\n  return self.end.forward(self.a.forward(x))\n");
    EXPECT_EQ(fuse(net).norms, isInterface ? Names{} : Names{"end"});
  }
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
