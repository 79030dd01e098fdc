// Ways of writing one thing in ONNX: the verdict of each, and the fold of those that fold against the original.
#include <gtest/gtest.h>

#include "core/analysis/analysis.h"
#include "core/run/inputs/draw.h"
#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/support/worst_of.h"

namespace normlens::formats::onnx {
namespace {

// `code` makes u of the linears h and k; `constants` are initializers in onnx's text form, beside those of network().
struct Form {
  std::string name;
  std::string code;
  std::string constants = "int64 unused = {0}";
};

const std::string kNorm = " y0 = LayerNormalization <axis = -1> (u, gamma, beta)";

// Two linears of the input to 8 features, h and k; the code goes on to y0, which a last linear reads.
ModelProto network(const std::string& code, const std::string& constants) {
  ModelProto model = modelFromText(R"(<ir_version: 8, opset_import: ["": 17]> g (float[B, T, 6] x) => (float[C, S, 5] y)
    <)" + constants + R"(> { h0 = MatMul(x, w) h = Add(h0, b) k0 = MatMul(x, v) k = Add(k0, c) )" +
                                   code + " y1 = MatMul(y0, o) y = Add(y1, p) }");
  int seed = 0;
  const std::pair<const char*, graph::Shape> tensors[] = {{"w", {6, 8}},  {"b", {8}},     {"v", {6, 8}}, {"c", {8}},
                                                          {"gamma", {8}}, {"beta", {8}},  {"o", {8, 5}}, {"p", {5}},
                                                          {"scale", {8}}, {"w2", {6, 8}}, {"b2", {8}}};
  for (const auto& [name, shape] : tensors) addTensor(model, name, shape, ++seed);
  return model;
}

class Opened {
 public:
  explicit Opened(const ModelProto& proto) {
    if (const auto wrong = checkerSays(proto); !wrong.empty()) throw std::runtime_error(wrong);
    auto opened = OnnxModel::fromSource(sourceOf(proto), {});
    if (!opened) throw std::runtime_error(opened.error().message);
    model_ = std::move(*opened);
    static_cast<void>(model_->probe(draw(2, 3), {}));
    analysis_ = std::move(*analysis::analyze(model_->graph(), {}));
  }

  [[nodiscard]] const std::vector<analysis::LayerNorm>& norms() const { return analysis_->norms.layerNorms; }

  // "free" or why not.
  [[nodiscard]] std::string outcome() const {
    for (const auto& verdict : analysis_->verdicts) {
      if (verdict.verdict != analysis::Verdict::Free) return verdict.reason;
    }
    return "free";
  }

  // Of the outputs, at two sizes.
  [[nodiscard]] double differenceWhenFolded() const {
    const auto plan = analysis::makePlan(*analysis_, {analysis::Policy::Free, 1000, {}, {}});
    fold::FoldPlan edits{Policy::Free, {}};
    for (const auto& planned : plan.edits) edits.edits.push_back(planned.edit);
    const auto folded = model_->apply(edits, norms(), NormFlavour::Primitives, {});
    if (!folded) throw std::runtime_error(folded.error().message);
    double worst = 0;
    for (const auto& inputs : {draw(2, 3), draw(3, 7)}) {
      const auto before = model_->run(inputs, {});
      if (!before) continue;  // no ONNX Runtime here
      const auto after = (*folded)->run(inputs, {});
      if (!after) throw std::runtime_error(after.error().message);
      worst = std::max(worst, run::worstOf(*run::compareOutputs(*before, *after)).maxRel);
    }
    return worst;
  }

 private:
  [[nodiscard]] Tensors draw(int64_t batch, int64_t steps) const {
    auto specs = model_->inferInputs().value();
    specs.at(0).shape = {batch, steps, 6};
    return run::drawInputs(specs, 3).value();
  }

