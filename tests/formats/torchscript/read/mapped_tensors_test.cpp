// Large tensors of an opened file are the file's own memory: they read as saved, are written to in the process alone,
// and are written out as they were.
#include <fstream>
#include <iterator>

#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

std::string contentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

ModelPtr saved(torch::jit::Module module, const std::filesystem::path& path) {
  module.eval();
  module.save(path.string());
  auto model = TorchScriptModel::open(path, {});
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().message);
  return model ? std::move(*model) : nullptr;
}

bool inFile(const TorchScriptModel& model, const at::Tensor& tensor) {
  const std::span bytes(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes());
  return model.source().archive->file().offsetOf(bytes).has_value();
}

// Wide enough to stay in the file.
torch::jit::Module counting() {
  torch::jit::Module module("Counting");
  module.register_buffer("count", draw({200, 200}, 1, at::kFloat));
  module.define("def forward(self, x):\n  self.count.add_(x)\n  return self.count * 2\n");
  return module;
}

TEST(MappedTensors, LargeOnesStayInTheFileAndSmallOnesDoNot) {
  const TemporaryFolder folder;
  torch::jit::Module module("Both");
  const at::Tensor large = draw({200, 200}, 1, at::kFloat), small = draw({3}, 2, at::kFloat);
  module.register_parameter("large", large, false);
  module.register_parameter("small", small, false);
  module.define("def forward(self, x):\n  return x @ self.large\n");
  const auto model = saved(std::move(module), folder.path() / "both.pt");
  const at::Tensor opened = model->source().module.attr("large").toTensor();
  EXPECT_TRUE(inFile(*model, opened));
  EXPECT_FALSE(inFile(*model, model->source().module.attr("small").toTensor()));
  EXPECT_TRUE(at::equal(opened, large));
  EXPECT_TRUE(at::equal(model->source().module.attr("small").toTensor(), small));
}

// torch keeps such a view as its storage and a bit; no pointer shows its numbers.
TEST(MappedTensors, ATensorThatIsTheNegativeOfItsStorageIsNeitherReadNorEdited) {
  torch::jit::Module module("Negative");
  module.register_parameter("w", at::_neg_view(draw({4, 4}, 1, at::kFloat)), false);
  module.register_parameter("g", draw({4}, 2, at::kFloat), false);
  module.define("def forward(self, x):\n  return torch.layer_norm(torch.linear(x, self.w), [4], self.g)\n");
  const auto model = makeModel(std::move(module), {draw({2, 4}, 3, at::kFloat)});
  const auto& weight = model->graph().constant(constantNamed(model->graph(), "w"));
  EXPECT_EQ(weight.view.data, nullptr);
  EXPECT_FALSE(weight.volatileReason.empty());
  EXPECT_TRUE(model->graph().constant(constantNamed(model->graph(), "g")).volatileReason.empty());
}

TEST(MappedTensors, TensorsThatShareMemoryShareItStill) {
  const TemporaryFolder folder;
  torch::jit::Module module("Tied");
  const at::Tensor table = draw({200, 200}, 1, at::kFloat);
  module.register_parameter("a", table, false);
  module.register_parameter("b", table.t(), false);
  module.define("def forward(self, x):\n  return x @ self.a @ self.b\n");
  const auto model = saved(std::move(module), folder.path() / "tied.pt");
  const auto held = model->source().module;
  EXPECT_EQ(held.attr("a").toTensor().storage().data(), held.attr("b").toTensor().storage().data());
  EXPECT_TRUE(at::equal(held.attr("b").toTensor(), table.t()));
}

TEST(MappedTensors, WhatAModelWritesToThemStaysInTheProcess) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "counting.pt";
  const auto model = saved(counting(), path);
  const std::string before = contentOf(path);
  ASSERT_TRUE(inFile(*model, model->source().module.attr("count").toTensor()));
  const at::Tensor x = draw({200, 200}, 3, at::kFloat);
  const at::Tensor first = runOn(*model, {x});
  EXPECT_TRUE(at::equal(runOn(*model, {x}), first)) << "each run starts from the file's state";
  EXPECT_EQ(contentOf(path), before);
  ASSERT_TRUE(model->save(folder.path() / "again.pt", {}));
  const auto again = must(TorchScriptModel::open(folder.path() / "again.pt", {}));
  EXPECT_TRUE(at::equal(again->source().module.attr("count").toTensor(), draw({200, 200}, 1, at::kFloat)));
}

TEST(MappedTensors, CodeThatRunsWhileItIsLoadedFindsThemRead) {
  const TemporaryFolder folder;
  torch::jit::Module module("Keeper");
  module.register_buffer("table", draw({200, 200}, 1, at::kFloat));
  module.register_attribute("total", c10::FloatType::get(), 0.0);
  module.define(
      "def forward(self, x):\n  return x + self.total\n"
      "def __getstate__(self):\n  return self.table\n"
      "def __setstate__(self, state: Tensor):\n  self.table = state\n"
      "  self.total = float(state.sum())\n");
  const auto model = saved(std::move(module), folder.path() / "keeper.pt");
  const auto sum = draw({200, 200}, 1, at::kFloat).sum().item<double>();
  EXPECT_NEAR(model->source().module.attr("total").toDouble(), sum, 1e-3);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
