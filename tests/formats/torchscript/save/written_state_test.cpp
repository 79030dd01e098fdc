// Models that write buffers of their own: runs and copies leave the original alone, and memory that was shared is.
#include "core/formats/torchscript/run/interpreter.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

// k is the first row of kv.
torch::jit::Module twoViews() {
  torch::jit::Module m("TwoViews");
  const auto kv = at::zeros({2, 8}, at::kDouble);
  m.register_buffer("kv", kv);
  m.register_buffer("k", kv[0]);
  m.register_parameter("w", draw({8, 8}, 1), false);
  m.define(R"(
def forward(self, x):
  self.k.copy_(torch.linear(x, self.w)[0])
  return torch.layer_norm(torch.linear(x, self.w) + self.kv.sum(0), [8])
)");
  return m;
}

at::Tensor expectedOfTwoViews(const at::Tensor& x) {
  const auto y = at::linear(x, draw({8, 8}, 1));
  return at::layer_norm(y + y[0], {8});
}

TEST(WrittenState, ViewsOfOneMemoryStayViewsInEveryRun) {
  const auto x = draw({3, 8}, 2);
  const auto model = makeModel(twoViews(), {x});
  for (int i = 0; i < 2; ++i) EXPECT_LT(relativeDifference(expectedOfTwoViews(x), runOn(*model, {x})), 1e-12);
  EXPECT_TRUE(at::equal(model->source().module.attr("kv").toTensor(), at::zeros({2, 8}, at::kDouble)));
}

TEST(WrittenState, AFoldedModelLeavesWhatItSharesWithTheOriginal) {
  const auto x = draw({3, 8}, 2);
  const auto model = makeModel(twoViews(), {x});
  const auto copy = applied(*model, {});
  for (int i = 0; i < 2; ++i) EXPECT_LT(relativeDifference(expectedOfTwoViews(x), runOn(*copy, {x})), 1e-12);
  const auto &a = model->source().module, &b = copy->source().module;
  const auto kv = b.attr("kv").toTensor();
  EXPECT_TRUE(kv.is_alias_of(b.attr("k").toTensor()));
  EXPECT_TRUE(b.attr("w").toTensor().is_alias_of(a.attr("w").toTensor()));
  EXPECT_TRUE(at::equal(kv, at::zeros({2, 8}, at::kDouble)));

  const TemporaryFolder folder;
  ASSERT_TRUE(copy->save(folder / "m.pt", {}));
  auto opened = torch::jit::load((folder / "m.pt").string());
  EXPECT_TRUE(at::equal(opened.attr("kv").toTensor(), at::zeros({2, 8}, at::kDouble)));
  EXPECT_LT(relativeDifference(expectedOfTwoViews(x), opened.forward({x}).toTensor()), 1e-12);
}

// A window into a large memory: a float64 or perturbed copy must not cut it out of the memory that it shows.
TEST(WrittenState, ACopyInAnotherTypeSharesItAlike) {
  torch::jit::Module m("Window");
  const auto kv = at::zeros({50, 8}, at::kDouble);
  m.register_buffer("kv", kv);
  m.register_buffer("k", kv[0]);
  m.define("def forward(self, x):\n  self.k.add_(x[0])\n  return x + self.kv.sum(0)\n");
  const auto x = draw({3, 8}, 2);
  const auto model = makeModel(m, {x});
  EXPECT_LT(relativeDifference(x + x[0], runOn(*asTorchScript(model->perturbed(1)), {x})), 1e-12);
  EXPECT_LT(relativeDifference(x + x[0], runOn(*asTorchScript(model->converted(graph::DType::Float64)), {x})), 1e-12);
}

