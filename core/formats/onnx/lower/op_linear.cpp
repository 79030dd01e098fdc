// Rows for linear maps: matrix products, convolutions, einsum, attention, recurrent layers, tables.
#include <algorithm>
#include <numeric>

#include "core/formats/einsum_equation.h"
#include "core/formats/onnx/lower/op_rule.h"

namespace normlens::formats::onnx {
namespace {

using graph::OpKind;
using graph::Shape;

// The last two axes change places.
Operand transposed(OpContext& op, const Operand& of, const char* name) {
  KnownType type = op.type(of);
  graph::Attributes attributes;
  if (const auto rank = type.rank(); rank && *rank >= 2) {
    std::vector<int64_t> perm(static_cast<size_t>(*rank));
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    attributes.emplace_back("perm", perm);
    std::swap((*type.dims)[perm.size() - 1], (*type.dims)[perm.size() - 2]);
  }
  return op.part(name, OpKind::Permute, "Transpose", {of}, std::move(attributes), std::move(type));
}

// alpha * A' B' + beta * C. With B as torch stores it, [out, in], and a bias per output, it is a linear layer.
void gemm(OpContext& op) {
  const bool transA = op.intOf("transA", 0) != 0, transB = op.intOf("transB", 0) != 0;
  const double alpha = op.floatOf("alpha", 1), beta = op.has(2) ? op.floatOf("beta", 1) : 1;  // of torch.mm: 0, of no C
  const bool plain = alpha == 1 && beta == 1;
  // Only what the file itself fixes may decide how many nodes there are.
  const bool vectorBias = !op.has(2) || (op.isConstant(2) && op.rank(2) == 1);
  if (alpha == 0 || beta == 0) op.opaque();
  const Operand a = transA ? transposed(op, op.in(0), "transposed A") : op.in(0);
  if (transB && plain && vectorBias && op.isConstant(1)) {
    if (op.kind != OpKind::Opaque) op.kind = OpKind::Linear;
    op.operands = {a, op.in(1)};
    if (op.has(2)) op.operand(2);
    return;
  }
  const Operand b = transB ? transposed(op, op.in(1), "transposed B") : op.in(1);
  op.operands = {a, b};
  if (!op.has(2)) {
    if (op.kind != OpKind::Opaque) op.kind = OpKind::MatMul;
  } else {
    op.operands.insert(op.operands.begin(), op.in(2));
    if (beta != 1) op.set("beta", beta);
  }
  if (alpha != 1) op.set("alpha", alpha);
}

void fusedMatMul(OpContext& op) {
  if (op.intOf("transBatchA", 0) != 0 || op.intOf("transBatchB", 0) != 0) op.opaque();
  const double alpha = op.floatOf("alpha", 1);
  if (alpha == 0) op.opaque();
  if (alpha != 1) op.set("alpha", alpha);
  // A vector has no axes to swap.
  const auto swapped = [&](int input, const char* flag, const char* name) {
    return op.intOf(flag, 0) != 0 ? transposed(op, op.in(input), name) : op.in(input);
  };
  op.operands = {swapped(0, "transA", "transposed A"), swapped(1, "transB", "transposed B")};
}

void einsum(OpContext& op) {
  op.allOperands();
  std::vector<std::optional<Shape>> shapes;
  for (int i = 0; i < op.node().input_size(); ++i) shapes.push_back(op.inputType(i).dims);
  if (const auto plain = plainEquation(op.stringOf("equation", ""), shapes)) op.set("equation", *plain);
  if (op.operands.empty()) op.opaque();
}

void convolution(OpContext& op, bool isTransposed) {
  for (int i = 0; i < 3; ++i) {
    if (i < 2 || op.has(i)) op.operand(i);
  }
  op.set("groups", op.intOf("group", 1));
  op.set("transposed", isTransposed);
  const auto input = op.rank(0), weight = op.rank(1);
  if (input && weight && *input != *weight) op.opaque();
}
void conv(OpContext& op) { convolution(op, false); }
void convTranspose(OpContext& op) { convolution(op, true); }

// One axis for the heads: with heads inside the last axis their probabilities differ along it.
void attention(OpContext& op) {
  op.allOperands();
  const bool plain = op.rank(0) == 4 && op.rank(2) == 4 && !op.has(4) && !op.has(5) && !op.has(6) && !op.hasOutput(1) &&
                     !op.hasOutput(2) && !op.hasOutput(3);
  if (!plain) op.opaque();
}

}  // namespace

const std::vector<OpRule>& linearRules() {
  static const std::vector<OpRule> kRules = {
      {"MatMul", OpKind::MatMul, firstInputs<2>},
      {"Gemm", OpKind::AddMatMul, gemm},
      {"FusedMatMul", OpKind::MatMul, fusedMatMul, Domain::Runtime},
      {"TransposeMatMul", OpKind::MatMul, fusedMatMul, Domain::Runtime},
      {"Einsum", OpKind::Einsum, einsum},
      {"Conv", OpKind::Conv, conv},
      {"ConvTranspose", OpKind::Conv, convTranspose},
      {"Attention", OpKind::Attention, attention},
      {"LSTM", OpKind::Recurrent, allInputs},
      {"GRU", OpKind::Recurrent, allInputs},
      {"RNN", OpKind::Recurrent, allInputs},
  };
  return kRules;
}

}  // namespace normlens::formats::onnx
