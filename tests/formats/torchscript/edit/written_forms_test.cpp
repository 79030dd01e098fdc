// Sums, scales, views and pools as PyTorch's ops write them, and ops with norms inside.
#include "tests/formats/torchscript/edit/written_forms.h"
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Zeros, FreeFormTest,
    ::testing::Values(Form{"PythonSum", "  y = self.norm(0 + h + k)\n"},
                      Form{"WhereZerosLike", "  y = self.norm(torch.where(x[:, :, :1] > 0, h, torch.zeros_like(h)))\n"},
                      Form{"AddedZeros", "  y = self.norm(h + torch.zeros([1, 1, 8], dtype=h.dtype))\n"},
                      Form{"AddedScalarZeros", "  y = self.norm(h + h.new_zeros([1]))\n"},
                      Form{"ConcatZeros", "  y = self.norm(torch.cat([h, h.new_zeros([h.size(0), 2, 8])], 1))\n"},
                      Form{"EveryThirdOfRowsAndZeros",
                           "  y = self.norm(torch.cat([h, torch.zeros_like(h)], 2).view(-1, 8)[::3])\n"},
                      Form{"FullOfZeros", "  y = self.norm(torch.cat([h, torch.full_like(h, 0)], 1))\n"},
                      Form{"OneAdded", "  y = self.norm(1 + h + k)\n"},
                      Form{"OnesLike", "  y = self.norm(torch.where(x[:, :, :1] > 0, h, torch.ones_like(h)))\n"},
                      Form{"FullOfAnother", "  y = self.norm(torch.cat([h, torch.full_like(h, 0.5)], 1))\n"},
                      Form{"FilledWithOne", "  y = self.norm(h.masked_fill(x[:, :, :1] > 0, 1.0))\n"},
                      Form{"RowsFilledWithOne", "  y = self.norm(h.index_fill(1, torch.tensor([2, 0]), 1.0))\n"},
                      Form{"TimesOnes", "  y = self.norm(h * torch.ones_like(h))\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Zeros, BlockedFormTest,
    ::testing::Values(
        Form{"EmptyLike", "  y = self.norm(torch.cat([h, torch.rand_like(h)], 1))\n"},
        Form{"ZerosAlongTheChannels", "  y = self.norm(torch.cat([h[:, :, :4], torch.zeros_like(h)[:, :, 4:]], 2))\n"},
        Form{"ZerosWrittenInto", "  z = torch.zeros_like(h)\n  z.copy_(torch.relu(h))\n  y = self.norm(z)\n"},
        Form{"ZerosWithARowWritten",
             "  z = torch.zeros_like(h)\n  z[:, 0] = torch.relu(h[:, 0])\n  y = self.norm(h + z)\n"},
        Form{"ZerosAddedInto",
             "  z = torch.zeros_like(h)\n  u = z.view(-1)\n  u += 1 + torch.relu(h).view(-1)\n"
             "  y = self.norm(h + z)\n"}),
    kName);

// The caller finds it there after the run.
INSTANTIATE_TEST_SUITE_P(
    WrittenIntoAnInput, BlockedFormTest,
    ::testing::Values(Form{"Added", "  x.add_(h[:, :, :6])\n  y = self.norm(h)\n"},
                      Form{"CopiedToAView", "  x[:, 0].copy_(h[:, 0, :6])\n  y = self.norm(h)\n"},
                      Form{"TheOutputOfAnOperator", "  torch.add(h[:, :, :6], 1.0, out=x)\n  y = self.norm(h)\n"},
                      Form{"InABranch", "  if bool((x > 0).any()):\n    x.add_(h[:, :, :6])\n  y = self.norm(h)\n"}),
    kName);
INSTANTIATE_TEST_SUITE_P(WrittenIntoWhatTheRunMade, FreeFormTest,
                         ::testing::Values(Form{"Added",
                                                "  u = x * 2.0\n  x.mul_(3.0)\n  h.add_(h)\n  y = self.norm(h)\n"}),
                         kName);

INSTANTIATE_TEST_SUITE_P(
    Scales, FreeFormTest,
    ::testing::Values(
        Form{"OfABatchNormBehindTwiceABias",
             "  u = torch.add(torch.matmul(x, self.matrix), self.row, alpha=2.0).transpose(1, 2)\n"
             "  u = torch.batch_norm(u, None, None, self.s, self.variance, False, 0.1, 1e-05, False)\n"
             "  y = self.norm(u.transpose(1, 2))\n"},
        Form{"InAView", "  y = self.norm(h * self.s.view(1, 1, -1))\n"},
        Form{"InASliceOfAll", "  y = self.norm((h.transpose(1, 2) * self.s[None, :, None]).transpose(1, 2))\n"},
        Form{"BehindAView",
             "  u = torch.addmm(self.row, x.view(-1, 6), self.matrix)\n"
             "  y = self.norm(u.view(x.size(0), -1, 8) * self.s)\n"},
        Form{"InFrontOfAView", "  y = self.norm((h.view(-1, 8) * self.s).view_as(h))\n"},
        Form{"OfABatchNormOfRows",
             "  u = torch.batch_norm(h.view(-1, 8), None, None, self.s, self.variance, False, 0.1, 1e-05, "
             "False)\n"
             "  y = self.norm(u.view_as(h))\n"},
        Form{"OfABatchNormBehindABias",
             "  u = torch.add(torch.matmul(x, self.matrix), self.row).transpose(1, 2)\n"
             "  u = torch.batch_norm(u, None, None, self.s, self.variance, False, 0.1, 1e-05, False)\n"
             "  y = self.norm(u.transpose(1, 2))\n"}),
    kName);

// As a scripted BatchNorm checks its input.
const std::string kChecked =
    "  u = h.transpose(1, 2)\n  assert u.dim() == 2 or u.dim() == 3\n"
    "  z = torch.batch_norm(u, self.s, self.row, self.gamma, self.variance, False, 0.1, 1e-05, False)\n";

INSTANTIATE_TEST_SUITE_P(
    ScalesOfWhatIsChecked, FreeFormTest,
    ::testing::Values(Form{"ByItsRank", kChecked + "  y = self.norm(z.transpose(1, 2))\n"},
                      Form{"ByItsSizes", "  if h.size(1) == 99:\n    y = x\n  y = self.norm(h * self.s)\n"},
                      Form{"BesideZerosOfItsShape", "  y = self.norm(h * self.s + torch.zeros_like(h))\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    ScalesOfWhatIsChecked, BlockedFormTest,
    ::testing::Values(Form{"AndReadElsewhere", kChecked + "  y = self.norm(z.transpose(1, 2)) + u.sum()\n"},
                      Form{"ByItsNumbers", "  assert bool(h.sum() < 1000.0)\n  y = self.norm(h * self.s)\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Scales, BlockedFormTest,
    ::testing::Values(Form{"InAnotherOrder", "  y = self.norm(h * self.s.view(2, 4).t().reshape(8))\n"},
                      Form{"OfASizeOfTheRun", "  y = self.norm(h * self.s.view(1, 1, h.size(2)))\n"},
                      Form{"OfAnotherAxisInAView",
                           "  y = self.norm((h.transpose(1, 2).reshape(-1, 8, 3) * self.s[:, None]).transpose(1, 2)"
                           ".view_as(h))\n"},
                      Form{"OfHalfTheChannelsInAView", "  y = self.norm((h.view(-1, 4) * self.s[:4]).view_as(h))\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Moved, FreeFormTest,
    ::testing::Values(Form{"Lerp", "  y = self.norm(torch.lerp(h, k, 0.3))\n"},
                      Form{"Repeat", "  y = self.norm(h.repeat(1, 2, 1))\n"},
                      Form{"RepeatByARunTimeCount", "  y = self.norm(h + self.position.repeat(x.size(0), 1, 1))\n"},
                      Form{"RepeatInterleave", "  y = self.norm(h.repeat_interleave(2, 1))\n"},
                      Form{"IndexTwoAxes",
                           "  y = self.norm(h[torch.arange(h.size(0)), torch.argmax(x[:, :, 0], 1)])\n"},
                      Form{"AskedForItsKind", "  y = self.norm(h)\n  if h.is_nested:\n    y = y + 1.0\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Moved, BlockedFormTest,
    ::testing::Values(Form{"LerpByAWeightPerChannel", "  y = self.norm(torch.lerp(h, k, torch.sigmoid(self.s)))\n"},
                      Form{"LerpToARelu", "  y = self.norm(torch.lerp(h, torch.relu(k), 0.3))\n"},
                      Form{"RepeatOfChannels", "  y = self.norm(h[:, :, :4].repeat(1, 1, 2))\n"},
                      Form{"RepeatInterleaveOfAll", "  y = self.norm(h.repeat_interleave(2).view(-1, 8))\n"},
                      Form{"IndexApart",
                           "  y = self.norm(h.transpose(1, 2)[torch.tensor([0, 1]), :, torch.tensor([2, 0])])\n"},
                      Form{"IndexOfChannels",
                           "  y = self.norm(h[:, torch.tensor([0, 1, 2, 0, 1, 2, 0, 1]), "
                           "torch.tensor([0, 0, 0, 1, 1, 1, 2, 2])])\n"}),
    kName);

const std::string kCentered = "  c = h - h.mean([-1], True)\n  r = torch.rsqrt((c * c).mean([-1], True) + 1e-5)\n";

INSTANTIATE_TEST_SUITE_P(
    AddedProducts, FreeFormTest,
    ::testing::Values(Form{"OfAGate", "  y = self.norm(torch.addcmul(h, k, x[:, :, :1], value=0.5))\n"},
                      Form{"InPlace", "  y = self.norm(h.addcmul_(k, x[:, :, :1], value=0.5))\n"},
                      Form{"OfAConstantScale", "  y = self.norm(torch.addcmul(h, k, self.s, value=0.5))\n"},
                      Form{"OfAConstantScaleInPlace", "  y = self.norm(h.addcmul_(self.s, k))\n"},
                      Form{"OfAConstantDivisor", "  y = self.norm(torch.addcdiv(h, k, self.variance, value=2.0))\n"},
                      Form{"Divided", "  y = self.norm(torch.addcdiv(h, k, x[:, :, :1].abs() + 1.0, value=2.0))\n"},
                      Form{"GammaAndBeta", kCentered + "  y = torch.addcmul(self.beta, c * r, self.gamma)\n"},
                      Form{"BesideANorm", kCentered + "  y = torch.addcmul(k, c, r)\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    AddedProducts, BlockedFormTest,
    ::testing::Values(Form{"OfTwoLinears", "  y = self.norm(torch.addcmul(h, h, k))\n"},
                      Form{"ToARelu", "  y = self.norm(torch.addcmul(torch.relu(h), k, x[:, :, :1]))\n"},
                      Form{"ByANumberOfTheRun",
                           "  y = self.norm(torch.addcmul(h, k, x[:, :, :1], value=float(x.size(1))))\n"},
                      Form{"DividedByALinear", "  y = self.norm(torch.addcdiv(h, k, h * h + 1.0))\n"},
                      Form{"DividedTheOtherWay", "  y = self.norm(torch.addcdiv(h, self.variance, k))\n"}),
    kName);

TEST(AddedProducts, OfHalvesStayWhole) {
  const auto kindAs = [](at::ScalarType type) {
    torch::jit::Module m("Net");
    m.register_parameter("w", draw({3}, 2, type), false);
    m.define("def forward(self, x):\n  return torch.addcmul(x, x, self.w)\n");
    const auto model = makeModel(m, {draw({2, 3}, 1, type)});
    return model->graph().node(nodeOf(model->graph(), "aten::addcmul")).kind;
  };
  EXPECT_EQ(kindAs(at::kFloat), graph::OpKind::Add);
  EXPECT_EQ(kindAs(at::kHalf), graph::OpKind::Elementwise);
  EXPECT_EQ(kindAs(at::kBFloat16), graph::OpKind::Elementwise);
}

// What weights alone do not center is centered at run time, behind the product or before it.
TEST(AddedProducts, AreCenteredWhereOthersReadTheSum) {
  for (const char* op : {"torch.addcmul(h, k, torch.relu(k))", "torch.addcmul(h, torch.relu(k), self.s)",
                         "h.addcmul_(k, torch.relu(k), value=0.25)", "torch.addcdiv(h, k, torch.exp(k), value=-2.0)"}) {
    SCOPED_TRACE(op);
    const auto x = draw({2, 3, 6}, 10);
    const auto model =
        makeModel(network("  u = " + std::string(op) + "\n  t = u + h\n  y = self.norm(u) + self.norm(t)\n"), {x});
    const auto analysis = analysis::analyze(model->graph(), {});
    const auto plan = analysis::makePlan(**analysis, {analysis::Policy::All, 1000, {}, {}});
    ASSERT_EQ(plan.folded.size(), 2U);
    EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*applied(*model, editsOf(plan)), {x})), kExact);
  }
}

// A convolution of one position to 8 channels for each of 2 by 2 positions.
const std::string kImage =
    "  z = torch.conv2d(x.transpose(1, 2).unsqueeze(2), self.deep[:, :, None, None], self.row32)\n";

INSTANTIATE_TEST_SUITE_P(PixelShuffles, FreeFormTest,
                         ::testing::Values(Form{
                             "IntoTheImage",
                             kImage + "  y = self.norm(torch.pixel_shuffle(z, 2).permute(0, 2, 3, 1))\n"}),
                         kName);

INSTANTIATE_TEST_SUITE_P(
    PixelShuffles, BlockedFormTest,
    ::testing::Values(
        // That the channels are 8 in every run is not seen.
        Form{"AndBack", kImage + "  u = torch.pixel_unshuffle(torch.pixel_shuffle(z, 2), 2)\n"
                                 "  y = self.norm(u.permute(0, 2, 3, 1).view(-1, 8))\n"},
        Form{"OfAnotherGrouping",
             "  u = torch.pixel_unshuffle(torch.constant_pad_nd(h, [0, 0, 0, h.size(1)]).unsqueeze(0), 2)\n"
             "  y = self.norm(u.flatten().view(-1, 8))\n"},
        Form{"AlongAColumn",
             kImage + "  y = self.norm(torch.pixel_shuffle(z, 2).permute(0, 1, 3, 2).reshape(-1, 8))\n"}),
    kName);

// Bags of rows of a table.
std::string bags(const std::string& mode, const std::string& offsets = "torch.arange(0, ids.size(0), 2)") {
  return "  ids = torch.argmax(x, 2).view(-1)\n  offsets = " + offsets +
         "\n  bags = torch.embedding_bag(self.qkv, ids, offsets, False, " + mode + ")\n";
}

INSTANTIATE_TEST_SUITE_P(
    EmbeddingBags, FreeFormTest,
    ::testing::Values(Form{"Sums", bags("0") + "  y = self.norm(bags[0])\n"},
                      Form{"Means", bags("1") + "  y = self.norm(bags[0])\n"},
                      Form{"EmptyOnes", bags("1", "torch.arange(8) * 0") + "  y = self.norm(bags[0])\n"},
                      Form{"OfWeightedRows", bags("0, False, x.sum([2]).view(-1)") + "  y = self.norm(bags[0])\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    EmbeddingBags, BlockedFormTest,
    ::testing::Values(Form{"Maxima", bags("2") + "  y = self.norm(bags[0])\n"},
                      Form{"AlongTheBags", bags("1", "torch.arange(8) * 0") + "  y = self.norm(bags[0].t())\n"},
                      Form{"TheirSizes",
                           bags("1", "torch.arange(8) * 0") + "  y = self.norm(bags[2].to(x.dtype).unsqueeze(0))\n"},
                      Form{"OfATableThatIsReadElsewhere",
                           bags("1") + "  y = self.norm(bags[0]) + self.norm(torch.relu(bags[0]))\n", 2}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    AveragePools, FreeFormTest,
    ::testing::Values(Form{"OfPositionsOnly", "  y = self.norm(torch.avg_pool2d(h, [2, 1]))\n"},
                      Form{"OfPositionsWithStrides",
                           "  y = self.norm(torch.avg_pool2d(h, [3, 1], [2, 1], [1, 0], False, False))\n"},
                      Form{"OfNothing", "  y = self.norm(torch.avg_pool1d(h, 1))\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    AveragePools, BlockedFormTest,
    ::testing::Values(Form{"OfChannels", "  y = self.norm(torch.avg_pool2d(h, [1, 3], [1, 1], [0, 1]))\n"},
                      Form{"OfEveryOtherChannel",
                           "  y = self.norm(torch.avg_pool2d(torch.cat([h, k], 2), [1, 1], [1, 2]))\n"},
                      Form{"OfChannelsWithOneNumberForAll", "  y = self.norm(torch.avg_pool2d(h, 3, 1, 1))\n"}),
    kName);

const std::string kAttention =
    "  a, n = torch._native_multi_head_attention(h, h, h, 8, 2, self.qkv, self.qkvBias, self.proj, self.projBias, "
    "None, "
    "False)\n";

INSTANTIATE_TEST_SUITE_P(NativeAttention, FreeFormTest,
                         ::testing::Values(Form{"Output", kAttention + "  y = self.norm(a + k)\n"}), kName);
INSTANTIATE_TEST_SUITE_P(NativeAttention, BlockedFormTest,
                         ::testing::Values(Form{"Input", kAttention + "  y = self.norm(h) * a.sum()\n"}), kName);

TEST(EncoderLayer, ItsNormsAreFoundAndSaidToBeInside) {
  torch::jit::Module layer("Layer");
  for (const auto& [name, shape] : {std::pair<const char*, std::vector<int64_t>>{"one", {8}}, {"two", {8}}}) {
    torch::jit::Module norm("Norm");
    norm.register_parameter("weight", draw(shape, 3), false);
    norm.register_parameter("bias", draw(shape, 4), false);
    layer.register_module(name, norm);
  }
  for (const auto& [name, shape] : {std::pair<const char*, std::vector<int64_t>>{"qkv", {24, 8}},
                                    {"qkvBias", {24}},
                                    {"proj", {8, 8}},
                                    {"projBias", {8}},
                                    {"up", {16, 8}},
                                    {"upBias", {16}},
                                    {"down", {8, 16}},
                                    {"downBias", {8}}}) {
    layer.register_parameter(name, draw(shape, 5), false);
  }
  layer.define(
      "def forward(self, x):\n  return torch._transformer_encoder_layer_fwd(x, 8, 2, self.qkv, self.qkvBias, "
      "self.proj, "
      "self.projBias, True, True, 1e-05, self.one.weight, self.one.bias, self.two.weight, self.two.bias, self.up, "
      "self.upBias, self.down, self.downBias)\n");
  const auto model = makeModel(layer, {draw({2, 3, 8}, 1)});
  ASSERT_TRUE(graph::checkGraph(model->graph()));
  const auto analysis = analysis::analyze(model->graph(), {});
  const auto& norms = (*analysis)->norms.layerNorms;
  ASSERT_EQ(norms.size(), 2U);
  EXPECT_EQ(norms[0].name, "one");
  EXPECT_EQ(norms[1].name, "two");
  for (const auto& norm : norms) EXPECT_EQ(norm.form, analysis::NormForm::Fused);
  for (const auto& verdict : (*analysis)->verdicts) {
    EXPECT_EQ(verdict.verdict, analysis::Verdict::Blocked);
    EXPECT_NE(verdict.reason.find("inside an operation"), std::string::npos) << verdict.reason;
  }
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
