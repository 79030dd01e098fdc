// Models that write buffers of their own: runs and copies leave the original alone, and memory that was shared is.
#include "tests/formats/torchscript_fixture.h"
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

TEST(WrittenState, ACopyHasItsOwnAndSharesItAlike) {
  const auto x = draw({3, 8}, 2);
  const auto model = makeModel(twoViews(), {x});
  const auto copy = applied(*model, {});
  EXPECT_LT(relativeDifference(expectedOfTwoViews(x), runOn(*copy, {x})), 1e-12);
  const auto &a = model->source().module, &b = copy->source().module;
  const auto kv = b.attr("kv").toTensor();
  EXPECT_FALSE(kv.is_alias_of(a.attr("kv").toTensor()));
  EXPECT_TRUE(kv.is_alias_of(b.attr("k").toTensor()));
  EXPECT_TRUE(b.attr("w").toTensor().is_alias_of(a.attr("w").toTensor())) << "nothing writes it";

  const TemporaryFolder folder;
  ASSERT_TRUE(copy->save(folder / "m.pt", {}));
  auto opened = torch::jit::load((folder / "m.pt").string());
  EXPECT_LT(relativeDifference(expectedOfTwoViews(x), opened.forward({x}).toTensor()), 1e-12);
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
  const auto runner = model->runner(inputs, {});
  ASSERT_TRUE(runner) << runner.error().message;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE((*runner)->runOnceMs());
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
  const auto opened = TorchScriptModel::open(folder / "m.pt", {});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE((*opened)->source().module.attr("noise").toModule().is_training());
  ASSERT_TRUE((*opened)->save(folder / "again.pt", {}));
  EXPECT_TRUE(torch::jit::load((folder / "again.pt").string()).attr("noise").toModule().is_training());
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
