// Rows for NormLens's own operators (libnormlens_ops.so): norms over the last axis, alone and fused with a residual
// add.
#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

using graph::OpKind;

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

// Its input stands for one more number than it has, which no kind of norm expresses: nothing is claimed of it.
void narrowNorm(OpContext& op) {
  for (const char* operand : {"x", "weight", "bias"}) op.operand(operand);
  setLastAxis(op);
  (void)op.setKnown("eps", op.numberOf("eps"));
  op.set("norm_kind", std::string("CRMSNorm"));
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

const std::vector<OpRule>& fusedRules() {
  static const std::vector<OpRule> kRules = {
      {"normlens::layer_norm", OpKind::LayerNorm, norm},   {"normlens::add_layer_norm", OpKind::LayerNorm, addNorm},
      {"normlens::rms_norm", OpKind::RmsNorm, norm},       {"normlens::add_rms_norm", OpKind::RmsNorm, addNorm},
      {"normlens::center", OpKind::Sub, center},           {"normlens::add_center", OpKind::Sub, addCenter},
      {"normlens::crms_norm", OpKind::Opaque, narrowNorm},
  };
  return kRules;
}

}  // namespace normlens::formats::torchscript
