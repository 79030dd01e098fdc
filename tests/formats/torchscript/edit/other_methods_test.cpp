// Methods beside forward(), and methods of modules that are chosen at run time: what they write is no constant, what
// they read keeps its meaning.
#include <torch/csrc/jit/frontend/resolver.h>

#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

bool hasNode(const TorchScriptModel& model, const std::string& op) { return countOps(model, op) > 0; }

const std::string& volatileReason(const TorchScriptModel& model, const std::string& constant) {
  return model.graph().constant(constantNamed(model.graph(), constant)).volatileReason;
}

// A norm of a linear and a memory; `other` is a second method.
torch::jit::Module withMemory(const std::string& other) {
  torch::jit::Module m("Net");
  m.register_parameter("w", draw({8, 8}, 1), false);
  m.register_buffer("mem", draw({8}, 2));
  m.register_attribute("raw", c10::BoolType::get(), false);
  m.define(other +
           "def forward(self, x):\n  h = torch.linear(x, self.w) + self.mem\n  if self.raw:\n    return h\n"
           "  return torch.layer_norm(h, [8])\n");
  return m;
}

TEST(OtherMethods, WhatTheySetIsNoConstant) {
  const auto x = draw({3, 8}, 3);
  const auto set = makeModel(withMemory("def prime(self, v):\n  self.mem = v * 2.0\n"), {x});
  EXPECT_TRUE(hasNode(*set, "prim::GetAttr"));
  EXPECT_FALSE(set->program().writesState) << "forward() writes nothing";
  const auto flag = makeModel(withMemory("def show(self, v: bool):\n  self.raw = v\n"), {x});
  EXPECT_TRUE(hasNode(*flag, "prim::If")) << "both branches may run";
  const auto read = makeModel(withMemory("def peek(self, v):\n  return self.mem + v\n"), {x});
  EXPECT_FALSE(hasNode(*read, "prim::GetAttr"));
  EXPECT_FALSE(hasNode(*read, "prim::If"));
  EXPECT_EQ(volatileReason(*read, "mem"), "");
}

TEST(OtherMethods, WhatTheyWriteInPlaceIsNoConstant) {
  const auto x = draw({3, 8}, 3);
  const auto written = makeModel(withMemory("def fill(self, to, v):\n  to.copy_(v)\n"
                                            "def prime(self, v):\n  self.fill(self.mem[0:4], v)\n"),
                                 {x});
  EXPECT_NE(volatileReason(*written, "mem"), "");
  EXPECT_EQ(volatileReason(*written, "w"), "");
  EXPECT_FALSE(written->program().writesState);
  EXPECT_NE(refusal(*written, {centerOver(written->graph(), "mem", 0)}).message.find("mem"), std::string::npos);
  const auto fresh =
      makeModel(withMemory("def other(self, v):\n  y = torch.linear(v, self.w)\n  y += self.mem\n  return y\n"), {x});
  EXPECT_EQ(volatileReason(*fresh, "mem"), "") << "what is made of it may be written";
  EXPECT_EQ(volatileReason(*fresh, "w"), "");
}

TEST(OtherMethods, StateThatForwardWritesIsCopiedForARunThoughAnotherMethodSetsIt) {
  torch::jit::Module m("Net");
  m.register_buffer("mem", at::zeros({8}, at::kDouble));
  m.define(
      "def reset(self):\n  self.mem = torch.zeros_like(self.mem)\n"
      "def forward(self, x):\n  self.mem.add_(x.sum(0))\n  return x + self.mem\n");
  const auto x = draw({3, 8}, 3);
  const auto model = makeModel(m, {x});
  EXPECT_TRUE(model->program().writesState);
  for (int i = 0; i < 2; ++i) EXPECT_LT(relativeDifference(x + x.sum(0), runOn(*model, {x})), kExact);
  EXPECT_EQ(model->source().module.attr("mem").toTensor().abs().max().item<double>(), 0);
}

torch::jit::Module linearModule(uint64_t seed) {
  torch::jit::Module m("Linear");
  m.register_parameter("weight", draw({8, 8}, seed), false);
  m.define("def forward(self, x):\n  return torch.linear(x, self.weight)\n");
  return m;
}

