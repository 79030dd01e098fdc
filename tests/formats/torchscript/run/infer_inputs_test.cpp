// Inputs guessed for modules that keep no example.
#include <chrono>
#include <limits>

#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::torchscript::test {
namespace {

std::unique_ptr<TorchScriptModel> unprobed(torch::jit::Module module) {
  return std::move(TorchScriptModel::fromModule({std::move(module), {}, nullptr, {}}, {}).value());
}

TEST(InferInputs, ArgumentsWithDefaultsNeedNotBeGiven) {
  torch::jit::Module top("Top");
  top.define(
      "def forward(self, x, flag: bool = True, y: Optional[Tensor] = None):\n"
      "  return x if flag else x + 1\n");
  const auto model = makeModel(top, {draw({2, 3}, 1)});
  const auto inputs = model->inputArrays({});
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_FALSE(inputs[0].hasDefault);
  EXPECT_TRUE(inputs[1].hasDefault);
  EXPECT_TRUE(inputs[2].hasDefault);
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
  const auto specs = must(unprobed(top)->inferInputs());
  ASSERT_EQ(specs.size(), 1U);
  EXPECT_EQ(specs[0].dtype, graph::DType::Int64);
  EXPECT_EQ(specs[0].high, 8);
  EXPECT_EQ(specs[0].shape.size(), 2U);
  EXPECT_EQ(specs[0].freeAxes, (std::vector<int>{0, 1}));
  EXPECT_NE(specs[0].shape[0], specs[0].shape[1]);
  EXPECT_NE(specs[0].assumed.find("wte"), std::string::npos);
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
  const auto specs = must(unprobed(top)->inferInputs());
  EXPECT_EQ(specs[0].shape, (graph::Shape{2, 3, 20, 20}));
  EXPECT_EQ(specs[0].freeAxes, (std::vector<int>{0}));
}

TEST(InferInputs, WidthsAndMasks) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 10}, 1), false);
  top.define("def forward(self, x, mask):\n  return torch.linear(x, self.w) * mask.unsqueeze(-1)[..., :1].mean()\n");
  const auto specs = must(unprobed(top)->inferInputs());
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_EQ(specs[0].shape.back(), 10);
}

TEST(InferInputs, OptionalInputsAreLeftOut) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 10}, 1), false);
  top.define(
      "def forward(self, x, scale: float=2.0, bias: Optional[Tensor]=None):\n  y = torch.linear(x, self.w) * scale\n  "
      "if bias is not None:\n    y = y + bias\n  return y\n");
  auto model = unprobed(top);
  const auto specs = must(model->inferInputs());
  EXPECT_EQ(specs.size(), 1U);
}

TEST(InferInputs, NamesAreThoseOfTheCode) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 10}, 1), false);
  top.define("def forward(self, x, scale: float):\n  y = x * scale\n  return torch.linear(y, self.w)\n");
  auto model = unprobed(top);
  const auto specs = must(model->inferInputs());
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_EQ(specs[0].name, "x");
  EXPECT_EQ(specs[1].name, "scale");
  EXPECT_EQ(model->graph().value(model->graph().inputs()[0]).name, "x");
  const auto& program = model->program();
  const std::string numbered = program.values[static_cast<size_t>(program.blocks[0].params[0])].value->debugName();
  EXPECT_EQ(model->ownNames({"scale", numbered}), (std::vector<std::string>{"scale", "x"})) << numbered;
  EXPECT_TRUE(graph::checkGraph(model->graph())) << "names stay unique";
}

// What is given by name goes where it belongs, also past inputs that may be left out.
TEST(InferInputs, AnInputThatIsLeftOutTakesNoOtherOnesArray) {
  torch::jit::Module top("Top");
  top.define("def forward(self, mask: Optional[Tensor], x):\n  return x * 2 if mask is None else mask\n");
  auto model = unprobed(top);
  const at::Tensor x = draw({2, 3}, 1, at::kFloat);
  const auto outputs = must(model->run({{"x", viewOf(x)}}, {}));
  EXPECT_TRUE(at::equal(tensorOf(outputs.front().view), x * 2));
}

// Rows that hold infinities are seen by a run, which shapes alone are not worth.
TEST(InferInputs, OnlyForValuesTheResultsAreMadeFinite) {
  torch::jit::Module top("Top");
  const at::Tensor table = draw({9, 4}, 1);
  table.slice(0, 2).fill_(std::numeric_limits<double>::infinity());
  top.register_parameter("wte", table, false);
  top.define("def forward(self, ids):\n  return torch.embedding(self.wte, ids)\n");
  const auto model = unprobed(top);
  const auto forValues = must(model->inferInputs(InputsFor::Values));
  const auto forShapes = must(model->inferInputs(InputsFor::Shapes));
  EXPECT_EQ(forValues.front().high, 1);
  EXPECT_EQ(forShapes.front().high, 8);
  EXPECT_EQ(forShapes.front().shape, forValues.front().shape);
}

