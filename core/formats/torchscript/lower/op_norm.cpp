// Rows for norms, softmax, reductions and mixing along axes.
#include <functional>
#include <numeric>

#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

using graph::Function;
using graph::OpKind;

std::vector<int64_t> trailing(int64_t rank, int64_t count) {
  std::vector<int64_t> axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), rank - count);
  return axes;
}

bool setEps(OpContext& op) { return op.setKnown("eps", op.numberOf("eps")); }

// As many of the last axes as there are sizes listed. Which sizes, x itself shows: weight.shape and x.shape[-1:] will
// do.
void setTrailingAxes(OpContext& op) {
  const auto count = op.fixedLengthOf("normalized_shape");
  const auto rank = op.rankOf("input");
  if (count && rank && *count <= *rank) op.set("axes", trailing(*rank, *count));
}

void layerNorm(OpContext& op) {
  for (const char* name : {"input", "weight", "bias"}) op.operand(name);
  setTrailingAxes(op);
  if (!setEps(op)) op.kind = OpKind::Opaque;
}

void rmsNorm(OpContext& op) {
  op.operand("input");
  op.operand("weight");
  setTrailingAxes(op);
  setEps(op);
}

void groupNorm(OpContext& op) {
  for (const char* name : {"input", "weight", "bias"}) op.operand(name);
  for (const char* name : {"num_groups", "group"}) op.setKnown("groups", op.intOf(name));
  setEps(op);
}

// It cuts memory by its own N, C and HxW, whose product alone is held against x's size.
void nativeGroupNorm(OpContext& op) {
  groupNorm(op);
  const auto shape = op.shapeOf("input");
  if (!shape || shape->size() < 2) return;
  const int64_t positions = std::accumulate(shape->begin() + 2, shape->end(), int64_t{1}, std::multiplies<>());
  const auto agrees = [&](const char* name, int64_t size, int64_t first, int64_t end) {
    bool fixed = op.fixedIntOf(name) == size;
    for (int64_t axis = first; axis < end; ++axis) fixed = fixed && op.isSizeFixed(0, axis);
    return fixed;
  };
  const bool channels = agrees("C", (*shape)[1], 1, 2);
  const bool rest =
      agrees("N", (*shape)[0], 0, 1) || agrees("HxW", positions, 2, std::ssize(*shape)) || op.isSizeOf("N", 0, 0);
  if (!channels || !rest) op.kind = OpKind::Opaque;
}

void batchNorm(OpContext& op) {
  for (const char* name : {"input", "weight", "bias", "running_mean", "running_var"}) op.operand(name);
  setEps(op);
  const bool evaluates = !op.has("training") || op.boolOf("training") == false;
  if (!evaluates || op.isNone("running_mean") || op.isNone("running_var")) op.kind = OpKind::Opaque;
}

void instanceNorm(OpContext& op) {
  for (const char* name : {"input", "weight", "bias"}) op.operand(name);
  setEps(op);
  if (!op.isNone("running_mean")) op.set("updates", true);
  if (op.boolOf("use_input_stats") != true) op.kind = OpKind::Opaque;
}

// x is cast to the type of the result first.
bool roundsOnTheWayIn(const OpContext& op) {
  const auto before = op.dtypeOfInput("self"), after = op.outputDtype();
  const bool known = before != graph::DType::Unknown && after != graph::DType::Unknown;
  return known && !graph::castIsExact(before, after);
}

void softmax(OpContext& op) {
  op.operand("self");
  op.setAxis("dim", op.rankOf("self"));
  if (roundsOnTheWayIn(op)) op.kind = OpKind::Opaque;
}

// mean, sum, max ... over `dim`, or over everything where there is no such argument or it is None.
void reduce(OpContext& op, std::string_view name) {
  op.operand("self");
  op.set("op", std::string(name));
  const auto rank = op.rankOf("self");
  const auto listed = op.intsOf("dim");
  const bool all = op.isNone("dim") || (listed && listed->empty());
  if (all) {
    if (rank) op.set("axes", trailing(*rank, *rank));
  } else {
    op.setKnown("axes", op.axesOf("dim", rank));
  }
  op.setKnown("keepdim", op.has("keepdim") ? op.boolOf("keepdim") : std::optional(false));
}

void meanOrSum(OpContext& op) {
  reduce(op, op.name());
  if (roundsOnTheWayIn(op)) op.kind = OpKind::Opaque;
}
void otherReduce(OpContext& op) { reduce(op, "other"); }

// unbiased: divides by n - 1.
void variance(OpContext& op, std::string_view name) {
  reduce(op, name);
  const auto correction = op.numberOf("correction");
  if (op.has("unbiased")) {
    op.setKnown("unbiased", op.boolOf("unbiased"));
  } else if (op.has("correction")) {
    const bool none = op.isNone("correction");
    if (none || correction == 1.0)
      op.set("unbiased", true);
    else if (correction == 0.0)
      op.set("unbiased", false);
    else
      op.attributes[0].second = std::string("other");
  } else {
    op.set("unbiased", true);
  }
}
void spread(OpContext& op) { variance(op, op.name()); }