// All kinds of state, of which forward() writes some and reads all.
torch::jit::Module stateful(const std::string& writes) {
  torch::jit::Module m("Stateful");
  const auto h = at::zeros({8}, at::kDouble);
  m.register_buffer("h", h);
  m.register_buffer("mean", at::zeros({8}, at::kDouble));
  m.register_buffer("var", at::ones({8}, at::kDouble));
  c10::Dict<std::string, at::Tensor> byName;
  byName.insert("h", at::zeros({8}, at::kDouble));
  byName.insert("alias", h);
  m.register_attribute("by_name", c10::DictType::create(c10::StringType::get(), c10::TensorType::get()), byName);
  m.register_attribute("tabs", c10::ListType::ofTensors(), c10::List<at::Tensor>({at::zeros({8}, at::kDouble)}));
  m.register_attribute("a", c10::ListType::ofInts(), c10::List<int64_t>({1}));
  m.register_attribute("b", c10::ListType::ofInts(), c10::List<int64_t>({1}));
  c10::impl::GenericList nested(c10::ListType::ofInts());
  nested.push_back(c10::List<int64_t>({1}));
  m.register_attribute("nested", c10::ListType::create(c10::ListType::ofInts()), nested);
  m.register_attribute("n", c10::IntType::get(), int64_t{0});
  m.define("def forward(self, x):\n" + writes +
           "  s = self.h.sum() + self.mean.sum() + self.var.sum() + self.by_name['h'].sum() + self.tabs[0].sum()\n"
           "  return x * (2 + len(self.a) + 3 * len(self.b) + 5 * len(self.nested[0]) + 7 * self.n) + s\n");
  return m;
}

const std::vector<std::string> kWrites = {
    "  self.h += x[0]\n",
    "  self.h = self.h + x[0]\n",
    "  self.h.copy_(x[0])\n",
    "  torch.add(self.h, x[0], out=self.h)\n",
    "  self.h[2:4] = x[0, 2:4]\n",
    "  self.n += 1\n  if self.n > 1:\n    x = x * 0\n",
    "  self.by_name['h'].add_(x[0])\n",
    "  self.by_name['alias'].add_(x[0])\n",
    "  self.by_name['h'] = x[0]\n",
    "  self.tabs[0].add_(x[0])\n",
    "  for t in self.tabs:\n    t.add_(x[0])\n",
    "  self.tabs[0] = x[0]\n",
    "  chosen = self.a if bool(x.sum() > 0) else self.b\n  chosen.append(3)\n",
    "  for l in self.nested:\n    l.append(3)\n",
    "  x = x + 0 * torch.batch_norm(x, None, None, self.mean, self.var, True, 0.1, 1e-5, False)\n",
    R"(  z = x.unsqueeze(2).expand(3, 8, 5)
  x = x + 0 * torch.instance_norm(z, None, None, self.mean, self.var, True, 0.1, 1e-5, False)[:, :, 0]
)"};

TEST(WrittenState, WhateverIsWrittenEveryRunStartsFromTheFile) {
  const auto x = draw({3, 8}, 2);
  const TemporaryFolder folder;
  for (const std::string& writes : kWrites) {
    SCOPED_TRACE(writes);
    stateful(writes).save((folder / "m.pt").string());
    const auto expected = torch::jit::load((folder / "m.pt").string()).forward({x}).toTensor();
    const auto untouched = stateful("").forward({x}).toTensor();
    EXPECT_NE(relativeDifference(untouched, expected), 0) << "the write shows";

    const auto model = makeModel(stateful(writes), {x});
    const auto folded = applied(*model, {});
    for (const auto* each : {model.get(), folded.get()}) {
      for (int i = 0; i < 2; ++i) EXPECT_LT(relativeDifference(expected, runOn(*each, {x})), 1e-12);
      Interpreter interpreter(each->program());
      for (int i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(expected, interpreter.run({x}, {}, {}).value()[0].toTensor()));
      const auto runner = each->runner({{"x", viewOf(x)}}, {});
      for (int i = 0; i < 2; ++i) EXPECT_TRUE((*runner)->runOnceMs());
    }
    ASSERT_TRUE(folded->save(folder / "out.pt", {}));
    EXPECT_TRUE(at::equal(expected, torch::jit::load((folder / "out.pt").string()).forward({x}).toTensor()));
  }
}