// return wait(fork(self.s.forward, x)), as another method.
void addForkingMethod(const torch::jit::Module& m, const std::string& name) {
  auto body = std::make_shared<torch::jit::Graph>();
  auto* s = body->addInput("s");
  s->setType(m.attr("s").toModule().type());
  auto* given = body->addInput("x");
  auto* call = body->insertNode(body->create(c10::prim::CallMethod, {s, given}));
  call->s_(c10::attr::name, "forward");
  call->output()->setType(c10::TensorType::get());
  body->registerOutput(call->output());
  auto graph = std::make_shared<torch::jit::Graph>();
  auto* self = graph->addInput("self");
  self->setType(m.type());
  auto* x = graph->addInput("x");
  auto* fork = graph->insertNode(graph->create(c10::prim::fork, {graph->insertGetAttr(self, "s"), x}));
  fork->g_(c10::attr::Subgraph, body);
  fork->output()->setType(c10::FutureType::create(c10::TensorType::get()));
  auto* wait = graph->insertNode(graph->create(c10::Symbol::fromQualString("aten::wait"), {fork->output()}));
  wait->output()->setType(c10::TensorType::get());
  graph->registerOutput(wait->output());
  m.type()->addMethod(
      m._ivalue()->compilation_unit()->create_function(c10::QualifiedName(*m.type()->name(), name), graph));
}

TEST(OtherMethods, WhatTheyReadInAForkStaysForThem) {
  torch::jit::Module m("Net");
  m.register_module("s", linearModule(4));
  m.define("def forward(self, x):\n  return torch.layer_norm(self.s.forward(x), [8])\n");
  addForkingMethod(m, "other");
  const auto x = draw({3, 8}, 3);
  const auto model = makeModel(m, {x});
  const auto folded = applied(*model, {centerOver(model->graph(), "s.weight", 0), fold::ReplaceNorm{0}});
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  const auto other = [&](const TorchScriptModel& of) { return of.source().module.get_method("other")({x}).toTensor(); };
  EXPECT_TRUE(at::equal(other(*model), other(*folded)));
}

TEST(OtherMethods, AForkWhoseOwnCodeStaysDoesNotStandInTheWay) {
  torch::jit::Module block("Block");
  block.register_parameter("w", draw({8, 8}, 5), false);
  block.define("def forward(self, x):\n  return torch.layer_norm(torch.linear(x, self.w), [8])\n");
  torch::jit::Module m("Net");
  m.register_module("s", block);
  addForkingMethod(m, "forward");
  const auto x = draw({3, 8}, 3);
  const auto model = makeModel(m, {x});
  const auto folded = applied(*model, {centerOver(model->graph(), "s.w", 0), fold::ReplaceNorm{0}});
  EXPECT_EQ(countOps(*folded, "aten::layer_norm"), 0);
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
}

// forward(x) -> Tensor, and a resolver that knows it as I.
struct Interface : torch::jit::NativeResolver {
  Interface() : type(c10::InterfaceType::create(c10::QualifiedName("__torch__.I"), true)) {
    type->addMethod(c10::FunctionSchema(
        "forward", "", {c10::Argument("self", c10::AnyType::get()), c10::Argument("x", c10::TensorType::get())},
        {c10::Argument("", c10::TensorType::get())}));
  }
  c10::TypePtr resolveType(const std::string& name, const torch::jit::SourceRange& at) override {
    return name == "I" ? c10::TypePtr(type) : NativeResolver::resolveType(name, at);
  }
  c10::InterfaceTypePtr type;
};

// A table, a norm of it, and one of two heads, of which the second is tied to the table or keeps a count.
torch::jit::Module withHeads(bool counts) {
  torch::jit::Module m("Net"), heads("ModuleList"), tied("Head");
  m.register_parameter("table", draw({8, 8}, 6), false);
  tied.register_parameter("weight", m.attr("table").toTensor(), false);
  tied.register_buffer("count", at::zeros({1}, at::kDouble));
  tied.define(std::string("def forward(self, x):\n") + (counts ? "  self.count.add_(1.0)\n" : "") +
              "  return torch.linear(x, self.weight)\n");
  heads.register_module("0", linearModule(7));
  heads.register_module("1", tied);
  m.register_module("heads", heads);
  m.define(
      "def forward(self, ids, i: int):\n  h = torch.layer_norm(torch.embedding(self.table, ids), [8])\n"
      "  m : I = self.heads[i]\n  return m.forward(h)\n",
      std::make_shared<Interface>());
  return m;
}