// var_mean, std_mean: two reductions of one input, the spread is the first output, the mean the second.
void spreadAndMean(OpContext& op) {
  const std::string name(op.name().substr(0, op.name().find('_')));
  variance(op, name);
  static_cast<void>(op.part(OpKind::Reduce, "aten::" + name, op.operands, op.attributes, OpContext::kFirstOutput));
  op.operands.clear();
  op.attributes.clear();
  reduce(op, "mean");
}

// max(x), max(x, dim) reduce; max(x, y) is pointwise.
void maxOrMin(OpContext& op) {
  if (!op.has("other")) return reduce(op, "other");
  op.kind = OpKind::Elementwise;
  if (op.name() == "max") op.function = Function::Maximum;
  op.operand("self");
  op.operand("other");
}

template <int64_t count>
void mixTrailing(OpContext& op) {
  op.operand(op.has("self") ? "self" : "input");
  const auto rank = op.rankOf(op.has("self") ? "self" : "input");
  if (rank && *rank >= count) op.set("axes", trailing(*rank, count));
}

// To a size that the file may write.
template <int64_t count>
void adaptivePool(OpContext& op) {
  mixTrailing<count>(op);
  const auto rank = op.rankOf(op.has("self") ? "self" : "input");
  const auto sizes = op.intsOf("output_size");
  if (!rank || *rank < count || !sizes || static_cast<int64_t>(sizes->size()) != count) return;
  std::vector<int64_t> ones;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if ((*sizes)[i] == 1) ones.push_back(*rank - count + static_cast<int64_t>(i));
  }
  if (!ones.empty()) op.set("ones", std::move(ones));
}

// Element i of a list with one number per pooled axis, or one for all.
std::optional<int64_t> along(const std::vector<int64_t>& list, size_t i) {
  if (list.size() == 1) return list.front();
  return i < list.size() ? std::optional(list[i]) : std::nullopt;
}

// A window of one position at every position leaves its axis alone.
template <int64_t count>
void averagePool(OpContext& op) {
  mixTrailing<count>(op);
  const auto rank = op.rankOf(op.has("self") ? "self" : "input");
  const auto kernel = op.intsOf("kernel_size"), stride = op.intsOf("stride"), padding = op.intsOf("padding");
  if (!rank || *rank < count || !kernel || !stride || !padding) return;
  std::vector<int64_t> pooled;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto step = stride->empty() ? along(*kernel, at) : along(*stride, at);
    if (along(*kernel, at) != 1 || step != 1 || along(*padding, at) != 0) pooled.push_back(*rank - count + i);
  }
  op.attributes.back().second = pooled;
}

void cumulativeSum(OpContext& op) {
  op.operand("self");
  if (const auto axis = op.axisOf("dim", op.rankOf("self"))) op.set("axes", std::vector<int64_t>{*axis});
  if (roundsOnTheWayIn(op)) op.kind = OpKind::Opaque;
}

// NormLens's own operators (libnormlens_ops.so): norms over the last axis, alone and fused with a residual add.

void setLastAxis(OpContext& op) {
  if (const auto rank = op.rankOf("x"); rank && *rank > 0) op.set("axes", std::vector<int64_t>{*rank - 1});
}

// Known by the module that the scale belongs to: the add may be in another one.
void normOf(OpContext& op, const Operand& x) {
  op.operands.push_back(x);
  op.operand("weight");
  op.operand("bias");
  op.standsInModuleOf("weight");
  setLastAxis(op);
  if (!op.setKnown("eps", op.numberOf("eps"))) op.kind = OpKind::Opaque;
}

void norm(OpContext& op) { normOf(op, op.take("x")); }

// x + residual is the first output.
Operand sumOf(OpContext& op) {
  return op.part(OpKind::Add, "aten::add", {op.take("x"), op.take("residual")}, {}, OpContext::kFirstOutput);
}

void addNorm(OpContext& op) {
  normOf(op, sumOf(op));
  op.set("fused", true);
}

// (x - mean) weight + bias.
void centerOf(OpContext& op, const Operand& x) {
  const auto rank = op.rankOf("x");
  if (!rank || *rank == 0 || !op.isNone("weight") || !op.isNone("bias")) {
    op.kind = OpKind::Opaque;
    op.operands.push_back(x);
    return;
  }
  const Operand mean = op.part(
      OpKind::Reduce, "aten::mean", {x},
      {{"op", std::string("mean")}, {"axes", std::vector<int64_t>{*rank - 1}}, {"keepdim", true}}, OpContext::kInside);
  op.operands = {x, mean};
}

void center(OpContext& op) { centerOf(op, op.take("x")); }
void addCenter(OpContext& op) { centerOf(op, sumOf(op)); }

}  // namespace