// What stands in the code cannot be exchanged for a run: it is put back.
TEST(WrittenState, ATensorInTheCodeIsPutBack) {
  torch::jit::Module m("Literal");
  m.define("def forward(self, x):\n  return torch.add_(x, x)\n");
  const auto graph = m.get_method("forward").graph();
  torch::jit::Node* add = nullptr;
  for (torch::jit::Node* node : graph->nodes()) add = node->kind() == c10::aten::add_ ? node : add;
  ASSERT_NE(add, nullptr);
  {
    const torch::jit::WithInsertPoint here(add);
    add->replaceInput(0, graph->insertConstant(at::ones({3, 8}, at::kDouble)));
  }
  const auto x = draw({3, 8}, 2);
  const auto model = makeModel(m, {x});
  const auto copy = applied(*model, {});
  for (const auto* each : {model.get(), copy.get()}) {
    for (int i = 0; i < 2; ++i) EXPECT_LT(relativeDifference(x + 1, runOn(*each, {x})), 1e-12);
  }
}

TEST(WrittenState, AListThatGrowsIsEachRunsOwn) {
  torch::jit::Module m("Growing");
  m.register_attribute("seen", c10::ListType::ofTensors(), c10::List<at::Tensor>());
  m.register_parameter("w", draw({8}, 1), false);
  m.define("def forward(self, x):\n  self.seen.append(x)\n  return x * len(self.seen) + self.w\n");
  const auto x = draw({3, 8}, 2), y = x + draw({8}, 1);
  const auto model = makeModel(m, {x});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(relativeDifference(y, runOn(*model, {x})), 0);
  const auto copy = applied(*model, {});
  EXPECT_EQ(relativeDifference(y, runOn(*copy, {x})), 0);
  EXPECT_TRUE(model->source().module.attr("seen").toTensorList().empty());
}

TEST(WrittenState, WhatTheCallerGaveStaysAsItIs) {
  torch::jit::Module m("Adding");
  m.register_parameter("w", draw({8}, 1), false);
  m.define("def forward(self, x, ids):\n  x += 1.0\n  ids -= 1\n  return x * self.w + ids[0]\n");
  const auto x = draw({3, 8}, 2), ids = at::full({3}, 5);
  const auto model = makeModel(m, {x, ids});
  const Tensors inputs{{"x", viewOf(x)}, {"ids", viewOf(ids)}};
  const auto expected = (x + 1) * draw({8}, 1) + 4;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(relativeDifference(expected, runOn(*model, {x, ids})), 0);
  const auto runner = must(model->runner(inputs, {}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(runner->runOnceMs());
  EXPECT_TRUE(at::equal(ids, at::full({3}, 5)));
  EXPECT_EQ(relativeDifference(x, draw({3, 8}, 2)), 0);
}

// Dropout that is on although the model is in evaluation mode: noise that is meant.
TEST(WrittenState, APartInTrainingModeStaysInIt) {
  torch::jit::Module part("Noise");
  part.register_attribute("training", c10::BoolType::get(), true);
  part.define("def forward(self, x):\n  return torch.dropout(x, 0.5, self.training)\n");
  torch::jit::Module m("Sampling");
  m.register_attribute("training", c10::BoolType::get(), false);
  m.register_module("noise", part);
  m.define("def forward(self, x):\n  return self.noise.forward(x)\n");
  const TemporaryFolder folder;
  m.save((folder / "m.pt").string());
  const auto opened = must(TorchScriptModel::open(folder / "m.pt", {}));
  EXPECT_TRUE(opened->source().module.attr("noise").toModule().is_training());
  ASSERT_TRUE(opened->save(folder / "again.pt", {}));
  EXPECT_TRUE(torch::jit::load((folder / "again.pt").string()).attr("noise").toModule().is_training());
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
