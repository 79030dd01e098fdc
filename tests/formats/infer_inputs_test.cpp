// Inputs guessed for modules that keep no example.
#include "tests/formats/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

std::unique_ptr<TorchScriptModel> unprobed(torch::jit::Module module) {
  return std::move(TorchScriptModel::fromModule({std::move(module), {}, nullptr, nullptr}, {}).value());
}

TEST(InferInputs, ArgumentsWithDefaultsNeedNotBeGiven) {
  torch::jit::Module top("Top");
  top.define(
      "def forward(self, x, flag: bool = True, y: Optional[Tensor] = None):\n"
      "  return x if flag else x + 1\n");
  const auto model = makeModel(top, {draw({2, 3}, 1)});
  EXPECT_FALSE(model->hasDefault(0));
  EXPECT_TRUE(model->hasDefault(1));
  EXPECT_TRUE(model->hasDefault(2));
}

TEST(InferInputs, IndicesStayBelowTheRowsOfTheTable) {
  torch::jit::Module top("Top");
  top.register_parameter("wte", draw({9, 4}, 1), false);
  top.register_parameter("wpe", draw({64, 4}, 2), false);
  top.define(R"(
def forward(self, ids):
  positions = torch.arange(0, ids.size(1))
  return torch.embedding(self.wte, ids) + torch.embedding(self.wpe, positions)
)");
  const auto specs = unprobed(top)->inferInputs();
  ASSERT_TRUE(specs) << specs.error().message;
  ASSERT_EQ(specs->size(), 1U);
  EXPECT_EQ((*specs)[0].dtype, graph::DType::Int64);
  EXPECT_EQ((*specs)[0].high, 8);
  EXPECT_EQ((*specs)[0].shape.size(), 2U);
  EXPECT_EQ((*specs)[0].freeAxes, (std::vector<int>{0, 1}));
  EXPECT_NE((*specs)[0].shape[0], (*specs)[0].shape[1]);
  EXPECT_NE((*specs)[0].assumed.find("wte"), std::string::npos);
}

TEST(InferInputs, AnImageSideThatFitsThePositionTable) {
  torch::jit::Module top("Top");
  top.register_parameter("patch", draw({8, 3, 4, 4}, 1), false);
  top.register_parameter("positions", draw({1, 26, 8}, 2), false);
  top.register_parameter("cls", draw({1, 1, 8}, 3), false);
  top.define(R"(
def forward(self, x):
  y = torch.conv2d(x, self.patch, None, [4, 4]).flatten(2).transpose(1, 2)
  y = torch.cat([self.cls.expand(y.size(0), 1, 8), y], 1)
  return y + self.positions
)");
  const auto specs = unprobed(top)->inferInputs();
  ASSERT_TRUE(specs) << specs.error().message;
  EXPECT_EQ((*specs)[0].shape, (graph::Shape{2, 3, 20, 20}));
  EXPECT_EQ((*specs)[0].freeAxes, (std::vector<int>{0}));
}

TEST(InferInputs, AnImageThatViewsCutIntoPatches) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({8, 48}, 1), false);
  top.register_parameter("positions", draw({1, 25, 8}, 2), false);
  top.define(R"(
def forward(self, x):
  b, c, h, w = x.shape
  y = x.reshape(b, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(b, (h // 4) * (w // 4), 16 * c)
  return torch.linear(y, self.w) + self.positions
)");
  const auto specs = unprobed(top)->inferInputs();
  ASSERT_TRUE(specs) << specs.error().message;
  EXPECT_EQ((*specs)[0].shape, (graph::Shape{2, 3, 20, 20}));
}

TEST(InferInputs, WidthsAndMasks) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 10}, 1), false);
  top.define("def forward(self, x, mask):\n  return torch.linear(x, self.w) * mask.unsqueeze(-1)[..., :1].mean()\n");
  const auto specs = unprobed(top)->inferInputs();
  ASSERT_TRUE(specs) << specs.error().message;
  ASSERT_EQ(specs->size(), 2U);
  EXPECT_EQ((*specs)[0].shape.back(), 10);
}

TEST(InferInputs, OptionalInputsAreLeftOut) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 10}, 1), false);
  top.define(
      "def forward(self, x, scale: float=2.0, bias: Optional[Tensor]=None):\n  y = torch.linear(x, self.w) * scale\n  "
      "if bias is not None:\n    y = y + bias\n  return y\n");
  auto model = unprobed(top);
  const auto specs = model->inferInputs();
  ASSERT_TRUE(specs) << specs.error().message;
  EXPECT_EQ(specs->size(), 1U);
}

TEST(InferInputs, SaysWhatItCannotMakeUp) {
  torch::jit::Module top("Top");
  top.define("def forward(self, x: Dict[str, Tensor]):\n  return x['a'] + 1\n");
  const auto specs = unprobed(top)->inferInputs();
  ASSERT_FALSE(specs);
  EXPECT_EQ(specs.error().code, ErrorCode::BadInput);
  EXPECT_NE(specs.error().hint.find("--inputs"), std::string::npos);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
