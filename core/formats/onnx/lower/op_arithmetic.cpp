// Rows for arithmetic: pointwise, casts, gates and what only reads shapes; linear maps (matrix products, convolutions,
// einsum, attention, recurrent layers).
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/formats/einsum_equation.h"
#include "core/formats/onnx/lower/op_rule.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;
using graph::Function;
using graph::OpKind;
using graph::Shape;

bool isInteger(DType dtype) { return dtype != DType::Unknown && !graph::isFloat(dtype); }

void divide(OpContext& op) {
  firstInputs<2>(op);
  if (isInteger(op.inputType(0).dtype)) op.kind = OpKind::Elementwise;  // rounds toward zero
}

void shape(OpContext& op) {
  op.operand(0);
  for (const char* bound : {"start", "end"}) {
    if (op.hasAttribute(bound)) op.set(bound, op.intOf(bound, 0));
  }
}

void sum(OpContext& op) {
  const int count = op.node().input_size();
  if (count < 2) {
    op.kind = count == 1 ? OpKind::Identity : OpKind::Opaque;
    return op.allOperands();
  }
  Operand total = op.in(0);
  for (int i = 1; i + 1 < count; ++i) total = op.addPart("add " + std::to_string(i - 1), total, op.in(i));
  op.operands = {total, op.in(count - 1)};
}

// Off in inference: the same elements. What the mask holds then differs between versions.
void dropout(OpContext& op) {
  op.operand(0);
  const auto training = op.constantInts(2);
  const bool trains = op.has(2) && !(training && training->size() == 1 && training->front() == 0);
  if (trains) return op.opaque();
  if (op.hasOutput(1)) op.part("mask", OpKind::ShapeQuery, "Dropout mask", {op.in(0)}, {}, {}, 1);
}

void cast(OpContext& op) {
  op.operand(0);
  const auto before = op.inputType(0).dtype, after = op.outputTypeAt(0).dtype;
  if (before != DType::Unknown && before == after) op.kind = OpKind::Identity;
}

void castLike(OpContext& op) {
  cast(op);
  op.computed(1);
  if (op.operands.size() > 1) op.opaque();  // another tensor's type: its values do not count, but it is read
}

// The result depends on the sizes of all axes.
void countQuery(OpContext& op) {
  op.operand(0);
  op.set("counts", true);
}

void constantOfShape(OpContext& op) {
  op.operand(0);
  op.markFixedAxes(0);
  const auto number = op.hasAttribute("value") ? op.numberOf("value") : 0.0;
  if (number) op.set("fill", *number);
}

// clang-format off
constexpr const char* kElementwise[] = {
    "Abs", "Acos", "Acosh", "And", "Asin", "Asinh", "Atan", "Atanh", "BitShift", "BitwiseAnd", "BitwiseNot",
    "BitwiseOr", "BitwiseXor", "Celu", "Clip", "Cos", "Cosh", "Elu", "Equal", "Erf", "Exp", "Greater",
    "GreaterOrEqual", "HardSigmoid", "HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log",
    "Mean", "Min", "Mish", "Not", "Or", "PRelu", "Selu", "Shrink", "Sigmoid", "Sin", "Sinh", "Softplus",
    "Softsign", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Xor",
};
// clang-format on

// ---- linear maps

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
  const double alpha = op.floatOf("alpha", 1),
               beta = op.has(2) ? op.floatOf("beta", 1) : 1;  // torch.mm has 0: there is no C.
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

const std::vector<OpRule>& arithmeticRules() {
  static const std::vector<OpRule> kRules = [] {
    std::vector<OpRule> rules = {
        {"Add", OpKind::Add, firstInputs<2>},
        {"Sub", OpKind::Sub, firstInputs<2>},
        {"Mul", OpKind::Mul, firstInputs<2>},
        {"Div", OpKind::Div, divide},
        {"Neg", OpKind::Neg, firstInputs<1>},
        {"Sum", OpKind::Add, sum},
        {"Where", OpKind::Where, firstInputs<3>},
        {"Cast", OpKind::Cast, cast, Domain::Standard, Function::Cast},
        {"CastLike", OpKind::Cast, castLike, Domain::Standard, Function::Cast},
        {"Identity", OpKind::Identity, firstInputs<1>},
        {"Dropout", OpKind::Identity, dropout},
        {"QuickGelu", OpKind::Elementwise, allInputs, Domain::Runtime},
        {"Gelu", OpKind::Elementwise, allInputs, Domain::Both},
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
    for (const char* name : kElementwise) rules.push_back({name, OpKind::Elementwise, allInputs});
    for (const auto& [name, function] :
         {std::pair{"Max", Function::Maximum}, std::pair{"Pow", Function::Power},
          std::pair{"Sqrt", Function::SquareRoot}, std::pair{"Reciprocal", Function::Reciprocal},
          std::pair{"Relu", Function::Relu}, std::pair{"Ceil", Function::Step}, std::pair{"Floor", Function::Step},
          std::pair{"Mod", Function::Step}, std::pair{"Round", Function::Step}, std::pair{"Sign", Function::Step}})
      rules.push_back({name, OpKind::Elementwise, allInputs, Domain::Standard, function});
    rules.push_back({"ConstantOfShape", OpKind::ShapeQuery, constantOfShape});
    rules.push_back({"Shape", OpKind::ShapeQuery, shape, Domain::Standard, Function::Sizes});
    for (const char* name : {"Size", "RandomNormalLike", "RandomUniformLike"})
      rules.push_back({name, OpKind::ShapeQuery, countQuery});
    return rules;
  }();
  return kRules;
}

}  // namespace normlens::formats::onnx