TEST(InferInputs, OneOfSeveralOptionalInputsIsGiven) {
  torch::jit::Module top("Top");
  top.register_parameter("wte", draw({9, 4}, 1), false);
  top.define(R"(
def forward(self, ids: Optional[Tensor] = None, embeds: Optional[Tensor] = None):
  if ids is not None:
    y = torch.embedding(self.wte, ids)
  else:
    assert embeds is not None, "give ids or embeds"
    y = embeds
  return torch.layer_norm(y, [4])
)");
  auto model = unprobed(top);
  const auto specs = must(model->inferInputs());
  ASSERT_EQ(specs.size(), 1U);
  EXPECT_EQ(specs[0].name, "ids");
  EXPECT_EQ(specs[0].high, 8);
}

TEST(InferInputs, AnOptionalInputIsGivenWhereItIsMissed) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 10}, 1), false);
  top.define(R"(
def forward(self, x, bias: Optional[Tensor] = None):
  assert bias is not None, "bias is needed"
  return torch.linear(x, self.w) + bias.sum()
)");
  const auto specs = must(unprobed(top)->inferInputs());
  EXPECT_EQ(specs.size(), 2U);
}

// A trace of a recurrence: the length is nowhere but in the indices.
TEST(InferInputs, ALengthThatWasWrittenOut) {
  torch::jit::Module top("Top");
  top.register_parameter("wte", draw({9, 4}, 1), false);
  top.define(R"(
def forward(self, ids):
  y = torch.embedding(self.wte, ids)
  h = torch.zeros([2, 1, 4], dtype=y.dtype)
  rows: List[Tensor] = []
  for i in range(11):
    h = h * 0.5 + y[:, i:i + 1]
    rows.append(y[:, i] + h[:, 0])
  return torch.stack(rows, 1) + y
)");
  const auto specs = must(unprobed(top)->inferInputs());
  EXPECT_EQ(specs[0].shape, (graph::Shape{2, 11}));
}

TEST(InferInputs, SeveralInputsOfDifferentShapes) {
  torch::jit::Module top("Top");
  top.register_parameter("a", draw({6, 10}, 1), false);
  top.register_parameter("b", draw({6, 5}, 2), false);
  top.define(R"(
def forward(self, x, y, mask):
  z = torch.linear(x, self.a).mean(1) + torch.linear(y, self.b)
  return z.masked_fill(mask, 0.0)
)");
  const auto specs = must(unprobed(top)->inferInputs());
  EXPECT_EQ(specs[2].dtype, graph::DType::Bool);
}

TEST(InferInputs, ASideThatTheCodeInsistsOn) {
  torch::jit::Module top("Top");
  top.register_parameter("patch", draw({8, 3, 4, 4}, 1), false);
  top.define(R"(
def forward(self, x):
  assert x.size(2) == 44 and x.size(3) == 52, "the image must be 44 by 52"
  return torch.conv2d(x, self.patch, None, [4, 4])
)");
  const auto specs = must(unprobed(top)->inferInputs());
  EXPECT_EQ(specs[0].shape, (graph::Shape{2, 3, 44, 52}));
}

TEST(InferInputs, GivesUpInTimeAndSaysWhatWasTried) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 10}, 1), false);
  top.define("def forward(self, x):\n  y = torch.linear(x, self.w)\n  assert x.dim() == 99, 'never'\n  return y\n");
  const auto start = std::chrono::steady_clock::now();
  const Error specs = failureOf(unprobed(top)->inferInputs());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(6));
  EXPECT_NE(specs.message.find("x=float64[2,7,10] came furthest: "), std::string::npos) << specs.message;
  EXPECT_NE(specs.message.find("never"), std::string::npos) << specs.message;
  EXPECT_EQ(specs.hint.key, HintKey::Inputs);
}

TEST(InferInputs, SaysWhatItCannotMakeUp) {
  torch::jit::Module top("Top");
  top.define("def forward(self, x, mode: str):\n  return x + 1 if mode == 'a' else x\n");
  const Error specs = failureOf(unprobed(top)->inferInputs());
  EXPECT_EQ(specs.code, ErrorCode::BadInput);
  EXPECT_NE(specs.hint.text().find("--inputs"), std::string::npos);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
