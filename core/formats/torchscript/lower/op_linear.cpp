// Rows for linear maps: matrix products, convolutions, einsum, attention, recurrent layers, tables.
#include "core/formats/einsum_equation.h"
#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

using graph::OpKind;

void linear(OpContext& op) {
  for (const char* name : {"input", "weight", "bias"}) op.operand(name);
}

void matmul(OpContext& op) {
  op.operand("self");
  if (!op.operandOf({"other", "mat2", "vec", "tensor"})) op.kind = OpKind::Opaque;
}

void addMatMul(OpContext& op) {
  op.operand("self");
  const bool product = op.operandOf({"mat1", "batch1", "mat"}) && op.operandOf({"mat2", "batch2", "vec"});
  if (!product || !op.isLiteral("beta") || !op.isLiteral("alpha")) op.kind = OpKind::Opaque;
}

void einsum(OpContext& op) {
  op.operandList("tensors");
  const auto text = op.stringOf("equation");
  op.setKnown("equation", text ? plainEquation(*text, op.shapesOfList("tensors")) : std::nullopt);
  if (op.operands.empty()) op.kind = OpKind::Opaque;
}

void convolution(OpContext& op, std::optional<bool> transposed) {
  for (const char* name : {"input", "weight", "bias"}) op.operand(name);
  const bool known = op.setKnown("groups", op.intOf("groups")) && op.setKnown("transposed", transposed);
  const auto input = op.rankOf("input"), weight = op.rankOf("weight");
  const bool hasBatch = !input || !weight || *input == *weight;
  if (!known || !hasBatch) op.kind = OpKind::Opaque;
}

void conv(OpContext& op) { convolution(op, false); }
void convTransposed(OpContext& op) { convolution(op, true); }
void convEither(OpContext& op) { convolution(op, op.boolOf("transposed")); }

void attention(OpContext& op) {
  for (const char* name : {"query", "key", "value", "attn_mask"}) op.operand(name);
  if (op.numberOf("dropout_p") != 0.0) op.kind = OpKind::Opaque;
}

// The whole of nn.MultiheadAttention in eval mode: its output is a linear of the heads.
void nativeAttention(OpContext& op) {
  for (const char* name : {"query", "key", "value", "qkv_weight", "qkv_bias", "mask"}) op.operand(name);
  op.set("projection", static_cast<int64_t>(op.operands.size()));
  op.operand("proj_weight");
  op.operand("proj_bias");
}

// A whole layer of nn.TransformerEncoder in eval mode.
void encoderLayer(OpContext& op) {
  op.operand("src");
  std::vector<int64_t> gammas;
  for (const auto& [gamma, beta] : {std::pair{"norm_weight_1", "norm_bias_1"}, {"norm_weight_2", "norm_bias_2"}}) {
    gammas.push_back(static_cast<int64_t>(op.operands.size()));
    op.operand(gamma);
    op.operand(beta);
  }
  op.set("inner_norms", gammas);
  op.set("inner_reason", std::string("it is inside an operation that computes a whole layer of an encoder; traced with "
                                     "gradients enabled, or after torch.backends.mha.set_fastpath_enabled(False), the "
                                     "file has the norm as an operation of its own"));
  op.setKnown("eps", op.numberOf("eps"));
}

void recurrent(OpContext& op) {
  if (!op.has("input") || op.has("batch_sizes")) {
    op.kind = OpKind::Opaque;
    return;
  }
  op.operand("input");
  op.allOperands(/*numbers=*/false);
  if (op.boolOf("train") != false && op.numberOf("dropout") != 0.0) op.kind = OpKind::Opaque;
}

void embedding(OpContext& op) {
  op.operand("weight");
  op.operand("indices");
  op.set("axis", int64_t{0});
}

// Sums or means of rows, 0 of none: one map of rows for all columns. The other outputs are of the indices alone.
void embeddingBag(OpContext& op) {
  const auto mode = op.intOf("mode");
  if (mode != 0 && mode != 1) return op.allOperands();  // the largest of each column
  const std::vector<Operand> read = {op.take("weight"), op.take("indices"), op.take("offsets"),
                                     op.take("per_sample_weights")};
  static_cast<void>(
      op.part(OpKind::Mix, "aten::embedding_bag", read, {{"axes", std::vector<int64_t>{0}}}, OpContext::kFirstOutput));
  op.operands.assign(read.begin() + 1, read.end());
}

}  // namespace

const std::vector<OpRule>& linearRules() {
  static const std::vector<OpRule> kRules = {
      {"aten::linear", OpKind::Linear, linear},
      {"aten::matmul", OpKind::MatMul, matmul},
      {"aten::mm", OpKind::MatMul, matmul},
      {"aten::bmm", OpKind::MatMul, matmul},
      {"aten::mv", OpKind::MatMul, matmul},
      {"aten::dot", OpKind::MatMul, matmul},
      {"aten::addmm", OpKind::AddMatMul, addMatMul},
      {"aten::baddbmm", OpKind::AddMatMul, addMatMul},
      {"aten::addmv", OpKind::AddMatMul, addMatMul},
      {"aten::einsum", OpKind::Einsum, einsum},
      {"aten::conv1d", OpKind::Conv, conv},
      {"aten::conv2d", OpKind::Conv, conv},
      {"aten::conv3d", OpKind::Conv, conv},
      {"aten::conv_transpose1d", OpKind::Conv, convTransposed},
      {"aten::conv_transpose2d", OpKind::Conv, convTransposed},
      {"aten::conv_transpose3d", OpKind::Conv, convTransposed},
      {"aten::_convolution", OpKind::Conv, convEither},
      {"aten::convolution", OpKind::Conv, convEither},
      {"aten::_convolution_mode", OpKind::Conv, conv},
      {"aten::scaled_dot_product_attention", OpKind::Attention, attention},
      {"aten::_native_multi_head_attention", OpKind::Attention, nativeAttention},
      {"aten::_transformer_encoder_layer_fwd", OpKind::Opaque, encoderLayer},
      {"aten::lstm", OpKind::Recurrent, recurrent},
      {"aten::gru", OpKind::Recurrent, recurrent},
      {"aten::rnn_tanh", OpKind::Recurrent, recurrent},
      {"aten::rnn_relu", OpKind::Recurrent, recurrent},
      {"aten::embedding", OpKind::Gather, embedding},
      {"aten::embedding_bag", OpKind::Opaque, embeddingBag},
  };
  return kRules;
}

}  // namespace normlens::formats::torchscript
