// Ops that write in place: renamed where that is safe, opaque where it is not.
#include "tests/formats/torchscript/read/written_module.h"

namespace normlens::formats::torchscript::test {
namespace {

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

}  // namespace
}  // namespace normlens::formats::torchscript::test
