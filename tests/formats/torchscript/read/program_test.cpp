// The walk through calls, and the graph it is lowered to, on modules written here.
#include <torch/csrc/jit/frontend/resolver.h>

#include "core/formats/torchscript/run/interpreter.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/graph_text.h"

namespace normlens::formats::torchscript::test {
namespace {

using graph::OpKind;

torch::jit::Module newModule(const std::string& name) {
  torch::jit::Module module(name);
  module.register_attribute("training", c10::BoolType::get(), true);
  return module;
}

torch::jit::Module linearModule(const std::string& name, int64_t width, uint64_t seed) {
  auto module = newModule(name);
  module.register_parameter("weight", draw({width, width}, seed), false);
  module.register_parameter("bias", draw({width}, seed + 1), false);
  module.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
  return module;
}

const graph::Node& node(const TorchScriptModel& model, const std::string& op, int k = 0) {
  return model.graph().node(nodeOf(model.graph(), op, k));
}

int countKind(const graph::Graph& graph, OpKind kind) {
  return static_cast<int>(std::ranges::count_if(graph.nodes, [&](const graph::Node& n) { return n.kind == kind; }));
}

// The interpreter's outputs, the graph's returns and torch's own forward agree; the graph is sound.
void expectFaithful(const TorchScriptModel& model, const std::vector<at::Tensor>& inputs) {
  const auto sound = graph::checkGraph(model.graph());
  ASSERT_TRUE(sound) << sound.error().message << graph::printGraph(model.graph());
  Tensors given;
  for (size_t i = 0; i < inputs.size(); ++i) given.push_back({"in_" + std::to_string(i), viewOf(inputs[i])});
  const auto wanted = model.run(given, {});
  ASSERT_TRUE(wanted) << wanted.error().message;
  const auto seen = model.runCapturing(given, model.graph().outputs(), {});
  ASSERT_TRUE(seen) << seen.error().message;
  ASSERT_EQ(wanted->size(), seen->size());
  for (size_t i = 0; i < wanted->size(); ++i)
    EXPECT_TRUE(at::equal(tensorOf((*wanted)[i].view), tensorOf((*seen)[i].view))) << i;
}

TEST(ProgramTest, CallsAreEnteredAndNamedByTheirModule) {
  auto top = newModule("Top");
  top.register_module("a", linearModule("Linear", 4, 1));
  top.register_module("b", linearModule("Linear", 4, 5));
  top.define("def forward(self, x):\n  return self.b.forward(torch.relu(self.a.forward(x)))\n");
  const at::Tensor x = draw({2, 4}, 9);
  const auto model = makeModel(top, {x});
  expectFaithful(*model, {x});
  EXPECT_EQ(node(*model, "aten::linear", 0).name, "a");
  EXPECT_EQ(node(*model, "aten::linear", 1).name, "b");
  EXPECT_EQ(model->graph().scope(node(*model, "aten::linear", 1).scope).type, "Linear");
  EXPECT_EQ(model->graph().constant(constantNamed(model->graph(), "b.weight")).view.shape, (graph::Shape{4, 4}));
  EXPECT_EQ(model->graph().value(node(*model, "aten::relu").outputs[0]).shape, (graph::Shape{2, 4}));
}

TEST(ProgramTest, AModuleCalledTwiceIsThereTwiceWithOneWeight) {
  auto top = newModule("Top");
  top.register_module("a", linearModule("Linear", 4, 1));
  top.define("def forward(self, x):\n  return self.a.forward(self.a.forward(x))\n");
  const auto model = makeModel(top, {draw({2, 4}, 9)});
  EXPECT_EQ(countKind(model->graph(), OpKind::Linear), 2);
  EXPECT_EQ(model->graph().constants.size(), 2U);
  EXPECT_EQ(usesOf(model->graph(), constantNamed(model->graph(), "a.weight")).size(), 2U);
  EXPECT_EQ(model->program().frames.size(), 3U);
}

TEST(ProgramTest, TiedWeightsAreOneConstantWithAliases) {
  const at::Tensor table = draw({6, 4}, 3);
  auto top = newModule("Top");
  top.register_parameter("wte", table, false);
  top.register_parameter("head", table, false);
  top.define("def forward(self, i):\n  return torch.linear(torch.embedding(self.wte, i), self.head)\n");
  const at::Tensor ids = at::arange(6).reshape({2, 3});
  const auto model = makeModel(top, {ids});
  expectFaithful(*model, {ids});
  ASSERT_EQ(model->graph().constants.size(), 1U);
  EXPECT_EQ(model->graph().constants[0].name, "wte");
  EXPECT_EQ(model->graph().constants[0].aliases, std::vector<std::string>{"head"});
  EXPECT_EQ(model->program().constants[0].sites.size(), 2U);
}

TEST(ProgramTest, BranchesChosenByConfigurationAreInlined) {
  auto top = newModule("Top");
  top.register_attribute("flag", c10::BoolType::get(), true);
  top.register_attribute("extra", c10::OptionalType::create(c10::TensorType::get()), c10::IValue());
  top.define(R"(
def forward(self, x):
  if self.training:
    x = torch.dropout(x, 0.5, True)
  if self.flag and self.extra is None:
    x = torch.relu(x)
  else:
    x = torch.tanh(x)
  if x is None:
    raise RuntimeError("never")
  return x
)");
  const at::Tensor x = draw({2, 4}, 9);
  const auto model = makeModel(top, {x});
  expectFaithful(*model, {x});
  EXPECT_EQ(model->graph().nodes.size(), 1U) << graph::printGraph(model->graph());
  EXPECT_EQ(model->graph().nodes[0].op, "aten::relu");
}

TEST(ProgramTest, IfAndLoopKeepTheirBlocks) {
  auto top = newModule("Top");
  top.register_module("a", linearModule("Linear", 4, 1));
  top.define(R"(
def forward(self, x, n: int):
  for i in range(n):
    x = self.a.forward(x)
    if float(x.sum()) > 1000.0:
      break
  if float(x.sum()) > 0.0:
    y = torch.relu(x)
  else:
    y = x + 1
  return y
)");
  const at::Tensor x = draw({2, 4}, 9) * 0.1, n = at::scalar_tensor(3, at::kLong);
  const auto model = makeModel(top, {x, n});
  expectFaithful(*model, {x, n});
  EXPECT_EQ(countKind(model->graph(), OpKind::Loop), 1);
  EXPECT_GE(countKind(model->graph(), OpKind::If), 1);
  EXPECT_EQ(node(*model, "aten::linear").name, "a");
  EXPECT_NE(node(*model, "aten::linear").block, 0);
  // The branch that did not run has no shapes; the loop's result has.
  const auto loop = node(*model, "prim::Loop");
  EXPECT_TRUE(std::ranges::any_of(loop.outputs, [&](graph::ValueId v) {
    return model->graph().value(v).shape == graph::Shape{2, 4};
  }));
}

TEST(ProgramTest, ARaisingBranchBecomesACheck) {
  auto top = newModule("Top");
  top.define(R"(
def forward(self, x):
  assert x.dim() == 2, "two axes, please"
  return torch.relu(x)
)");
  const at::Tensor x = draw({2, 4}, 9);
  const auto model = makeModel(top, {x});
  expectFaithful(*model, {x});
  EXPECT_EQ(node(*model, "aten::relu").block, 0);
  const auto refused = model->runCapturing({{"in_0", viewOf(draw({4}, 1))}}, model->graph().outputs(), {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("two axes, please"), std::string::npos);
}

TEST(ProgramTest, OnlyNumbersHaveSizesThatTheFileFixes) {
  auto top = newModule("Top");
  top.define(R"(
def forward(self, x, factor: float, times: int, on: bool, scale: Optional[float]):
  y = x * factor * times if on else x
  return y if scale is None else y * scale
)");
  top.eval();
  const auto model = TorchScriptModel::fromModule({top, {}, nullptr, {}}, {});
  ASSERT_TRUE(model) << model.error().message;
  const graph::Graph& read = (*model)->graph();
  std::vector<bool> fixed;
  for (const auto id : read.inputs()) fixed.push_back(read.value(id).declared == graph::Shape{});
  EXPECT_EQ(fixed, (std::vector{false, true, true, true, false}));
}

TEST(ProgramTest, ListsTuplesAndDictsAreFlattened) {
  auto top = newModule("Top");
  top.define(R"(
def pair(self, x):
  return x + 1, torch.relu(x)
def forward(self, x):
  a, b = self.pair(x)
  parts = [a, b]
  parts.append(x)
  q, k = torch.chunk(torch.cat(parts, -1), 2, -1)
  return {"q": q, "rest": (k * 2.0)}
)");
  const at::Tensor x = draw({2, 4}, 9);
  const auto model = makeModel(top, {x});
  expectFaithful(*model, {x});
  const auto& cat = node(*model, "aten::cat");
  EXPECT_EQ(cat.kind, OpKind::Concat);
  EXPECT_EQ(cat.operands.size(), 3U);
  EXPECT_EQ(cat.operands[2], model->graph().inputs()[0]);
  EXPECT_EQ(graph::intAttribute(cat, "axis"), 1);
  const auto& chunk = node(*model, "aten::chunk");
  EXPECT_EQ(chunk.kind, OpKind::Split);
  ASSERT_EQ(chunk.outputs.size(), 2U);
  EXPECT_EQ(model->graph().value(chunk.outputs[1]).shape, (graph::Shape{2, 6}));
  EXPECT_EQ(model->graph().outputs(),
            (std::vector<graph::ValueId>{chunk.outputs[0], node(*model, "aten::mul").outputs[0]}));
  // The third element was put in by append: that is where it can be replaced.
  const auto id = static_cast<size_t>(nodeOf(model->graph(), "aten::cat"));
  EXPECT_EQ(model->lowered().operandSites[id][2].node->kind(), c10::aten::append);
}

TEST(ProgramTest, AListThatALoopFillsIsOneValue) {
  auto top = newModule("Top");
  top.define(R"(
def forward(self, x, n: int):
  parts = [x]
  for i in range(n):
    parts.append(x * i)
  return torch.cat(parts, 0)
)");
  const at::Tensor x = draw({2, 4}, 9), n = at::scalar_tensor(2, at::kLong);
  const auto model = makeModel(top, {x, n});
  expectFaithful(*model, {x, n});
  EXPECT_EQ(node(*model, "aten::cat").kind, OpKind::Opaque);
}

TEST(ProgramTest, InPlaceOpsAreRenamedWhereThatIsSafe) {
  auto top = newModule("Top");
  top.define(R"(
def forward(self, x):
  y = x * 2.0
  y.add_(1.0)
  z = torch.relu(y)
  return z
)");
  const at::Tensor x = draw({2, 4}, 9);
  const auto model = makeModel(top, {x});
  expectFaithful(*model, {x});
  const auto& added = node(*model, "aten::add_");
  EXPECT_EQ(added.kind, OpKind::Add);
  EXPECT_EQ(node(*model, "aten::relu").operands[0], added.outputs[0]);
  for (const auto& value : model->graph().values) EXPECT_EQ(value.opaqueReason, "");
}

// Whether nothing is unsafe to reason about.
bool isFollowed(const std::string& body) {
  auto top = newModule("Top");
  top.define("def forward(self, x):\n  y = x * 2.0\n" + body);
  for (const int64_t rows : {2, 7}) {
    const at::Tensor x = draw({rows, 4}, 9);
    const auto model = makeModel(top, {x});
    const auto unsafe = [](const graph::Value& value) { return !value.opaqueReason.empty(); };
    if (std::ranges::any_of(model->graph().values, unsafe)) return false;
    expectFaithful(*model, {x});
  }
  return true;
}

TEST(ProgramTest, AllNamesOfATensorMeanWhatIsWrittenLast) {
  EXPECT_TRUE(isFollowed("  y.add_(1.0).mul_(3.0)\n  y.neg_()\n  return torch.relu(y)\n"));
  EXPECT_TRUE(isFollowed("  z = y.add_(1.0)\n  y.mul_(z)\n  return torch.relu(z) + y\n"));
  EXPECT_TRUE(isFollowed("  v = y.view(-1)\n  v.add_(1.0)\n  return v * y.size(0)\n"));
  EXPECT_FALSE(isFollowed("  v = y.view(-1)\n  y.add_(1.0).mul_(2.0)\n  return v, y\n"));
  EXPECT_FALSE(isFollowed("  kept = [y]\n  y.add_(1.0)\n  return kept, y.neg_()\n"));
}

TEST(ProgramTest, ABranchMayWriteWhatIsReadNoMore) {
  const std::string rest = "  return torch.relu(y)\n";
  EXPECT_TRUE(isFollowed("  if x.size(0) > 4:\n    y += 1.0\n" + rest));
  EXPECT_TRUE(isFollowed("  if x.size(0) > 4:\n    y += 1.0\n    y *= 3.0\n  else:\n    y = y * 0.5\n" + rest));
  EXPECT_TRUE(isFollowed("  for i in range(3):\n    if i > 0:\n      y += 1.0\n" + rest));
  EXPECT_FALSE(isFollowed("  if x.size(0) > 4:\n    y.add_(1.0)\n" + rest));
  EXPECT_FALSE(isFollowed("  if x.size(0) > 4:\n    y.unsqueeze_(0)\n  return x * y.dim()\n"));
  EXPECT_FALSE(isFollowed("  v = y.view(-1)\n  if x.size(0) > 4:\n    y += 1.0\n  return v, y\n"));
  // The other branch reads it in a later pass.
  EXPECT_FALSE(
      isFollowed("  for i in range(3):\n    if i % 2 == 0:\n      x = x + y.add_(1.0)\n    else:\n      x = x + y\n"
                 "  return x\n"));
}

TEST(ProgramTest, ABranchThatIsNotTakenHasShapesAndLeavesNoTrace) {
  auto top = newModule("Top");
  top.register_parameter("w", draw({6, 4}, 1), false);
  top.register_attribute("calls", c10::IntType::get(), int64_t{0});
  top.define(R"(
def forward(self, x, flag: bool):
  kept = [x]
  y = x * 2.0
  if flag:
    z = torch.linear(y, self.w)
  else:
    y += 1.0
    z = torch.linear(y, self.w) * torch.ones([6])
    kept.append(x)
    self.calls += 1
    while True:
      z = z + 1.0
  return torch.relu(z), torch.cat(kept), self.calls
)");
  const at::Tensor x = draw({2, 4}, 9), flag = at::scalar_tensor(true, at::kBool);
  const auto model = makeModel(top, {x, flag});
  expectFaithful(*model, {x, flag});
  for (const int k : {0, 1})
    EXPECT_EQ(model->graph().value(node(*model, "aten::linear", k).outputs[0]).shape, (graph::Shape{2, 6})) << k;
  EXPECT_EQ(model->graph().value(node(*model, "aten::relu").outputs[0]).shape, (graph::Shape{2, 6}));
  EXPECT_EQ(model->graph().value(node(*model, "aten::cat").outputs[0]).shape, (graph::Shape{2, 4}));
}

TEST(ProgramTest, DropoutInPlaceReadsItsInputThoughTheVariantCallsItSelf) {
  auto top = newModule("Top");
  top.define("def forward(self, x):\n  return torch.relu(torch.dropout_(x * 2.0, 0.1, False))\n");
  const auto model = makeModel(top, {draw({2, 4}, 9)});
  const auto& dropout = node(*model, "aten::dropout_");
  EXPECT_EQ(dropout.kind, OpKind::Identity);
  ASSERT_EQ(dropout.operands.size(), 1U);
  EXPECT_EQ(dropout.operands[0], node(*model, "aten::mul").outputs[0]);
}

TEST(ProgramTest, AShapeThatIsSetInPlaceIsThatOfTheNewValue) {
  auto top = newModule("Top");
  top.define(
      "def forward(self, x):\n  y = x * 2.0\n  y.unsqueeze_(1)\n  return torch.relu(torch.layer_norm(y, [4]))\n");
  const at::Tensor x = draw({2, 4}, 9);
  const auto model = makeModel(top, {x});
  expectFaithful(*model, {x});
  const auto& shaped = node(*model, "aten::unsqueeze_");
  EXPECT_EQ(shaped.kind, OpKind::Reshape);
  const auto& norm = node(*model, "aten::layer_norm");
  EXPECT_EQ(norm.operands[0], shaped.outputs[0]);
  EXPECT_EQ(graph::intsAttribute(norm, "axes"), (std::vector<int64_t>{2}));
  EXPECT_EQ(model->graph().value(shaped.operands[0]).shape, (graph::Shape{2, 4}));
  EXPECT_EQ(model->graph().value(shaped.outputs[0]).shape, (graph::Shape{2, 1, 4}));
}

TEST(ProgramTest, InPlaceOpsThroughAnAliasMakeTheGroupOpaque) {
  auto top = newModule("Top");
  top.define(R"(
def forward(self, x):
  y = x * 2.0
  v = y[:, 0]
  v.zero_()
  return torch.relu(y), x + 1.0
)");
  const at::Tensor x = draw({2, 4}, 9);
  const auto model = makeModel(top, {x});
  expectFaithful(*model, {x});
  EXPECT_NE(model->graph().value(node(*model, "aten::mul").outputs[0]).opaqueReason, "");
  EXPECT_EQ(model->graph().value(node(*model, "aten::add").outputs[0]).opaqueReason, "");
}

TEST(ProgramTest, WrittenStateIsNoConstantAndIsNotChanged) {
  auto top = newModule("Top");
  const at::Tensor cache = at::zeros({2, 4}, at::kDouble);
  top.register_buffer("cache", cache);
  top.register_attribute("calls", c10::IntType::get(), int64_t{0});
  top.define(R"(
def forward(self, x):
  self.cache.add_(x)
  self.calls = self.calls + 1
  return self.cache * 2.0, self.calls
)");
  const at::Tensor x = draw({2, 4}, 9);
  const auto model = makeModel(top, {x});
  for (int i = 0; i < 2; ++i) expectFaithful(*model, {x});
  EXPECT_TRUE(model->program().writesState);
  EXPECT_NE(model->graph().constant(constantNamed(model->graph(), "cache")).volatileReason, "");
  EXPECT_TRUE(at::equal(cache, at::zeros({2, 4}, at::kDouble)));
}

TEST(ProgramTest, ErrorsNameTheOpAndItsModule) {
  auto top = newModule("Top");
  top.register_module("fc", linearModule("Linear", 4, 1));
  top.define("def forward(self, x):\n  return self.fc.forward(x)\n");
  const auto model = makeModel(top, {draw({2, 4}, 9)});
  const auto failed = model->runCapturing({{"in_0", viewOf(draw({2, 5}, 9))}}, model->graph().outputs(), {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::RunFailed);
  EXPECT_TRUE(failed.error().message.starts_with("aten::linear in fc failed: ")) << failed.error().message;
}

TEST(ProgramTest, ACancelledRunStops) {
  auto top = newModule("Top");
  top.define("def forward(self, x):\n  return torch.relu(x)\n");
  const auto model = makeModel(top, {draw({2, 4}, 9)});
  std::stop_source stop;
  stop.request_stop();
  Task task;
  task.stop = stop.get_token();
  const auto stopped = model->runCapturing({{"in_0", viewOf(draw({2, 4}, 9))}}, {}, task);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::Cancelled);
}

TEST(ProgramTest, IdsDoNotDependOnTheProbe) {
  auto top = newModule("Top");
  top.register_module("fc", linearModule("Linear", 4, 1));
  top.define(
      "def forward(self, x):\n  a, b = torch.chunk(self.fc.forward(x), 2, -1)\n  return torch.softmax(a @ "
      "b.transpose(-1, -2), -1)\n");
  top.eval();
  auto model = TorchScriptModel::fromModule({top, {}, nullptr, {}}, {});
  ASSERT_TRUE(model);
  const graph::Graph before = (*model)->graph();
  ASSERT_TRUE((*model)->probe({{"in_0", viewOf(draw({2, 3, 4}, 9))}}, {}));
  const graph::Graph& after = (*model)->graph();
  ASSERT_EQ(before.nodes.size(), after.nodes.size());
  for (size_t i = 0; i < before.nodes.size(); ++i) {
    EXPECT_EQ(before.nodes[i].op, after.nodes[i].op);
    EXPECT_EQ(before.nodes[i].operands, after.nodes[i].operands);
    EXPECT_EQ(before.nodes[i].outputs, after.nodes[i].outputs);
  }
  EXPECT_EQ(graph::intAttribute(node(**model, "aten::softmax"), "axis"), 2);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
