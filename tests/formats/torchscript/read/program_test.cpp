// The walk through calls, and the graph it is lowered to, on modules written here.
#include <deque>

#include "core/formats/archive/archive_writer.h"
#include "tests/formats/torchscript/read/written_module.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

using graph::OpKind;

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
  EXPECT_PRED2(contains,
               failureOf(model->runCapturing({{"in_0", viewOf(draw({4}, 1))}}, model->graph().outputs(), {})).message,
               "two axes, please");
}

TEST(ProgramTest, OnlyNumbersHaveSizesThatTheFileFixes) {
  auto top = newModule("Top");
  top.define(R"(
def forward(self, x, factor: float, times: int, on: bool, scale: Optional[float]):
  y = x * factor * times if on else x
  return y if scale is None else y * scale
)");
  top.eval();
  const auto model = must(TorchScriptModel::fromModule({top, {}, nullptr, {}}, {}));
  const graph::Graph& read = model->graph();
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

TEST(ProgramTest, ErrorsNameTheOpAndItsModule) {
  auto top = newModule("Top");
  top.register_module("fc", linearModule("Linear", 4, 1));
  top.define("def forward(self, x):\n  return self.fc.forward(x)\n");
  const auto model = makeModel(top, {draw({2, 4}, 9)});
  const Error failed =
      failureOf(model->runCapturing({{"in_0", viewOf(draw({2, 5}, 9))}}, model->graph().outputs(), {}));
  EXPECT_EQ(failed.code, ErrorCode::RunFailed);
  EXPECT_TRUE(failed.message.starts_with("aten::linear in fc failed: ")) << failed.message;
}

TEST(ProgramTest, ACancelledRunStops) {
  auto top = newModule("Top");
  top.define("def forward(self, x):\n  return torch.relu(x)\n");
  const auto model = makeModel(top, {draw({2, 4}, 9)});
  std::stop_source stop;
  stop.request_stop();
  Task task;
  task.stop = stop.get_token();
  EXPECT_EQ(failureOf(model->runCapturing({{"in_0", viewOf(draw({2, 4}, 9))}}, {}, task)).code, ErrorCode::Cancelled);
}

TEST(ProgramTest, IdsDoNotDependOnTheProbe) {
  auto top = newModule("Top");
  top.register_module("fc", linearModule("Linear", 4, 1));
  top.define(
      "def forward(self, x):\n  a, b = torch.chunk(self.fc.forward(x), 2, -1)\n  return torch.softmax(a @ "
      "b.transpose(-1, -2), -1)\n");
  top.eval();
  auto model = must(TorchScriptModel::fromModule({top, {}, nullptr, {}}, {}));
  const graph::Graph before = model->graph();
  ASSERT_TRUE(model->probe({{"in_0", viewOf(draw({2, 3, 4}, 9))}}, {}));
  const graph::Graph& after = model->graph();
  ASSERT_EQ(before.nodes.size(), after.nodes.size());
  for (size_t i = 0; i < before.nodes.size(); ++i) {
    EXPECT_EQ(before.nodes[i].op, after.nodes[i].op);
    EXPECT_EQ(before.nodes[i].operands, after.nodes[i].operands);
    EXPECT_EQ(before.nodes[i].outputs, after.nodes[i].outputs);
  }
  EXPECT_EQ(graph::intAttribute(node(*model, "aten::softmax"), "axis"), 2);
}

// An object of another class than the code reads it as: LibTorch itself would read past its end.

// A module of two: the first has more attributes than the second.
torch::jit::Module pair() {
  torch::jit::Module large("Large"), small("Small"), both("Both");
  for (const char* name : {"k", "l", "m", "n"}) large.register_parameter(name, draw({2}, 1, at::kFloat), false);
  small.register_parameter("k", draw({2}, 1, at::kFloat), false);
  both.register_module("large", large);
  both.register_module("small", small);
  both.define("def forward(self, x):\n  return x * self.large.n + self.small.k\n");
  return both;
}

TEST(ObjectTypes, AnotherClassIsRefused) {
  const TemporaryFolder folder;
  const auto sound = folder / "sound.pt", bent = folder / "bent.pt";
  pair().save(sound.string());
  EXPECT_TRUE(TorchScriptModel::open(sound, {}));
  const auto archive = Archive::open(MappedFile::open(sound).value()).value();
  std::vector<RecordToWrite> records;
  std::deque<std::string> contents;
  for (const ZipRecord& record : archive->records()) {
    std::string& content = contents.emplace_back(archive->read(record, 1 << 20).value());
    const size_t at = record.name.ends_with("/data.pkl") ? content.find("Large\n") : std::string::npos;
    if (at != std::string::npos) content.replace(at, 6, "Small\n");
    records.push_back({record.name, ZipMethod::Stored, content.size(), {std::as_bytes(std::span(content))}, {}});
  }
  ASSERT_TRUE(writeArchive(bent, std::move(records), {}, {}));
  EXPECT_PRED2(contains, failureOf(TorchScriptModel::open(bent, {})).message,
               "'large' holds what is no __torch__.Large");
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