  std::unique_ptr<OnnxModel> model_;
  std::shared_ptr<const analysis::Analysis> analysis_;
};

class FreeOnnxForm : public ::testing::TestWithParam<Form> {};

TEST_P(FreeOnnxForm, FoldsExactlyAtEverySize) {
  const Opened model(network(GetParam().code, GetParam().constants));
  ASSERT_EQ(model.norms().size(), 1U);
  ASSERT_EQ(model.outcome(), "free");
  EXPECT_LT(model.differenceWhenFolded(), 1e-5);
}

class BlockedOnnxForm : public ::testing::TestWithParam<Form> {};

TEST_P(BlockedOnnxForm, IsNotFree) {
  const Opened model(network(GetParam().code, GetParam().constants));
  ASSERT_EQ(model.norms().size(), 1U);
  EXPECT_NE(model.outcome(), "free");
}

class NoOnnxNorm : public ::testing::TestWithParam<Form> {};

TEST_P(NoOnnxNorm, IsNoLayerNorm) {
  EXPECT_TRUE(Opened(network(GetParam().code, GetParam().constants)).norms().empty());
}

const auto kName = [](const auto& row) { return row.param.name; };

const std::string kBatch = "s = Shape(x) n = Gather(s, zero) ";

// The mean, the variance and the rest of a norm that takes them with sums.
Form withSums(const std::string& name, const std::string& mean, const std::string& variance, int axis = -1,
              const std::string& number = "8") {
  return {name,
          "t = ReduceSum(h, axis) m = " + mean + " d = Sub(h, m) dd = Mul(d, d) t2 = ReduceSum(dd, axis) z = " +
              variance + " e = Add(z, eps) r = Sqrt(e) n = Div(d, r) ng = Mul(n, gamma) y0 = Add(ng, beta)",
          "int64[1] axis = {" + std::to_string(axis) + "}, float eps = {0.00001}, float D = {" + number +
              "}, float less = {7}, float part = {0.125}"};
}

INSTANTIATE_TEST_SUITE_P(WrittenWithSums, FreeOnnxForm,
                         ::testing::Values(withSums("Divided", "Div(t, D)", "Div(t2, D)"),
                                           withSums("Multiplied", "Mul(t, part)", "Mul(part, t2)"),
                                           withSums("OverANamedAxis", "Div(t, D)", "Mul(t2, part)", 2)),
                         kName);

INSTANTIATE_TEST_SUITE_P(WrittenWithSums, NoOnnxNorm,
                         ::testing::Values(withSums("VarianceByOneLess", "Div(t, D)", "Div(t2, less)"),
                                           withSums("MeanByOneLess", "Div(t, less)", "Div(t2, D)"),
                                           withSums("OverAnotherAxis", "Div(t, D)", "Div(t2, D)", 1, "3"),
                                           withSums("ByAnotherAxis", "Div(t, D)", "Div(t2, D)", -1, "3"),
                                           withSums("TheSumAsTheDivisor", "Div(D, t)", "Div(t2, D)"),
                                           withSums("ByANumberOfTheRun", "Div(t, D) q = ReduceMax <keepdims = 0> (x)",
                                                    "Div(t2, q)")),
                         kName);

INSTANTIATE_TEST_SUITE_P(
    GatherND, FreeOnnxForm,
    ::testing::Values(Form{"OfTwoAxes", "r = GatherND(h, i) u = Unsqueeze(r, zero)" + kNorm,
                           "int64[2, 2] i = {0, 1, 1, 2}, int64[1] zero = {0}"},
                      Form{
                          "OfIndicesOfTheRun",
                          "top = ArgMax <axis = 2> (x) first = Mul(top, zero) pair = Concat <axis = -1> (first, first) "
                          "u = GatherND(h, pair)" +
                              kNorm,
                          "int64 zero = {0}"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    GatherND, BlockedOnnxForm,
    ::testing::Values(
        Form{"OfTheChannels",
             "t = Transpose <perm = [2, 1, 0]> (h) r = GatherND(t, i) q = Transpose(r) u = Unsqueeze(q, zero)" + kNorm,
             "int64[8, 2] i = {0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 6, 1}, int64[1] zero = {0}"},
        Form{"OfSingleElements", "u = GatherND(h, i)" + kNorm,
             "int64[1, 1, 8, 3] i = {0, 1, 5, 0, 1, 5, 0, 1, 2, 0, 1, 5, 0, 1, 5, 0, 1, 3, 0, 1, 5, 0, 1, 6}"}),
    kName);

// The positions in the order of a channel, and the same for all channels of h.
const std::string kOrder =
    "s = Shape(x) n = Gather(s, one) f = Gather <axis = 2> (x, one) row = Squeeze(f, two) top, flat = TopK <axis = 1> "
    "(row, n) "
    "order = Unsqueeze(flat, two) hs = Shape(h) index = Expand(order, hs) ";
const std::string kOne = "int64[1] one = {1}, int64[1] two = {2}";
const std::string kFirst =
    "top = ArgMax <axis = 2> (x) first = Mul(top, zero) pair = Concat <axis = -1> (first, first) ";

// h with the elements of `values`, in order, where `by` is above 0; as masked_scatter is exported.
std::string byMask(const std::string& by, const std::string& values) {
  return "f = Slice(x, none, one, last) m = Greater(" + by +
         ", zero) hs = Shape(h) e = Expand(m, hs) nz = NonZero(e) i = Transpose <perm = [1, 0]> (nz) flat = Reshape(" +
         values +
         ", all) is = Shape(i) count = Slice(is, none, one) part = Slice(flat, none, count) "
         "u = ScatterND(h, i, part)";
}
const std::string kMaskConstants =
    "int64[1] none = {0}, int64[1] one = {1}, int64[1] last = {2}, int64[1] all = {-1}, float zero = {0}";

INSTANTIATE_TEST_SUITE_P(
    Scatter, FreeOnnxForm,
    ::testing::Values(
        Form{"ByElement", kOrder + "u = ScatterElements <axis = 1> (h, index, k)" + kNorm, kOne},
        Form{"ByElementThatAdds", kOrder + "u = ScatterElements <axis = -2, reduction = \"add\"> (h, index, k)" + kNorm,
             kOne},
        Form{"OfRows", "r = GatherND(k, i) u = ScatterND(h, i, r)" + kNorm, "int64[2, 2] i = {0, 1, 1, 2}"},
        Form{"OfRowsByIndicesOfTheRun", kFirst + "u = ScatterND <reduction = \"add\"> (h, pair, k)" + kNorm,
             "int64 zero = {0}"},
        Form{"IntoZeros",
             kOrder + "z = ConstantOfShape(hs) u = ScatterElements <axis = 1, reduction = \"add\"> (z, index, k)" +
                 kNorm,
             kOne},
        Form{"IntoOnes",
             kOrder +
                 "z = ConstantOfShape <value = float[1] {1}> (hs) "
                 "u = ScatterElements <axis = 1, reduction = \"add\"> (z, index, k)" +
                 kNorm,
             kOne},
        Form{"ByAMask", byMask("f", "k") + kNorm, kMaskConstants},
        Form{"OfWholeSequences", "r = GatherND(k, i) u = ScatterND(h, i, r)" + kNorm, "int64[1, 1] i = {1}"},
        Form{"OfOneRow", "r = GatherND(k, j) t = Squeeze(r, zero) u = ScatterND(h, i, t)" + kNorm,
             "int64[2] i = {1, 2}, int64[1, 2] j = {0, 1}, int64[1] zero = {0}"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Scatter, BlockedOnnxForm,
    ::testing::Values(
        Form{"ByAnIndexPerChannel",
             "s = Shape(x) n = Gather(s, one) top, order = TopK <axis = 1> (k, n) "
             "u = ScatterElements <axis = 1> (h, order, k)" +
                 kNorm,
             kOne},
        Form{"AlongTheChannels", kOrder + "u = ScatterElements <axis = 2, reduction = \"add\"> (h, index, k)" + kNorm,
             kOne},
        Form{"ByAMaskOfElements", byMask("k", "k") + kNorm, kMaskConstants},
        Form{"ByAMaskARelu", "r = Relu(k) " + byMask("f", "r") + kNorm, kMaskConstants},
        Form{"TheLargest", kOrder + "u = ScatterElements <axis = 1, reduction = \"max\"> (h, index, k)" + kNorm, kOne},
        Form{"Products", kFirst + "u = ScatterND <reduction = \"mul\"> (h, pair, k)" + kNorm, "int64 zero = {0}"},
        Form{"ARelu", kOrder + "r = Relu(k) u = ScatterElements <axis = 1> (h, index, r)" + kNorm, kOne},
        Form{"IntoARelu", kOrder + "r = Relu(h) u = ScatterElements <axis = 1> (r, index, k)" + kNorm, kOne},
        Form{"SingleElements", "r = GatherND(k, i) u = ScatterND(h, i, r)" + kNorm,
             "int64[2, 3] i = {0, 1, 5, 1, 2, 3}"},
        Form{"OfTheChannels",
             "t = Transpose <perm = [2, 0, 1]> (h) q = Transpose <perm = [2, 0, 1]> (k) r = GatherND(q, i) "
             "v1 = ScatterND(t, i, r) u = Transpose <perm = [1, 2, 0]> (v1)" +
                 kNorm,
             "int64[1, 1] i = {3}"}),
    kName);

// A LayerScale behind Gemm and Reshape, as an optimiser leaves it.
const std::string kGemm = "rows = Reshape(x, flat) f = Gemm(rows, w2, b2) s = Shape(h) ";

INSTANTIATE_TEST_SUITE_P(ScalesBehindAReshape, FreeOnnxForm,
                         ::testing::Values(Form{"OfTheChannels",
                                                kGemm + "g = Reshape(f, s) u0 = Mul(g, scale) u = Add(u0, k)" + kNorm,
                                                "int64[2] flat = {-1, 6}"}),
                         kName);

INSTANTIATE_TEST_SUITE_P(
    ScalesBehindAReshape, BlockedOnnxForm,
    ::testing::Values(
        Form{"OfAnotherAxis",
             kGemm +
                 "g = Reshape(f, s) t = Transpose <perm = [0, 2, 1]> (g) q = Reshape(t, keep) "
                 "column = Unsqueeze(scale, one) u0 = Mul(q, column) u = Transpose <perm = [0, 2, 1]> (u0)" +
                 kNorm,
             "int64[2] flat = {-1, 6}, int64[3] keep = {0, 8, -1}, int64[1] one = {1}"},
        Form{"ReadElsewhere",
             kGemm + "g = Reshape(f, s) u0 = Mul(g, scale) r = Relu(g) u1 = Add(u0, k)  u = Add(u1, r)" + kNorm,
             "int64[2] flat = {-1, 6}"}),
    kName);

std::string pooled(const std::string& attributes) {
  return "h4 = Unsqueeze(h, one) a = AveragePool <" + attributes + "> (h4) u = Squeeze(a, one)" + kNorm;
}

INSTANTIATE_TEST_SUITE_P(AveragePools, FreeOnnxForm,
                         ::testing::Values(Form{"OfPositions", pooled("kernel_shape = [2, 1]"), "int64[1] one = {1}"},
                                           Form{"OfPositionsWithStrides",
                                                pooled("kernel_shape = [3, 1], strides = [2, 1], pads = [1, 0, 1, 0]"),
                                                "int64[1] one = {1}"}),
                         kName);

INSTANTIATE_TEST_SUITE_P(AveragePools, BlockedOnnxForm,
                         ::testing::Values(Form{"OfChannels", pooled("kernel_shape = [1, 3], pads = [0, 1, 0, 1]"),
                                                "int64[1] one = {1}"},
                                           Form{"OfPaddedChannels",
                                                pooled("kernel_shape = [2, 1], pads = [0, 0, 0, 0], strides = [1, 1], "
                                                       "auto_pad = \"SAME_UPPER\""),
                                                "int64[1] one = {1}"}),
                         kName);

// The channels into the image and back, in an order that the norm does not see.
std::string shuffled(const std::string& mode) {
  return "t = Transpose <perm = [0, 2, 1]> (h) i = Unsqueeze(t, two) d = DepthToSpace <blocksize = 2, mode = \"" +
         mode +
         "\"> (i) a = SpaceToDepth <blocksize = 2> (d) q = Squeeze(a, two) u = Transpose <perm = [0, 2, 1]> (q)" +
         kNorm;
}

INSTANTIATE_TEST_SUITE_P(Blocks, FreeOnnxForm,
                         ::testing::Values(Form{"DepthFirst", shuffled("DCR"), "int64[1] two = {2}"},
                                           Form{"ColumnsFirst", shuffled("CRD"), "int64[1] two = {2}"}),
                         kName);

INSTANTIATE_TEST_SUITE_P(
    Blocks, BlockedOnnxForm,
    ::testing::Values(Form{
        "AlongTheImage",
        "t = Transpose <perm = [0, 2, 1]> (h) i = Unsqueeze(t, two) d = DepthToSpace <blocksize = 2> "
        "(i) u = Reshape(d, rows)" +
            kNorm,
        "int64[1] two = {2}, int64[3] rows = {0, -1, 8}"}),
    kName);

INSTANTIATE_TEST_SUITE_P(Tiles, FreeOnnxForm,
                         ::testing::Values(Form{"OfPositions", "u = Tile(h, r)" + kNorm, "int64[3] r = {1, 2, 1}"},
                                           Form{"OfTheBatch", "t = Tile(h, r) q = Tile(k, r) u = Sub(t, q)" + kNorm,
                                                "int64[3] r = {3, 1, 1}"},
                                           Form{"ByACountOfTheRun",
                                                kBatch + "r = Concat <axis = 0> (n, ones) u = Tile(h, r)" + kNorm,
                                                "int64[1] zero = {0}, int64[2] ones = {1, 1}"}),
                         kName);

INSTANTIATE_TEST_SUITE_P(
    Tiles, BlockedOnnxForm,
    ::testing::Values(Form{"OfChannels", "q = Slice(h, zero, four, two) u = Tile(q, r)" + kNorm,
                           "int64[3] r = {1, 1, 2}, int64[1] zero = {0}, int64[1] four = {4}, int64[1] two = {2}"},
                      Form{"OfChannelsByACountOfTheRun",
                           kBatch + "m = Div(n, n) d = Concat <axis = 0> (ones, m) u = Tile(h, d)" + kNorm,
                           "int64[1] zero = {0}, int64[2] ones = {1, 1}"},
                      Form{"ByCountsOfTheRun", "s = Shape(x) d = Div(s, s) u = Tile(h, d)" + kNorm}),
    kName);

}  // namespace
}  // namespace normlens::formats::onnx
