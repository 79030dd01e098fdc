// Rows for norms, softmax, reductions and mixing along axes, and for operators that ONNX Runtime's optimizers fuse:
// several graph nodes each.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/formats/onnx/lower/op_rule.h"

namespace normlens::formats::onnx {
namespace {

using graph::OpKind;
using graph::Shape;

std::vector<int64_t> from(int64_t first, int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(std::max<int64_t>(0, rank - first)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

void groupNorm(OpContext& op) {
  firstInputs<3>(op);
  op.set("groups", op.intOf("num_groups", 0));
  op.set("eps", op.floatOf("epsilon", 1e-5F));
}

void instanceNorm(OpContext& op) {
  firstInputs<3>(op);
  op.set("eps", op.floatOf("epsilon", 1e-5F));
}

// One number per channel, so that it meets [batch, channels, ...].
Operand perChannel(OpContext& op, const char* name, const Operand& numbers, int64_t rank) {
  KnownType made = op.type(numbers);
  const auto channels = made.dims && made.dims->size() == 1 ? made.dims->front() : int64_t{-1};
  made.dims = Shape(static_cast<size_t>(rank - 1), 1);
  made.dims->front() = channels;
  return op.part(name, OpKind::Reshape, "Reshape", {numbers}, {{"ones", from(1, rank - 1)}}, std::move(made));
}

// With statistics that are computed: (x - mean) / sqrt(variance + eps) * scale + bias, in ops of their own.
void writtenBatchNorm(OpContext& op, int64_t rank) {
  const KnownType x = op.inputType(0);
  const double eps = op.floatOf("epsilon", 1e-5F);
  const Operand mean = perChannel(op, "mean", op.in(3), rank), variance = perChannel(op, "variance", op.in(4), rank);
  const Operand centered = op.part("centered", OpKind::Sub, "Sub", {op.in(0), mean}, {}, x);
  const Operand shifted = op.part("shifted", OpKind::Add, "Add", {variance, op.literal(eps)}, {}, op.type(variance));
  const Operand root = op.part("root", OpKind::Elementwise, "Sqrt", {shifted}, {}, op.type(shifted));
  const Operand normalized = op.part("normalized", OpKind::Div, "Div", {centered, root}, {}, x);
  const Operand scale = perChannel(op, "scale", op.in(1), rank);
  const Operand scaled = op.part("scaled", OpKind::Mul, "Mul", {normalized, scale}, {}, x);
  op.kind = OpKind::Add;
  op.operands = {scaled, perChannel(op, "bias", op.in(2), rank)};
}

void batchNorm(OpContext& op) {
  const auto rank = op.rank(0);
  const bool given = op.version() >= 9 && op.intOf("training_mode", 0) == 0 && !op.hasOutput(1);
  if (given && rank.value_or(0) >= 2 && op.isComputed(3) && op.isComputed(4)) return writtenBatchNorm(op, *rank);
  firstInputs<5>(op);
  op.set("eps", op.floatOf("epsilon", 1e-5F));
  if (op.intOf("training_mode", 0) != 0 || op.intOf("spatial", 1) == 0 || op.hasOutput(1)) op.opaque();
}

// Before opset 13 all axes from `axis` on were one.
void softmax(OpContext& op) {
  op.operand(0);
  const auto rank = op.rank(0);
  const bool flattens = op.version() < 13;
  const auto axis = OpContext::normalised(op.intOf("axis", flattens ? 1 : -1), rank);
  if (flattens && !(axis && rank && *axis == *rank - 1)) return op.opaque();
  if (axis)
    op.set("axis", *axis);
  else if (rank)
    op.opaque();
}

// axesInput: the first opset in which the axes are an input.
void reduce(OpContext& op, const char* what, int64_t axesInput) {
  op.operand(0);
  op.set("op", std::string(what));
  const auto rank = op.rank(0);
  const bool given = op.version() >= axesInput ? op.has(1) : op.hasAttribute("axes");
  const auto axes = op.version() >= axesInput ? op.constantInts(1) : op.intsOf("axes");
  if (op.version() >= axesInput) op.computed(1);
  op.set("keepdim", op.intOf("keepdims", 1) != 0);
  if (given && !axes) return;
  if (axes && !axes->empty()) return op.setAxes(*axes, rank);
  if (op.intOf("noop_with_empty_axes", 0) != 0) {
    // The same elements, except for reductions that square or take logarithms even of single ones.
    op.kind = std::string_view(what) == "other" ? OpKind::Opaque : OpKind::Identity;
    return;
  }
  if (rank) op.set("axes", from(0, *rank));
}
void reduceMean(OpContext& op) { reduce(op, "mean", 18); }
void reduceSum(OpContext& op) { reduce(op, "sum", 13); }
void reduceOther(OpContext& op) { reduce(op, "other", 18); }

// The sum of x * x.
void reduceSumSquare(OpContext& op) {
  reduce(op, "sum", 18);
  if (op.kind == OpKind::Reduce)
    op.operands[0] = op.part("square", OpKind::Mul, "Mul", {op.in(0), op.in(0)}, {}, op.inputType(0));
  else
    op.opaque();
}

void argReduce(OpContext& op) {
  op.operand(0);
  op.set("op", std::string("other"));
  op.setAxes({op.intOf("axis", 0)}, op.rank(0));
  op.set("keepdim", op.intOf("keepdims", 1) != 0);
}

void globalReduce(OpContext& op, const char* what) {
  op.operand(0);
  op.set("op", std::string(what));
  if (const auto rank = op.rank(0)) op.set("axes", from(2, *rank));
  op.set("keepdim", true);
}
void globalMean(OpContext& op) { globalReduce(op, "mean"); }
void globalOther(OpContext& op) { globalReduce(op, "other"); }

// A window of one position at every position leaves its axis alone.
void averagePool(OpContext& op) {
  op.operand(0);
  const auto rank = op.rank(0);
  if (!rank) return;
  const auto axes = from(2, *rank);
  const auto kernel = op.intsOf("kernel_shape").value_or(std::vector<int64_t>{});
  const auto strides = op.intsOf("strides").value_or(std::vector<int64_t>(axes.size(), 1));
  const auto pads = op.intsOf("pads").value_or(std::vector<int64_t>(2 * axes.size(), 0));
  const bool listed = kernel.size() == axes.size() && strides.size() == axes.size() && pads.size() == 2 * axes.size() &&
                      op.stringOf("auto_pad", "NOTSET") == "NOTSET";
  std::vector<int64_t> pooled;
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool alone = listed && kernel[i] == 1 && strides[i] == 1 && pads[i] == 0 && pads[axes.size() + i] == 0;
    if (!alone) pooled.push_back(axes[i]);
  }
  op.set("axes", std::move(pooled));
}

void cumulativeSum(OpContext& op) {
  op.operand(0);
  op.computed(1);
  const auto axis = op.constantInts(1);
  if (axis && axis->size() == 1) op.setAxes(*axis, op.rank(0));
}

// Interpolation is one map of positions for each axis, the identity where the scale is exactly 1.
void resize(OpContext& op) {
  op.operand(0);
  for (int i = 1; i < 4; ++i) op.computed(i);
  const std::string transform = op.stringOf("coordinate_transformation_mode", "half_pixel");
  if (transform == "tf_crop_and_resize" || op.stringOf("keep_aspect_ratio_policy", "stretch") != "stretch")
    return op.opaque();
  const auto rank = op.rank(0);
  if (!rank) return;
  const auto listed = op.intsOf("axes").value_or(from(0, *rank));
  const int scalesInput = op.version() < 11 ? 1 : 2;
  const auto scales = op.constantNumbers(scalesInput);
  const auto before = op.inputType(0).dims, after = op.outputTypeAt(0).dims;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < listed.size(); ++i) {
    const auto axis = OpContext::normalised(listed[i], rank);
    if (!axis) return op.opaque();
    const auto at = static_cast<size_t>(*axis);
    bool same = false;
    if (scales && scales->size() == listed.size())
      same = (*scales)[i] == 1.0;
    else if (op.has(3) && before && after && after->size() == before->size())
      same = (*before)[at] == (*after)[at] && (*before)[at] >= 0 && op.listsSize(3, static_cast<int64_t>(i), *axis);
    if (!same) axes.push_back(*axis);
  }
  op.setAxes(axes, rank);
}

// Sets "axes" of a norm over `axis` and what follows it, and checks that the scale fits.
void normAxes(OpContext& op, const Operand& x, const Operand& gamma, int64_t axis) {
  const KnownType type = op.type(x);
  const auto rank = type.rank();
  if (!rank) return;
  const auto first = OpContext::normalised(axis, rank);
  if (!first) return op.opaque();
  // Counted from the front it is another axis where x has another number of them.
  if (axis < 0 || op.isRankFixed(x)) op.set("axes", from(*first, *rank));
  // A scale that does not fit shows that the file is wrong: nothing is claimed of such a norm.
  const auto scale = op.type(gamma).dims;
  if (!scale) return;
  if (scale->size() > static_cast<size_t>(*rank)) return op.opaque();
  for (size_t i = 0; i < scale->size(); ++i) {
    const int64_t wanted = (*type.dims)[type.dims->size() - 1 - i], has = (*scale)[scale->size() - 1 - i];
    if (has != 1 && has != -1 && wanted != -1 && has != wanted) return op.opaque();
  }
}

// The last node becomes a LayerNorm over `axis` and what follows it; opaque where the parts do not fit together.
void layerNormForm(OpContext& op, const Operand& x, const Operand& gamma, const Operand& beta, double eps,
                   int64_t axis) {
  op.kind = OpKind::LayerNorm;
  op.operands = {x, gamma, beta};
  while (op.operands.size() > 1 && op.operands.back().value == graph::kNoValue) op.operands.pop_back();
  op.set("eps", eps);
  normAxes(op, x, gamma, axis);
  if (!std::isfinite(eps) || eps < 0) op.opaque();
}

void layerNorm(OpContext& op) {
  layerNormForm(op, op.in(0), op.in(1), op.in(2), op.floatOf("epsilon", 1e-5F), op.intOf("axis", -1));
}

void rmsNorm(OpContext& op) {
  firstInputs<2>(op);
  op.set("eps", op.floatOf("epsilon", 1e-5F));
  normAxes(op, op.in(0), op.in(1), op.intOf("axis", -1));
}

// ---- fused operators

constexpr double kSkipEps = 1e-12F;  // attributes are floats

// input + skip (+ bias): output 3.
Operand skipSum(OpContext& op, int bias) {
  const bool biased = op.has(bias);
  Operand sum = op.addPart("skip", op.in(0), op.in(1), biased ? -1 : 3);
  return biased ? op.addPart("bias", sum, op.in(bias), 3) : sum;
}

// input, skip, gamma, beta, bias.
void skipLayerNorm(OpContext& op) {
  const Operand sum = skipSum(op, 4);
  op.outputs = {0, 1, 2};
  layerNormForm(op, sum, op.in(2), op.in(3), op.floatOf("epsilon", kSkipEps), -1);
  op.outputType = op.type(sum);
  op.set("fused", true);
}

// input, skip, gamma, bias.
void skipRmsNorm(OpContext& op) {
  const Operand sum = skipSum(op, 3);
  op.outputs = {0, 1, 2};
  op.operands = {sum, op.in(2)};
  op.set("eps", op.floatOf("epsilon", kSkipEps));
  op.outputType = op.type(sum);
  normAxes(op, sum, op.in(2), -1);
}

// Shape of table[ids]: ids' axes, then the table's last.
KnownType lookedUp(const OpContext& op, const Operand& table, const Operand& ids) {
  KnownType type = op.type(table);
  const auto index = op.type(ids).dims;
  if (!type.dims || type.dims->size() != 2 || !index) return {type.dtype, std::nullopt};
  Shape shape = *index;
  shape.push_back(type.dims->back());
  return {type.dtype, shape};
}

Operand lookUp(OpContext& op, const char* name, int table, int ids) {
  return op.part(name, OpKind::Gather, "Gather", {op.in(table), op.in(ids)}, {{"axis", int64_t{0}}},
                 lookedUp(op, op.in(table), op.in(ids)));
}

// The first row of the segment table, for all tokens.
Operand firstSegment(OpContext& op) {
  KnownType type = op.inputType(4);
  if (type.dims && type.dims->size() == 2) type.dims->front() = 1;
  return op.part("segments", OpKind::Slice, "Slice", {op.in(4)},
                 {{"axis", int64_t{0}}, {"start", int64_t{0}}, {"step", int64_t{1}}}, std::move(type));
}

// The first rows of the position table, as many as there are tokens.
Operand firstPositions(OpContext& op) {
  KnownType type = op.inputType(3);
  const auto ids = op.inputType(0).dims;
  if (type.dims && type.dims->size() == 2) (*type.dims)[0] = ids && ids->size() == 2 ? (*ids)[1] : -1;
  return op.part("positions", OpKind::Slice, "Slice", {op.in(3)},
                 {{"axis", int64_t{0}}, {"start", int64_t{0}}, {"step", int64_t{1}}}, std::move(type));
}

// ids, segment ids?, words, positions, segments?, gamma, beta, mask?, position ids?. Outputs: norm, mask index, sum.
void embedLayerNorm(OpContext& op) {
  const Operand words = lookUp(op, "words", 2, 0);
  const Operand positions = op.has(8) ? lookUp(op, "positions", 3, 8) : firstPositions(op);
  const bool segmented = op.has(4);
  const Operand segments = !segmented ? Operand{} : op.has(1) ? lookUp(op, "segments", 4, 1) : firstSegment(op);
  if (op.hasOutput(1)) {
    KnownType made;
    if (const auto ids = op.inputType(0).dims; ids && !ids->empty()) made = {graph::DType::Int32, Shape{ids->front()}};
    op.part("mask", OpKind::Opaque, "EmbedLayerNormalization", {op.has(7) ? op.in(7) : op.in(0)}, {}, made, 1);
  }
  Operand sum = op.addPart("add positions", words, positions, segmented ? -1 : 2);
  if (segmented) sum = op.addPart("add segments", sum, segments, 2);
  op.outputs = {0};
  layerNormForm(op, sum, op.in(5), op.in(6), op.floatOf("epsilon", kSkipEps), -1);
  op.outputType = op.type(sum);
  op.set("fused", true);
}

// x, bias?: the function of their sum.
void biasActivation(OpContext& op) {
  if (!op.has(1)) return op.operand(0);
  op.operands = {op.addPart("bias", op.in(0), op.in(1))};
  op.outputType = op.type(op.operands[0]);
}

// x, bias, skip.
void biasAdd(OpContext& op) {
  op.operands = {op.addPart("bias", op.in(0), op.in(1)), op.in(2)};
  op.outputType = op.type(op.operands[0]);
}

}  // namespace

const std::vector<OpRule>& normRules() {
  static const std::vector<OpRule> kRules = {
      {"LayerNormalization", OpKind::LayerNorm, layerNorm, Domain::Both},
      {"RMSNormalization", OpKind::RmsNorm, rmsNorm, Domain::Both},
      {"SimplifiedLayerNormalization", OpKind::RmsNorm, rmsNorm, Domain::Both},
      {"GroupNormalization", OpKind::GroupNorm, groupNorm},
      {"InstanceNormalization", OpKind::InstanceNorm, instanceNorm},
      {"BatchNormalization", OpKind::BatchNorm, batchNorm},
      {"Softmax", OpKind::Softmax, softmax},
      {"LogSoftmax", OpKind::Softmax, softmax},
      {"ReduceMean", OpKind::Reduce, reduceMean},
      {"ReduceSum", OpKind::Reduce, reduceSum},
      {"ReduceMax", OpKind::Reduce, reduceOther},
      {"ReduceMin", OpKind::Reduce, reduceOther},
      {"ReduceProd", OpKind::Reduce, reduceOther, Domain::Standard, graph::Function::Product},
      {"ReduceL1", OpKind::Reduce, reduceOther},
      {"ReduceL2", OpKind::Reduce, reduceOther},
      {"ReduceLogSum", OpKind::Reduce, reduceOther},
      {"ReduceLogSumExp", OpKind::Reduce, reduceOther},
      {"ReduceSumSquare", OpKind::Reduce, reduceSumSquare},
      {"ArgMax", OpKind::Reduce, argReduce},
      {"ArgMin", OpKind::Reduce, argReduce},
      {"GlobalAveragePool", OpKind::Reduce, globalMean},
      {"GlobalMaxPool", OpKind::Reduce, globalOther},
      {"AveragePool", OpKind::Mix, averagePool},
      {"Resize", OpKind::Mix, resize},
      {"Upsample", OpKind::Mix, resize},
      {"CumSum", OpKind::Mix, cumulativeSum},
      {"SkipLayerNormalization", OpKind::LayerNorm, skipLayerNorm, Domain::Runtime},
      {"SkipSimplifiedLayerNormalization", OpKind::RmsNorm, skipRmsNorm, Domain::Runtime},
      {"EmbedLayerNormalization", OpKind::LayerNorm, embedLayerNorm, Domain::Runtime},
      {"BiasGelu", OpKind::Elementwise, biasActivation, Domain::Runtime},
      {"FastGelu", OpKind::Elementwise, biasActivation, Domain::Runtime},
      {"BiasAdd", OpKind::Add, biasAdd, Domain::Runtime},
  };
  return kRules;
}

}  // namespace normlens::formats::onnx
