// Ways of writing one thing in PyTorch: the verdict of each, and the fold of those that fold against the original. What
// every format can write is in tests/formats/edit.
#include "core/analysis/analysis.h"
#include "core/analysis/streams/streams.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::torchscript::test {
namespace {

enum Outcome { Free, Centered, Blocked, NoNorm };  // by weights alone; with centerings at run time; not free

// The code makes y of the linears h and k; where its last line does not end, that is what the norm reads that makes y.
struct Form {
  std::string name;
  Outcome outcome;
  std::string code;
  int norms = 1;
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.code; }

// Two linears of the input to 8 features, h and k; the code makes y of them, which a last linear reads. `norm(` stands
// for a LayerNorm with gamma and beta.
torch::jit::Module network(const std::string& form) {
  const std::string read = form.substr(form.rfind('\n') + 1);
  const std::string code =
      read.empty() ? form : form.substr(0, form.size() - read.size()) + "  y = self.norm(" + read + ")\n";
  torch::jit::Module m("Net");
  const std::tuple<const char*, std::vector<int64_t>, uint64_t> weights[] = {
      {"w", {8, 6}, 1},     {"b", {8}, 2},          {"v", {8, 6}, 3},      {"c", {8}, 4},
      {"gamma", {8}, 5},    {"beta", {8}, 6},       {"o", {5, 8}, 7},      {"p", {5}, 8},
      {"s", {8}, 9},        {"matrix", {6, 8}, 10}, {"row", {8}, 11},      {"position", {1, 1, 8}, 12},
      {"qkv", {24, 8}, 13}, {"qkvBias", {24}, 14},  {"deep", {32, 6}, 18}, {"row32", {32}, 19},
      {"proj", {8, 8}, 15}, {"projBias", {8}, 16}};
  for (const auto& [name, shape, seed] : weights) m.register_parameter(name, draw(shape, seed), false);
  m.register_parameter("variance", draw({8}, 17).abs() + 0.5, false);
  m.define("def addInto(self, u, k):\n  u.add_(k)\n");
  m.define("def norm(self, h):\n  return torch.layer_norm(h, [8], self.gamma, self.beta, 1e-05, False)\n");
  m.define("def forward(self, x):\n  h = torch.linear(x, self.w, self.b)\n  k = torch.linear(x, self.v, self.c)\n" +
           code + "  return torch.linear(y, self.o, self.p)\n");
  return m;
}

class Forms : public ::testing::TestWithParam<Form> {};

void expectOutcome(const Form& form, const at::Tensor& x) {
  const auto model = makeModel(network(form.code), {x});
  ASSERT_TRUE(graph::checkGraph(model->graph()));
  const auto analysis = must(analysis::analyze(model->graph(), {}));
  ASSERT_EQ(analysis->verdicts.size(), form.outcome == NoNorm ? 0 : static_cast<size_t>(form.norms));
  std::string reason;
  for (const auto& verdict : analysis->verdicts) {
    if (verdict.verdict != analysis::Verdict::Free) reason = verdict.reason;
  }
  const bool folds = form.outcome == Free || form.outcome == Centered;
  EXPECT_EQ(reason.empty(), form.outcome == Free || form.outcome == NoNorm) << reason;
  if (!folds) return;
  const auto policy = form.outcome == Free ? analysis::Policy::Free : analysis::Policy::All;
  const auto plan = analysis::makePlan(*analysis, {policy, 1000, {}, {}});
  ASSERT_EQ(plan.folded.size(), static_cast<size_t>(form.norms));
  const auto edits = analysis::narrowed(plan, {}).edits;
  const auto folded = applied(*model, edits), twin = applied(*asTorchScript(model->toFloat64()), edits);
  EXPECT_TRUE(analysis::findNorms(folded->graph()).layerNorms.empty());
  for (const auto& input : {x, draw({3, 7, 6}, 11), draw({1, 4, 6}, 12)}) {
    const auto y = runOn(*model, {input});
    EXPECT_LT(relativeDifference(y, runOn(*folded, {input})), kExact);
    EXPECT_LT(relativeDifference(y, runOn(*twin, {input})), kExact) << "a proof folds a twin without types";
  }
}

TEST_P(Forms, FoldExactlyOrNotAtAll) { expectOutcome(GetParam(), draw({2, 3, 6}, 10)); }

// One row of positions for all of the batch: only the addend has the batch's size.
TEST(Forms, AnAddendThatWidensAnInputOfOneRow) {
  expectOutcome({"", Free, "self.position + x[:, :, :1]"}, draw({1, 5, 6}, 10));
}

// As a scripted BatchNorm checks its input.
const std::string kChecked =
    "  u = h.transpose(1, 2)\n  assert u.dim() == 2 or u.dim() == 3\n"
    "  z = torch.batch_norm(u, self.s, self.row, self.gamma, self.variance, False, 0.1, 1e-05, False)\n";

const std::string kCentered = "  c = h - h.mean([-1], True)\n  r = torch.rsqrt((c * c).mean([-1], True) + 1e-5)\n";

// A convolution of one position to 8 channels for each of 2 by 2 positions.
const std::string kImage =
    "  z = torch.conv2d(x.transpose(1, 2).unsqueeze(2), self.deep[:, :, None, None], self.row32)\n";

// Bags of rows of a table.
std::string bags(const std::string& mode, const std::string& offsets = "torch.arange(0, ids.size(0), 2)") {
  return "  ids = torch.argmax(x, 2).view(-1)\n  offsets = " + offsets +
         "\n  bags = torch.embedding_bag(self.qkv, ids, offsets, False, " + mode + ")\n";
}

const std::string kAttention =
    "  a, n = torch._native_multi_head_attention(h, h, h, 8, 2, self.qkv, self.qkvBias, self.proj, self.projBias, "
    "None, False)\n";

// In the run that gives the shapes the mask takes no rows; it could.
const std::string kNone = "  m = x[:, :, 0] > 100.0\n";
const std::string kRows = "  n = torch.arange(h.size(0))\n  i = torch.argmax(x[:, :, 0], 1)\n";
const std::string kOrder = "  order = torch.argsort(x[:, :, 0], 1).unsqueeze(-1).expand(-1, -1, 8)\n";

const Form kForms[] = {
    {"WrittenNorms_VarMean", Free,
     "  v, m = torch.var_mean(h, [-1], False, True)\n  y = (h - m) * torch.rsqrt(v + 1e-5) * self.gamma + self.beta\n"},
    {"WrittenNorms_VarMeanDivided", Free,
     "  v, m = torch.var_mean(h, [-1], correction=0, keepdim=True)\n  y = (h - m) / torch.sqrt(v + 1e-5)\n"},
    {"WrittenNorms_MultipliedOut", Free,
     "  v, m = torch.var_mean(h, [-1], False, True)\n  k = torch.rsqrt(v + 1e-5) * self.gamma\n  y = h * k + "
     "(self.beta - m * k)\n"},
    {"WrittenWithSums_WithoutTheAxis", Free,
     "  c = h - (h.sum([-1]) / 8).unsqueeze(-1)\n  v = (c ** 2).sum([-1]) / 8\n  y = c / (v + "
     "1e-5).sqrt().unsqueeze(-1) * self.gamma + self.beta\n"},
    {"WrittenWithSums_ByAnotherAxis", NoNorm,
     "  c = h - h.sum([-1], True) / 3\n  y = c / torch.sqrt((c * c).sum([-1], True) / 3 + 1e-5)\n"},
    {"WrittenWithSums_OverAnotherAxis", NoNorm,
     "  c = h - h.sum([1], True) / 3\n  y = c / torch.sqrt((c * c).sum([-1], True) / 8 + 1e-5)\n"},
    {"WrittenWithSums_VarianceOverAnotherAxis", NoNorm,
     "  c = h - h.sum([-1], True) / 8\n  y = c / torch.sqrt((c * c).sum([1], True) / 3 + 1e-5)\n"},
    {"WrittenWithSums_ByANumberOfTheRun", NoNorm,
     "  c = h - h.sum([-1], True) / x.size(1)\n  y = c / torch.sqrt((c * c).sum([-1], True) / x.size(1) + 1e-5)\n"},
    {"WrittenWithSums_TheSumAsTheDivisor", NoNorm,
     "  c = h - 8 / h.sum([-1], True)\n  y = c / torch.sqrt((c * c).sum([-1], True) / 8 + 1e-5)\n"},
    {"WrittenNorms_UnbiasedVariance", NoNorm,
     "  v, m = torch.var_mean(h, [-1], True, True)\n  y = (h - m) * torch.rsqrt(v + 1e-5) * self.gamma + self.beta\n"},
    {"WrittenNorms_Deviation", NoNorm,
     "  v, m = torch.std_mean(h, [-1], False, True)\n  y = (h - m) * torch.rsqrt(v + 1e-5) * self.gamma + self.beta\n"},
    {"WrittenNorms_MultipliedOutWithTheMeanAdded", NoNorm,
     "  v, m = torch.var_mean(h, [-1], False, True)\n  k = torch.rsqrt(v + 1e-5) * self.gamma\n  y = h * k + "
     "(self.beta + m * k)\n"},
    {"WrittenNorms_OfAnotherValue", NoNorm,
     "  v, m = torch.var_mean(k, [-1], False, True)\n  y = (h - m) * torch.rsqrt(v + 1e-5) * self.gamma + self.beta\n"},
    {"Zeros_PythonSum", Free, "0 + h + k"},
    {"Zeros_WhereZerosLike", Free, "torch.where(x[:, :, :1] > 0, h, torch.zeros_like(h))"},
    {"Zeros_AddedZeros", Free, "h + torch.zeros([1, 1, 8], dtype=h.dtype)"},
    {"Zeros_AddedScalarZeros", Free, "h + h.new_zeros([1])"},
    {"Zeros_ConcatZeros", Free, "torch.cat([h, h.new_zeros([h.size(0), 2, 8])], 1)"},
    {"Zeros_EveryThirdOfRowsAndZeros", Free, "torch.cat([h, torch.zeros_like(h)], 2).view(-1, 8)[::3]"},
    {"Zeros_FullOfZeros", Free, "torch.cat([h, torch.full_like(h, 0)], 1)"},
    {"Zeros_OneAdded", Free, "1 + h + k"},
    {"Zeros_OnesLike", Free, "torch.where(x[:, :, :1] > 0, h, torch.ones_like(h))"},
    {"Zeros_FullOfAnother", Free, "torch.cat([h, torch.full_like(h, 0.5)], 1)"},
    {"Zeros_FilledWithOne", Free, "h.masked_fill(x[:, :, :1] > 0, 1.0)"},
    {"Zeros_RowsFilledWithOne", Free, "h.index_fill(1, torch.tensor([2, 0]), 1.0)"},
    {"Zeros_TimesOnes", Free, "h * torch.ones_like(h)"},
    {"Zeros_EmptyLike", Blocked, "torch.cat([h, torch.rand_like(h)], 1)"},
    {"Zeros_ZerosAlongTheChannels", Blocked, "torch.cat([h[:, :, :4], torch.zeros_like(h)[:, :, 4:]], 2)"},
    {"Zeros_ZerosWrittenInto", Blocked, "  z = torch.zeros_like(h)\n  z.copy_(torch.relu(h))\nz"},
    {"Zeros_ZerosWithARowWritten", Blocked, "  z = torch.zeros_like(h)\n  z[:, 0] = torch.relu(h[:, 0])\nh + z"},
    {"Zeros_ZerosAddedInto", Blocked,
     "  z = torch.zeros_like(h)\n  u = z.view(-1)\n  u += 1 + torch.relu(h).view(-1)\nh + z"},
    // The caller finds it there after the run.
    {"WrittenIntoAnInput_Added", Blocked, "  x.add_(h[:, :, :6])\nh"},
    {"WrittenIntoAnInput_CopiedToAView", Blocked, "  x[:, 0].copy_(h[:, 0, :6])\nh"},
    {"WrittenIntoAnInput_TheOutputOfAnOperator", Blocked, "  torch.add(h[:, :, :6], 1.0, out=x)\nh"},
    {"WrittenIntoAnInput_InABranch", Blocked, "  if bool((x > 0).any()):\n    x.add_(h[:, :, :6])\nh"},
    {"WrittenIntoWhatTheRunMade_Added", Free, "  u = x * 2.0\n  x.mul_(3.0)\n  h.add_(h)\nh"},
    {"Scales_OfABatchNormBehindTwiceABias", Free,
     "  u = torch.add(torch.matmul(x, self.matrix), self.row, alpha=2.0).transpose(1, 2)\n  u = torch.batch_norm(u, "
     "None, None, self.s, self.variance, False, 0.1, 1e-05, False)\nu.transpose(1, 2)"},
    {"Scales_InAView", Free, "h * self.s.view(1, 1, -1)"},
    {"Scales_InASliceOfAll", Free, "(h.transpose(1, 2) * self.s[None, :, None]).transpose(1, 2)"},
    {"Scales_BehindAView", Free,
     "  u = torch.addmm(self.row, x.view(-1, 6), self.matrix)\nu.view(x.size(0), -1, 8) * self.s"},
    {"Scales_InFrontOfAView", Free, "(h.view(-1, 8) * self.s).view_as(h)"},
    {"Scales_OfABatchNormOfRows", Free,
     "  u = torch.batch_norm(h.view(-1, 8), None, None, self.s, self.variance, False, 0.1, 1e-05, "
     "False)\nu.view_as(h)"},
    {"Scales_OfABatchNormBehindABias", Free,
     "  u = torch.add(torch.matmul(x, self.matrix), self.row).transpose(1, 2)\n  u = torch.batch_norm(u, None, None, "
     "self.s, self.variance, False, 0.1, 1e-05, False)\nu.transpose(1, 2)"},
    {"ScalesOfWhatIsChecked_ByItsRank", Free, kChecked + "z.transpose(1, 2)"},
    {"ScalesOfWhatIsChecked_ByItsSizes", Free, "  if h.size(1) == 99:\n    y = x\nh * self.s"},
    {"ScalesOfWhatIsChecked_BesideZerosOfItsShape", Free, "h * self.s + torch.zeros_like(h)"},
    {"ScalesOfWhatIsChecked_AndReadElsewhere", Blocked, kChecked + "  y = self.norm(z.transpose(1, 2)) + u.sum()\n"},
    {"ScalesOfWhatIsChecked_ByItsNumbers", Blocked, "  assert bool(h.sum() < 1000.0)\nh * self.s"},
    {"Scales_InAnotherOrder", Blocked, "h * self.s.view(2, 4).t().reshape(8)"},
    {"Scales_OfASizeOfTheRun", Blocked, "h * self.s.view(1, 1, h.size(2))"},
    {"Scales_OfAnotherAxisInAView", Blocked,
     "(h.transpose(1, 2).reshape(-1, 8, 3) * self.s[:, None]).transpose(1, 2).view_as(h)"},
    {"Scales_OfHalfTheChannelsInAView", Blocked, "(h.view(-1, 4) * self.s[:4]).view_as(h)"},
    {"Moved_Lerp", Free, "torch.lerp(h, k, 0.3)"},
    {"Moved_Repeat", Free, "h.repeat(1, 2, 1)"},
    {"Moved_RepeatByARunTimeCount", Free, "h + self.position.repeat(x.size(0), 1, 1)"},
    {"Moved_RepeatInterleave", Free, "h.repeat_interleave(2, 1)"},
    {"Moved_IndexTwoAxes", Free, "h[torch.arange(h.size(0)), torch.argmax(x[:, :, 0], 1)]"},
    {"Moved_AskedForItsKind", Free, "  y = self.norm(h)\n  if h.is_nested:\n    y = y + 1.0\n"},
    {"Moved_LerpByAWeightPerChannel", Blocked, "torch.lerp(h, k, torch.sigmoid(self.s))"},
    {"Moved_LerpToARelu", Blocked, "torch.lerp(h, torch.relu(k), 0.3)"},
    {"Moved_RepeatOfChannels", Blocked, "h[:, :, :4].repeat(1, 1, 2)"},
    {"Moved_RepeatInterleaveOfAll", Blocked, "h.repeat_interleave(2).view(-1, 8)"},
    {"Moved_IndexApart", Blocked, "h.transpose(1, 2)[torch.tensor([0, 1]), :, torch.tensor([2, 0])]"},
    {"Moved_IndexOfChannels", Blocked,
     "h[:, torch.tensor([0, 1, 2, 0, 1, 2, 0, 1]), torch.tensor([0, 0, 0, 1, 1, 1, 2, 2])]"},
    {"AddedProducts_OfAGate", Free, "torch.addcmul(h, k, x[:, :, :1], value=0.5)"},
    {"AddedProducts_InPlace", Free, "h.addcmul_(k, x[:, :, :1], value=0.5)"},
    {"AddedProducts_OfAConstantScale", Free, "torch.addcmul(h, k, self.s, value=0.5)"},
    {"AddedProducts_OfAConstantScaleInPlace", Free, "h.addcmul_(self.s, k)"},
    {"AddedProducts_OfAConstantDivisor", Free, "torch.addcdiv(h, k, self.variance, value=2.0)"},
    {"AddedProducts_Divided", Free, "torch.addcdiv(h, k, x[:, :, :1].abs() + 1.0, value=2.0)"},
    {"AddedProducts_GammaAndBeta", Free, kCentered + "  y = torch.addcmul(self.beta, c * r, self.gamma)\n"},
    {"AddedProducts_BesideANorm", Free, kCentered + "  y = torch.addcmul(k, c, r)\n"},
    {"AddedProducts_OfTwoLinears", Blocked, "torch.addcmul(h, h, k)"},
    {"AddedProducts_ToARelu", Blocked, "torch.addcmul(torch.relu(h), k, x[:, :, :1])"},
    {"AddedProducts_ByANumberOfTheRun", Blocked, "torch.addcmul(h, k, x[:, :, :1], value=float(x.size(1)))"},
    {"AddedProducts_DividedByALinear", Blocked, "torch.addcdiv(h, k, h * h + 1.0)"},
    {"AddedProducts_DividedTheOtherWay", Blocked, "torch.addcdiv(h, self.variance, k)"},
    {"PixelShuffles_IntoTheImage", Free, kImage + "torch.pixel_shuffle(z, 2).permute(0, 2, 3, 1)"},
    // That the channels are 8 in every run is not seen.
    {"PixelShuffles_AndBack", Blocked,
     kImage + "  u = torch.pixel_unshuffle(torch.pixel_shuffle(z, 2), 2)\nu.permute(0, 2, 3, 1).view(-1, 8)"},
    {"PixelShuffles_OfAnotherGrouping", Blocked,
     "  u = torch.pixel_unshuffle(torch.constant_pad_nd(h, [0, 0, 0, h.size(1)]).unsqueeze(0), "
     "2)\nu.flatten().view(-1, 8)"},
    {"PixelShuffles_AlongAColumn", Blocked, kImage + "torch.pixel_shuffle(z, 2).permute(0, 1, 3, 2).reshape(-1, 8)"},
    {"EmbeddingBags_Sums", Free, bags("0") + "bags[0]"},
    {"EmbeddingBags_Means", Free, bags("1") + "bags[0]"},
    {"EmbeddingBags_EmptyOnes", Free, bags("1", "torch.arange(8) * 0") + "bags[0]"},
    {"EmbeddingBags_OfWeightedRows", Free, bags("0, False, x.sum([2]).view(-1)") + "bags[0]"},
    {"EmbeddingBags_Maxima", Blocked, bags("2") + "bags[0]"},
    {"EmbeddingBags_AlongTheBags", Blocked, bags("1", "torch.arange(8) * 0") + "bags[0].t()"},
    {"EmbeddingBags_TheirSizes", Blocked, bags("1", "torch.arange(8) * 0") + "bags[2].to(x.dtype).unsqueeze(0)"},
    {"EmbeddingBags_OfATableThatIsReadElsewhere", Blocked,
     bags("1") + "  y = self.norm(bags[0]) + self.norm(torch.relu(bags[0]))\n", 2},
    {"AveragePools_OfPositionsOnly", Free, "torch.avg_pool2d(h, [2, 1])"},
    {"AveragePools_OfPositionsWithStrides", Free, "torch.avg_pool2d(h, [3, 1], [2, 1], [1, 0], False, False)"},
    {"AveragePools_OfNothing", Free, "torch.avg_pool1d(h, 1)"},
    {"AveragePools_OfChannels", Blocked, "torch.avg_pool2d(h, [1, 3], [1, 1], [0, 1])"},
    {"AveragePools_OfEveryOtherChannel", Blocked, "torch.avg_pool2d(torch.cat([h, k], 2), [1, 1], [1, 2])"},
    {"AveragePools_OfChannelsWithOneNumberForAll", Blocked, "torch.avg_pool2d(h, 3, 1, 1)"},
    {"NativeAttention_Output", Free, kAttention + "a + k"},
    {"NativeAttention_Input", Blocked, kAttention + "  y = self.norm(h) * a.sum()\n"},
    {"NoRows_Joined", Free, kNone + "torch.cat([k[m], h.flatten(0, 1)], 0)"},
    {"NoRows_Written", Free, kNone + "  h[m] = k[m]\nh"},
    {"NoRows_JoinedARelu", Blocked, kNone + "torch.cat([torch.relu(k[m]), h.flatten(0, 1)], 0)"},
    {"NoRows_PaddedARelu", Blocked, kNone + "torch.constant_pad_nd(torch.relu(k[m]), [0, 0, 0, 3]) + h[0, :1]"},
    {"NoRows_WrittenARelu", Blocked, kNone + "  h[m] = torch.relu(k[m])\nh"},
    {"Written_IndexAdd", Free, "h.index_add(1, torch.tensor([2, 0, 2]), k[:, :3], alpha=0.5)"},
    {"Written_IndexAddIntoZeros", Free,
     "  u = torch.zeros_like(h)\n  u.index_add_(1, torch.tensor([2, 0, 2]), k[:, :3])\nu"},
    {"Written_Filled", Free, "  u = torch.relu(h)\n  u.zero_()\n  u.index_add_(1, torch.tensor([2, 0]), k[:, :2])\nu"},
    {"Written_Copied", Free, "  u = torch.relu(h)\n  u.copy_(k)\nu"},
    {"Written_IndexCopy", Free, "h.index_copy(1, torch.tensor([2, 0]), k[:, :2])"},
    {"Written_IndexFill", Free, "h.index_fill(1, torch.tensor([2, 0]), 0.0)"},
    {"Written_IndexReduce", Free, "h.index_reduce(1, torch.tensor([2, 0, 2]), k[:, :3], 'mean', include_self=False)"},
    {"Written_IndexPut", Free, kRows + "  h[n, i] = k[:, 0]\nh"},
    {"Written_IndexPutOfOneRow", Free, kRows + "  h[n, i] = self.row[:8]\nh"},
    {"Written_IndexPutThatAdds", Free, kRows + "  h[n, i] += k[:, 0]\nh"},
    {"Written_IndexPutAccumulates", Free, "torch.index_put(h, [torch.tensor([0, 0])], k[:2], accumulate=True)"},
    {"Written_Mask", Free, "  m = x[:, :, 0] > 0\n  h[m] = k[m] * 0.5\nh"},
    {"Written_Scatter", Free, kOrder + "h.scatter(1, order, k)"},
    {"Written_ScatterZero", Free, kOrder + "h.scatter(1, order[:, :1], 0.0)"},
    {"Written_ScatterAdd", Free, kOrder + "torch.zeros_like(h).scatter_add_(1, order, k)"},
    {"Written_ScatterAddOfSome", Free, kOrder + "h.scatter_add(1, order[:, :2], k)"},
    {"Written_ScatterMean", Free, kOrder + "h.scatter_reduce(1, order, k, 'mean', include_self=False)"},
    {"Written_MaskedScatter", Free, "h.masked_scatter(x[:, :, :1] > 0, k)"},
    {"Written_SelectScatter", Free, "torch.select_scatter(h, k[:, 0], 1, 2)"},
    {"Written_SliceScatter", Free, "torch.slice_scatter(h, k[:, 1:], 1, 1)"},
    {"Written_AlongTheChannels", Blocked, "h.index_add(2, torch.tensor([2, 0, 2]), k[:, :, :3])"},
    {"Written_ByAnIndexOfChannels", Blocked, "  h[:, torch.tensor([0, 1]), torch.tensor([3, 5])] = k[:, :2, 0]\nh"},
    {"Written_ARelu", Blocked, "h.index_add(1, torch.tensor([2, 0, 2]), torch.relu(k)[:, :3])"},
    {"Written_IntoARelu", Blocked, "torch.relu(h).index_add(1, torch.tensor([2, 0, 2]), k[:, :3])"},
    {"Written_TheLargest", Blocked, "h.index_reduce(1, torch.tensor([2, 0, 2]), k[:, :3], 'amax')"},
    {"Written_ByElement", Blocked, "h.scatter_add(1, torch.argsort(k, 1), k)"},
    {"Written_ByElementAlongTheChannels", Blocked, "h.scatter_add(2, torch.argsort(k, 2), k)"},
    {"Written_ByElementToSomeChannels", Blocked, kOrder + "h.scatter(1, order[:, :, :4], k)"},
    {"Written_ByElementTheLargest", Blocked, kOrder + "h.scatter_reduce(1, order, k, 'amax')"},
    {"Written_ByElementOne", Blocked, kOrder + "h.scatter(1, order[:, :1], 1.0)"},
    {"Written_ByAMaskOfElements", Blocked, "h.masked_scatter(k > 0, k)"},
    {"Written_ByAMaskRowsThatAreTurned", Blocked, "h.masked_scatter(x[:, :, :1] > 0, k.transpose(1, 2))"},
    {"Written_ByAMaskOfARelu", Blocked, "  m = x[:, :, 0] > 0\n  h[m] = torch.relu(k[m])\nh"},
    {"WrittenToViews_OneChannel", Blocked, "  h[:, :, 0] = k[:, :, 0]\nh"},
    {"WrittenToViews_SomeChannels", Blocked, "  h[:, :, :4] = k[:, :, :4]\nh"},
    {"WrittenToViews_ARelu", Blocked, "  h[:, 0] = torch.relu(k[:, 0])\nh"},
    {"WrittenToViews_ANumber", Blocked, "  h[:, 0] = 1.0\nh"},
    {"WrittenToViews_WhatAnotherViewReads", Blocked, "  u = h[:, 0]\n  h[:, 0] = torch.relu(k[:, 0])\nu"},
    {"WrittenToViews_WhereItMayBeACopy", Blocked, "  h.transpose(0, 1).reshape(-1, 8)[0] = torch.relu(k[0, 0])\nh"},
    {"WrittenToViews_InABranch", Blocked, "  if x.size(0) > 2:\n    h[:, 0] = torch.relu(k[:, 0])\nh"},
    {"MaskedFill_WithZero", Free, "h.masked_fill(x[:, :, :1] > 0, 0)"},
    {"MaskedFill_WithZeroInPlace", Free, "h.masked_fill_(x[:, :, :1] > 0, 0.0)"},
    {"MaskedFill_WithNothing", Free, "h.masked_fill(x[:, :, :1] > 0, -0.0)"},
    {"MaskedFill_WithANumberOfTheRun", Blocked, "h.masked_fill(x[:, :, :1] > 0, x.size(1))"},
    {"MaskedFill_OfSomeChannels", Blocked, "h.masked_fill(self.s > 0, 0.0)"},
    // What is read centered and then written in place: the memory is centered before the write, under all its names.
    {"WrittenAfterARead_Added", Centered,
     "  u = torch.relu(h)\n  y = self.norm(u)\n  u.add_(k)\n  y = y + self.norm(u)\n", 2},
    {"WrittenAfterARead_AddedAndReadByItsOtherName", Centered,
     "  u = torch.relu(h)\n  y = self.norm(u)\n  t = u.add_(k)\n  y = y + self.norm(t) + self.norm(u * 0.5)\n", 3},
    {"WrittenAfterARead_AddedByACalledFunction", Centered,
     "  u = torch.relu(h)\n  y = self.norm(u)\n  self.addInto(u, k)\n  y = y + self.norm(u)\n", 2},
    {"WrittenAfterARead_IndexPut", Centered,
     kRows + "  u = torch.relu(h)\n  y = self.norm(u)\n  u[n, i] = k[:, 0]\n  y = y + self.norm(u)\n", 2},
    {"WrittenAfterARead_Scattered", Centered,
     kOrder + "  u = torch.relu(h)\n  y = self.norm(u)\n  u.scatter_add_(1, order, k)\n  y = y + self.norm(u)\n", 2},
    {"WrittenAfterARead_OverwrittenWhole", Centered,
     "  u = torch.relu(h)\n  y = self.norm(u)\n  u.copy_(k)\n  y = y + self.norm(u)\n", 2},
    // What is constant along the channels goes away with the mean.
    {"Dropped_Alpha", Free, "torch.add(h, x[:, :, :1], alpha=2.5)"},
    {"Dropped_AlphaOfTheStream", Free, "torch.add(x[:, :, :1], h, alpha=2.5)"},
    {"Dropped_Expanded", Free, "h + x[:, :, :1].expand([-1, -1, 8])"},
    {"Dropped_FromANumber", Free, "3 - h"},
    {"Dropped_WhereANumber", Free, "torch.where(x[:, :, :1] > 0, h, 3.0)"},
    {"Dropped_InACat", Free, "torch.cat([h, x[:, :, :1].expand([-1, -1, 8])], 1)"},
    {"Dropped_TwoInACat", Free,
     "torch.cat([h, x[:, :, :1].expand([-1, -1, 8]) + torch.gelu(x[:, :, :1].expand([-1, -1, 8]))], 1)"},
    {"Dropped_Lerp", Free, "torch.lerp(h, x[:, :, :1], 0.25)"},
    {"Dropped_AddedProduct", Free, "torch.addcmul(x[:, :, :1], h, x[:, :, :1])"},
    {"Dropped_InPlace", Free, "h.add_(x[:, :, :1])"},
    {"Dropped_FilledInPlace", Free, "h.masked_fill_(x[:, :, :1] > 0, 3)"},
    // The sum is a tensor of its own there; without the addition it would be h.
    {"Dropped_BesideAWriteToTheStream", Free, "  u = h + x[:, :, :1]\n  h.mul_(2.0)\nu + h"},
    {"Dropped_BesideAWriteToTheSum", Free, "  u = h + x[:, :, :1]\n  u.mul_(2.0)\nu + h"},
    // What weights alone do not center is centered at run time, behind the product or before it.
    {"AddedProducts_ReadOfAGate", Centered,
     "  u = torch.addcmul(h, k, torch.relu(k))\n  t = u + h\n  y = self.norm(u) + self.norm(t)\n", 2},
    {"AddedProducts_ReadOfAScale", Centered,
     "  u = torch.addcmul(h, torch.relu(k), self.s)\n  t = u + h\n  y = self.norm(u) + self.norm(t)\n", 2},
    {"AddedProducts_ReadInPlaceToo", Centered,
     "  u = h.addcmul_(k, torch.relu(k), value=0.25)\n  t = u + h\n  y = self.norm(u) + self.norm(t)\n", 2},
    {"AddedProducts_ReadDividedToo", Centered,
     "  u = torch.addcdiv(h, k, torch.exp(k), value=-2.0)\n  t = u + h\n  y = self.norm(u) + self.norm(t)\n", 2},
};
INSTANTIATE_TEST_SUITE_P(Written, Forms, ::testing::ValuesIn(kForms), [](const auto& row) { return row.param.name; });

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
      "self.proj, self.projBias, True, True, 1e-05, self.one.weight, self.one.bias, self.two.weight, self.two.bias, "
      "self.up, "
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