const std::vector<OpRule>& normRules() {
  static const std::vector<OpRule> kRules = {
      {"aten::layer_norm", OpKind::LayerNorm, layerNorm},
      {"aten::native_layer_norm", OpKind::LayerNorm, layerNorm},
      {"aten::rms_norm", OpKind::RmsNorm, rmsNorm},
      {"aten::group_norm", OpKind::GroupNorm, groupNorm},
      {"aten::native_group_norm", OpKind::GroupNorm, nativeGroupNorm},
      {"aten::instance_norm", OpKind::InstanceNorm, instanceNorm},
      {"aten::batch_norm", OpKind::BatchNorm, batchNorm},
      {"aten::_native_batch_norm_legit_no_training", OpKind::BatchNorm, batchNorm},
      {"aten::native_batch_norm", OpKind::BatchNorm, batchNorm},
      {"aten::softmax", OpKind::Softmax, softmax},
      {"aten::_softmax", OpKind::Softmax, softmax},
      {"aten::log_softmax", OpKind::Softmax, softmax},
      {"aten::_log_softmax", OpKind::Softmax, softmax},
      {"aten::mean", OpKind::Reduce, meanOrSum},
      {"aten::sum", OpKind::Reduce, meanOrSum},
      {"aten::var", OpKind::Reduce, spread},
      {"aten::std", OpKind::Reduce, spread},
      {"aten::var_mean", OpKind::Reduce, spreadAndMean},
      {"aten::std_mean", OpKind::Reduce, spreadAndMean},
      {"aten::amax", OpKind::Reduce, otherReduce},
      {"aten::amin", OpKind::Reduce, otherReduce},
      {"aten::argmax", OpKind::Reduce, otherReduce},
      {"aten::argmin", OpKind::Reduce, otherReduce},
      {"aten::prod", OpKind::Reduce, otherReduce, Function::Product},
      {"aten::norm", OpKind::Reduce, otherReduce},
      {"aten::linalg_vector_norm", OpKind::Reduce, otherReduce},
      {"aten::linalg_norm", OpKind::Reduce, otherReduce},
      {"aten::logsumexp", OpKind::Reduce, otherReduce},
      {"aten::any", OpKind::Reduce, otherReduce},
      {"aten::all", OpKind::Reduce, otherReduce},
      {"aten::median", OpKind::Reduce, otherReduce},
      {"aten::max", OpKind::Reduce, maxOrMin},
      {"aten::min", OpKind::Reduce, maxOrMin},
      {"aten::avg_pool1d", OpKind::Mix, averagePool<1>},
      {"aten::avg_pool2d", OpKind::Mix, averagePool<2>},
      {"aten::avg_pool3d", OpKind::Mix, averagePool<3>},
      {"aten::adaptive_avg_pool1d", OpKind::Mix, adaptivePool<1>},
      {"aten::adaptive_avg_pool2d", OpKind::Mix, adaptivePool<2>},
      {"aten::adaptive_avg_pool3d", OpKind::Mix, adaptivePool<3>},
      {"aten::upsample_linear1d", OpKind::Mix, mixTrailing<1>},
      {"aten::upsample_bilinear2d", OpKind::Mix, mixTrailing<2>},
      {"aten::_upsample_bilinear2d_aa", OpKind::Mix, mixTrailing<2>},
      {"aten::upsample_bicubic2d", OpKind::Mix, mixTrailing<2>},
      {"aten::_upsample_bicubic2d_aa", OpKind::Mix, mixTrailing<2>},
      {"aten::_upsample_lanczos2d_aa", OpKind::Mix, mixTrailing<2>},
      {"aten::upsample_trilinear3d", OpKind::Mix, mixTrailing<3>},
      {"aten::upsample_nearest1d", OpKind::Mix, mixTrailing<1>},
      {"aten::upsample_nearest2d", OpKind::Mix, mixTrailing<2>},
      {"aten::upsample_nearest3d", OpKind::Mix, mixTrailing<3>},
      {"aten::_upsample_nearest_exact1d", OpKind::Mix, mixTrailing<1>},
      {"aten::_upsample_nearest_exact2d", OpKind::Mix, mixTrailing<2>},
      {"aten::_upsample_nearest_exact3d", OpKind::Mix, mixTrailing<3>},
      {"aten::cumsum", OpKind::Mix, cumulativeSum},
      {"normlens::layer_norm", OpKind::LayerNorm, norm},
      {"normlens::add_layer_norm", OpKind::LayerNorm, addNorm},
      {"normlens::rms_norm", OpKind::RmsNorm, norm},
      {"normlens::add_rms_norm", OpKind::RmsNorm, addNorm},
      {"normlens::center", OpKind::Sub, center},
      {"normlens::add_center", OpKind::Sub, addCenter},
  };
  return kRules;
}

}  // namespace normlens::formats::torchscript
