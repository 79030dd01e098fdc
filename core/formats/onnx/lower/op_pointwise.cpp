// Rows for pointwise arithmetic, casts, gates and what only reads shapes.
#include <utility>

#include "core/formats/onnx/lower/op_rule.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;
using graph::Function;
using graph::OpKind;

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

}  // namespace

const std::vector<OpRule>& pointwiseRules() {
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
      rules.push_back({name, OpKind::ShapeQuery, firstInputs<1>});
    return rules;
  }();
  return kRules;
}

}  // namespace normlens::formats::onnx
