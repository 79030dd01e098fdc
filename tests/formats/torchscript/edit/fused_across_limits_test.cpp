// Where an add and a norm in modules of their own stay two ops.
#include <torch/csrc/jit/api/function_impl.h>

#include "tests/formats/torchscript/edit/fused_across.h"

namespace normlens::formats::torchscript::test {
namespace {

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
