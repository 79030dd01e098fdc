// Ways of writing one thing in ONNX: the verdict of each, and the fold of those that fold against the original.
#include <gtest/gtest.h>

#include "core/analysis/analysis.h"
#include "core/analysis/streams/streams.h"
#include "core/run/inputs/draw.h"
#include "tests/formats/onnx/edit/folded_model.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

enum Outcome { Free, Blocked, NoNorm };

// `code` makes u of the linears h and k; `constants` are initializers in onnx's text form, beside those of network().
struct Form {
  std::string name;
  Outcome outcome;
  std::string code;
  std::string constants = "int64 unused = {0}";
};

// Makes y0 of u where the code does not.
const std::string kNorm = " y0 = LayerNormalization <axis = -1> (u, gamma, beta)";

// Two linears of the input to 8 features, h and k; the code goes on to y0, which a last linear reads.
ModelProto network(const std::string& code, const std::string& constants) {
  const std::string norm = code.find("y0 = ") == std::string::npos ? kNorm : "";
  ModelProto model = modelFromText(R"(<ir_version: 8, opset_import: ["": 17]> g (float[B, T, 6] x) => (float[C, S, 5] y)
    <)" + constants + R"(> { h0 = MatMul(x, w) h = Add(h0, b) k0 = MatMul(x, v) k = Add(k0, c) )" +
                                   code + norm + " y1 = MatMul(y0, o) y = Add(y1, p) }");
  int seed = 0;
  const std::pair<const char*, graph::Shape> tensors[] = {{"w", {6, 8}},  {"b", {8}},     {"v", {6, 8}}, {"c", {8}},
                                                          {"gamma", {8}}, {"beta", {8}},  {"o", {8, 5}}, {"p", {5}},
                                                          {"scale", {8}}, {"w2", {6, 8}}, {"b2", {8}}};
  for (const auto& [name, shape] : tensors) addTensor(model, name, shape, ++seed);
  return model;
}

class OnnxForms : public ::testing::TestWithParam<Form> {};

Tensors drawn(const OnnxModel& model, int64_t batch, int64_t steps) {
  auto specs = must(model.inferInputs());
  specs.at(0).shape = {batch, steps, 6};
  return must(run::drawInputs(specs, 3));
}

TEST_P(OnnxForms, FoldExactlyOrNotAtAll) {
  const Outcome outcome = GetParam().outcome;
  const ModelProto proto = network(GetParam().code, GetParam().constants);
  ASSERT_EQ(checkerSays(proto), "");
  const auto model = openedModel(proto);
  static_cast<void>(model->probe(drawn(*model, 2, 3), {}));
  const auto analysis = must(analysis::analyze(model->graph(), {}));
  ASSERT_EQ(analysis->verdicts.size(), outcome == NoNorm ? 0U : 1U);
  if (outcome == NoNorm) return;
  EXPECT_EQ(analysis->verdicts[0].verdict == analysis::Verdict::Free, outcome == Free) << analysis->verdicts[0].reason;
  if (outcome == Blocked) return;
  const auto edits = analysis::narrowed(analysis::makePlan(*analysis, {analysis::Policy::Free, 1000, {}, {}}), {});
  const auto folded = must(model->apply(edits, analysis->norms.layerNorms, NormFlavour::Primitives, {}));
  for (const auto& inputs : {drawn(*model, 2, 3), drawn(*model, 3, 7)})
    EXPECT_LT(differenceOf(*model, *folded, inputs), 1e-5);
}

const std::string kBatch = "s = Shape(x) n = Gather(s, zero) ";

// The mean, the variance and the rest of a norm that takes them with sums.
Form withSums(const std::string& name, Outcome outcome, const std::string& mean, const std::string& variance,
              int axis = -1, const std::string& number = "8") {
  return {name, outcome,
          "t = ReduceSum(h, axis) m = " + mean + " d = Sub(h, m) dd = Mul(d, d) t2 = ReduceSum(dd, axis) z = " +
              variance + " e = Add(z, eps) r = Sqrt(e) n = Div(d, r) ng = Mul(n, gamma) y0 = Add(ng, beta)",
          "int64[1] axis = {" + std::to_string(axis) + "}, float eps = {0.00001}, float D = {" + number +
              "}, float part = {0.125}"};
}

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

// A LayerScale behind Gemm and Reshape, as an optimiser leaves it.
const std::string kGemm = "rows = Reshape(x, flat) f = Gemm(rows, w2, b2) s = Shape(h) ";

std::string pooled(const std::string& attributes) {
  return "h4 = Unsqueeze(h, one) a = AveragePool <" + attributes + "> (h4) u = Squeeze(a, one)";
}