TEST(OtherMethods, WhatAModuleChosenAtRunTimeReadsStaysForIt) {
  const auto ids = at::arange(8), one = at::scalar_tensor(1, at::kLong);
  const auto model = makeModel(withHeads(false), {ids, one});
  EXPECT_FALSE(model->program().writesState);
  const auto folded = applied(*model, {centerOver(model->graph(), "table", 1), fold::ReplaceNorm{0}});
  EXPECT_EQ(countOps(*folded, "aten::layer_norm"), 0);
  EXPECT_LT(relativeDifference(runOn(*model, {ids, one}), runOn(*folded, {ids, one})), kExact);
}

TEST(OtherMethods, WhatAModuleChosenAtRunTimeWritesIsCopiedForARun) {
  const auto ids = at::arange(8), one = at::scalar_tensor(1, at::kLong);
  const auto model = makeModel(withHeads(true), {ids, one});
  EXPECT_TRUE(model->program().writesState);
  (void)runOn(*model, {ids, one});
  const auto head = model->source().module.attr("heads").toModule().attr("1").toModule();
  EXPECT_EQ(head.attr("count").toTensor().item<double>(), 0);
}

TEST(OtherMethods, AMethodThatIsCalledThroughAnInterfaceIsNotRenamed) {
  torch::jit::Module block("Block");
  block.register_parameter("w", draw({8, 8}, 5), false);
  block.define("def forward(self, x):\n  return torch.layer_norm(torch.linear(x, self.w), [8])\n");
  const auto net = [&](const std::string& other) {
    const auto known = std::make_shared<Interface>();
    torch::jit::Module m("Net");
    m.register_attribute("s", known->type, block._ivalue());
    m.define("def forward(self, x):\n  return self.s.forward(x)\n" + other, known);
    return m;
  };
  const auto x = draw({3, 8}, 3);
  const auto edits = [](const TorchScriptModel& model) {
    return std::vector<fold::Edit>{centerOver(model.graph(), "s.w", 0), fold::ReplaceNorm{0}};
  };
  const auto alone = makeModel(net(""), {x});
  EXPECT_LT(relativeDifference(runOn(*alone, {x}), runOn(*applied(*alone, edits(*alone)), {x})), kExact);
  const auto shared = makeModel(net("def encode(self, x):\n  return self.s.forward(x)\n"), {x});
  EXPECT_NE(refusal(*shared, edits(*shared)).message.find("interface"), std::string::npos);
}

// An object that is no module, with a norm of its own.
TEST(OtherMethods, CodeOfAnObjectThatIsNoModuleIsNotEdited) {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const auto type = c10::ClassType::create(c10::QualifiedName("__torch__.T"), unit, false);
  type->addAttribute("w", c10::TensorType::get());
  unit->register_type(type);
  torch::jit::Object object(unit, type);
  object.setattr("w", draw({8, 8}, 5));
  object.define("def norm(self, x):\n  return torch.layer_norm(x, [8])\n");
  torch::jit::Module m(c10::QualifiedName("__torch__.Net"), unit);
  m.register_attribute("t", type, object._ivalue());
  m.define(
      "def inner(self, x):\n  return torch.linear(x, self.t.w)\n"
      "def forward(self, x):\n  return torch.layer_norm(self.inner(x), [8]) + self.t.norm(self.inner(x))\n");
  const auto x = draw({3, 8}, 3);
  const auto model = makeModel(m, {x});
  const auto weight = centerOver(model->graph(), "t.w", 0);
  const auto folded = applied(*model, {weight, fold::ReplaceNorm{0}});
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), kExact);
  EXPECT_TRUE(object.attr("w").toTensor().equal(draw({8, 8}, 5))) << "another attribute holds the centered one";
  EXPECT_NE(refusal(*model, {weight, fold::ReplaceNorm{0}, fold::ReplaceNorm{1}}).message.find("T.norm"),
            std::string::npos);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