// The channels into the image and back, in an order that the norm does not see.
std::string shuffled(const std::string& mode) {
  return "t = Transpose <perm = [0, 2, 1]> (h) i = Unsqueeze(t, two) d = DepthToSpace <blocksize = 2, mode = \"" +
         mode + "\"> (i) a = SpaceToDepth <blocksize = 2> (d) q = Squeeze(a, two) u = Transpose <perm = [0, 2, 1]> (q)";
}

const Form kForms[] = {
    {"GatherND_OfTwoAxes", Free, "r = GatherND(h, i) u = Unsqueeze(r, zero)",
     "int64[2, 2] i = {0, 1, 1, 2}, int64[1] zero = {0}"},
    {"GatherND_OfIndicesOfTheRun", Free,
     "top = ArgMax <axis = 2> (x) first = Mul(top, zero) pair = Concat <axis = -1> (first, first) u = GatherND(h, "
     "pair)",
     "int64 zero = {0}"},
    {"GatherND_OfTheChannels", Blocked,
     "t = Transpose <perm = [2, 1, 0]> (h) r = GatherND(t, i) q = Transpose(r) u = Unsqueeze(q, zero)",
     "int64[8, 2] i = {0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 6, 1}, int64[1] zero = {0}"},
    {"GatherND_OfSingleElements", Blocked, "u = GatherND(h, i)",
     "int64[1, 1, 8, 3] i = {0, 1, 5, 0, 1, 5, 0, 1, 2, 0, 1, 5, 0, 1, 5, 0, 1, 3, 0, 1, 5, 0, 1, 6}"},
    {"Scatter_ByElement", Free, kOrder + "u = ScatterElements <axis = 1> (h, index, k)", kOne},
    {"Scatter_ByElementThatAdds", Free, kOrder + "u = ScatterElements <axis = -2, reduction = \"add\"> (h, index, k)",
     kOne},
    {"Scatter_OfRows", Free, "r = GatherND(k, i) u = ScatterND(h, i, r)", "int64[2, 2] i = {0, 1, 1, 2}"},
    {"Scatter_OfRowsByIndicesOfTheRun", Free, kFirst + "u = ScatterND <reduction = \"add\"> (h, pair, k)",
     "int64 zero = {0}"},
    {"Scatter_IntoZeros", Free,
     kOrder + "z = ConstantOfShape(hs) u = ScatterElements <axis = 1, reduction = \"add\"> (z, index, k)", kOne},
    {"Scatter_IntoOnes", Free,
     kOrder + "z = ConstantOfShape <value = float[1] {1}> (hs) u = ScatterElements <axis = 1, reduction = \"add\"> (z, "
              "index, k)",
     kOne},
    {"Scatter_ByAMask", Free, byMask("f", "k"), kMaskConstants},
    {"Scatter_OfWholeSequences", Free, "r = GatherND(k, i) u = ScatterND(h, i, r)", "int64[1, 1] i = {1}"},
    {"Scatter_OfOneRow", Free, "r = GatherND(k, j) t = Squeeze(r, zero) u = ScatterND(h, i, t)",
     "int64[2] i = {1, 2}, int64[1, 2] j = {0, 1}, int64[1] zero = {0}"},
    {"Scatter_ByAnIndexPerChannel", Blocked,
     "s = Shape(x) n = Gather(s, one) top, order = TopK <axis = 1> (k, n) u = ScatterElements <axis = 1> (h, order, k)",
     kOne},
    {"Scatter_AlongTheChannels", Blocked, kOrder + "u = ScatterElements <axis = 2, reduction = \"add\"> (h, index, k)",
     kOne},
    {"Scatter_ByAMaskOfElements", Blocked, byMask("k", "k"), kMaskConstants},
    {"Scatter_ByAMaskARelu", Blocked, "r = Relu(k) " + byMask("f", "r"), kMaskConstants},
    {"Scatter_TheLargest", Blocked, kOrder + "u = ScatterElements <axis = 1, reduction = \"max\"> (h, index, k)", kOne},
    {"Scatter_Products", Blocked, kFirst + "u = ScatterND <reduction = \"mul\"> (h, pair, k)", "int64 zero = {0}"},
    {"Scatter_ARelu", Blocked, kOrder + "r = Relu(k) u = ScatterElements <axis = 1> (h, index, r)", kOne},
    {"Scatter_IntoARelu", Blocked, kOrder + "r = Relu(h) u = ScatterElements <axis = 1> (r, index, k)", kOne},
    {"Scatter_SingleElements", Blocked, "r = GatherND(k, i) u = ScatterND(h, i, r)",
     "int64[2, 3] i = {0, 1, 5, 1, 2, 3}"},
    {"Scatter_OfTheChannels", Blocked,
     "t = Transpose <perm = [2, 0, 1]> (h) q = Transpose <perm = [2, 0, 1]> (k) r = GatherND(q, i) v1 = ScatterND(t, "
     "i, r) u = Transpose <perm = [1, 2, 0]> (v1)",
     "int64[1, 1] i = {3}"},
    {"ScalesBehindAReshape_OfTheChannels", Free, kGemm + "g = Reshape(f, s) u0 = Mul(g, scale) u = Add(u0, k)",
     "int64[2] flat = {-1, 6}"},
    {"ScalesBehindAReshape_OfAnotherAxis", Blocked,
     kGemm + "g = Reshape(f, s) t = Transpose <perm = [0, 2, 1]> (g) q = Reshape(t, keep) column = Unsqueeze(scale, "
             "one) u0 = Mul(q, column) u = Transpose <perm = [0, 2, 1]> (u0)",
     "int64[2] flat = {-1, 6}, int64[3] keep = {0, 8, -1}, int64[1] one = {1}"},
    {"ScalesBehindAReshape_ReadElsewhere", Blocked,
     kGemm + "g = Reshape(f, s) u0 = Mul(g, scale) r = Relu(g) u1 = Add(u0, k)  u = Add(u1, r)",
     "int64[2] flat = {-1, 6}"},
    {"AveragePools_OfPositions", Free, pooled("kernel_shape = [2, 1]"), "int64[1] one = {1}"},
    {"AveragePools_OfPositionsWithStrides", Free,
     pooled("kernel_shape = [3, 1], strides = [2, 1], pads = [1, 0, 1, 0]"), "int64[1] one = {1}"},
    {"AveragePools_OfChannels", Blocked, pooled("kernel_shape = [1, 3], pads = [0, 1, 0, 1]"), "int64[1] one = {1}"},
    {"AveragePools_OfPaddedChannels", Blocked,
     pooled("kernel_shape = [2, 1], pads = [0, 0, 0, 0], strides = [1, 1], auto_pad = \"SAME_UPPER\""),
     "int64[1] one = {1}"},
    {"Blocks_DepthFirst", Free, shuffled("DCR"), "int64[1] two = {2}"},
    {"Blocks_ColumnsFirst", Free, shuffled("CRD"), "int64[1] two = {2}"},
    {"Blocks_AlongTheImage", Blocked,
     "t = Transpose <perm = [0, 2, 1]> (h) i = Unsqueeze(t, two) d = DepthToSpace <blocksize = 2> (i) u = Reshape(d, "
     "rows)",
     "int64[1] two = {2}, int64[3] rows = {0, -1, 8}"},
    {"Tiles_OfPositions", Free, "u = Tile(h, r)", "int64[3] r = {1, 2, 1}"},
    {"Tiles_OfTheBatch", Free, "t = Tile(h, r) q = Tile(k, r) u = Sub(t, q)", "int64[3] r = {3, 1, 1}"},
    {"Tiles_ByACountOfTheRun", Free, kBatch + "r = Concat <axis = 0> (n, ones) u = Tile(h, r)",
     "int64[1] zero = {0}, int64[2] ones = {1, 1}"},
    {"Tiles_OfChannels", Blocked, "q = Slice(h, zero, four, two) u = Tile(q, r)",
     "int64[3] r = {1, 1, 2}, int64[1] zero = {0}, int64[1] four = {4}, int64[1] two = {2}"},
    {"Tiles_OfChannelsByACountOfTheRun", Blocked,
     kBatch + "m = Div(n, n) d = Concat <axis = 0> (ones, m) u = Tile(h, d)",
     "int64[1] zero = {0}, int64[2] ones = {1, 1}"},
    {"Tiles_ByCountsOfTheRun", Blocked, "s = Shape(x) d = Div(s, s) u = Tile(h, d)"},
    withSums("WrittenWithSums_OverANamedAxis", Free, "Div(t, D)", "Mul(t2, part)", 2),
    withSums("WrittenWithSums_OverAnotherAxis", NoNorm, "Div(t, D)", "Div(t2, D)", 1, "3"),
    withSums("WrittenWithSums_ByAnotherAxis", NoNorm, "Div(t, D)", "Div(t2, D)", -1, "3"),
    withSums("WrittenWithSums_ByANumberOfTheRun", NoNorm, "Div(t, D) q = ReduceMax <keepdims = 0> (x)", "Div(t2, q)"),
};
INSTANTIATE_TEST_SUITE_P(Written, OnnxForms, ::testing::ValuesIn(kForms),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace normlens::formats::onnx
