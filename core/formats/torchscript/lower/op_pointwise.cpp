// Rows for pointwise arithmetic, casts, gates and what only reads shapes.
#include <utility>

#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

using graph::Function;
using graph::OpKind;

// Multiplies tensors and numbers.
void mul(OpContext& op) {
  op.operand(op.has("self") ? "self" : "a");
  op.operand(op.has("other") ? "other" : "b");
}

// a + alpha * b, a - alpha * b.
void addLike(OpContext& op) {
  mul(op);
  if (op.has("alpha") && !op.setKnown("alpha", op.numberOf("alpha"))) op.kind = OpKind::Opaque;
}

// rsub(x, y) = y - alpha * x.
void reversedSub(OpContext& op) {
  op.operand("other");
  op.operand("self");
  if (!op.setKnown("alpha", op.numberOf("alpha"))) op.kind = OpKind::Opaque;
}

// a + w (b - a) = (1 - w) a + w b
void lerp(OpContext& op) {
  const auto weight = op.numberOf("weight");
  if (!weight || *weight == 1) {
    op.kind = OpKind::Elementwise;
    return op.allOperands();
  }
  op.operand("self");
  op.operand("end");
  op.set("alpha", *weight);
}

void div(OpContext& op) {
  mul(op);
  if (!op.has("rounding_mode") || op.isNone("rounding_mode")) return;
  op.kind = OpKind::Elementwise;
  op.function = Function::Step;
}

void unary(OpContext& op) {
  if (!op.operandOf({"self", "input", "a"})) op.kind = OpKind::Opaque;
}

// Everything that is read at run time; numbers in the file stay attributes.
void pointwise(OpContext& op) { op.allOperands(); }

void power(OpContext& op) {
  op.operand("self");
  op.operand("exponent");
}

// self + value * (a op b). The product of halves is not one that a half could hold.
void addProduct(OpContext& op) {
  const auto value = op.numberOf("value");
  const auto dtype = op.dtypeOfInput("self");
  const bool wide = dtype == graph::DType::Float32 || dtype == graph::DType::Float64;
  const bool oneType = op.dtypeOfInput("tensor1") == dtype && op.dtypeOfInput("tensor2") == dtype;
  if (!wide || !oneType) op.kind = OpKind::Elementwise;
  if (!value || op.has("out")) {
    op.kind = OpKind::Elementwise;
    return op.allOperands();
  }
  const Operand first = op.take("tensor1"), second = op.take("tensor2");
  if (first.value == graph::kNoValue || second.value == graph::kNoValue) return op.allOperands();
  op.operand("self");
  const bool divides = op.name().starts_with("addcdiv");
  op.operands.push_back(op.part(divides ? OpKind::Div : OpKind::Mul, divides ? "aten::div" : "aten::mul",
                                {first, second}, {}, OpContext::kInside));
  op.set("alpha", *value);
}

void where(OpContext& op) {
  if (!op.has("self")) {
    op.kind = OpKind::Opaque;
    return;
  }
  op.operand("condition");
  op.operand("self");
  op.operand("other");
}

void maskedFill(OpContext& op) {
  op.operand("self");
  op.operand("mask");
  op.operand("value");
}

// Off in eval mode, or where nothing is dropped: the same elements.
void dropout(OpContext& op) {
  op.operand("input");
  if (op.boolOf("train") != false && op.numberOf("p") != 0.0) op.kind = OpKind::Opaque;
}

// A cast where the type changes, otherwise the same elements. Before a probe nothing is known of the types.
void cast(OpContext& op) {
  op.operand("self");
  const auto before = op.dtypeOfInput("self"), after = op.outputDtype();
  if (before != graph::DType::Unknown && before == after) op.kind = OpKind::Identity;
}

void shapeQuery(OpContext& op) { op.operandOf({"self", "a", "input"}); }

// The result depends on the sizes of all axes.
void countQuery(OpContext& op) {
  shapeQuery(op);
  op.set("counts", true);
}

// A new tensor of one number, in the shape of another one or in sizes of its own.
void filled(OpContext& op, std::optional<double> number) {
  shapeQuery(op);
  op.has("size") ? op.markFixedAxes("size") : op.set("like", true);
  if (!op.setKnown("fill", number)) op.kind = OpKind::Opaque;
}
void zeros(OpContext& op) { filled(op, 0.0); }
void ones(OpContext& op) { filled(op, 1.0); }
void full(OpContext& op) { filled(op, op.numberOf("fill_value")); }

// fill_(x, value), zero_(x): nothing of x is read, so a centered copy of it would not do.
void fill(OpContext& op) {
  const auto number = op.has("value") ? op.numberOf("value") : std::optional(0.0);
  if (!op.setKnown("fill", number)) op.kind = OpKind::Opaque;
}

// copy_(x, src): what src is, broadcast to x's shape. Where it changes the type, it may round.
void copy(OpContext& op) {
  const auto from = op.dtypeOfInput("src");
  if (from == graph::DType::Unknown || from != op.outputDtype())
    op.kind = OpKind::Opaque;
  else
    op.operand("src");
}

constexpr const char* kIdentities[] = {
    "aten::contiguous", "aten::detach",           "aten::clone",           "aten::alias",      "aten::lift_fresh",
    "aten::lift",       "aten::resolve_conj",     "aten::resolve_neg",     "aten::positive",   "aten::requires_grad_",
    "aten::cpu",        "aten::_unwrap_optional", "aten::lift_fresh_copy", "aten::alias_copy", "aten::detach_copy"};

constexpr const char* kElementwise[] = {
    "aten::relu6",       "aten::gelu",        "aten::silu",        "aten::mish",        "aten::elu",
    "aten::celu",        "aten::selu",        "aten::leaky_relu",  "aten::hardtanh",    "aten::hardswish",
    "aten::hardsigmoid", "aten::softplus",    "aten::threshold",   "aten::sigmoid",     "aten::tanh",
    "aten::log_sigmoid", "aten::exp",         "aten::exp2",        "aten::expm1",       "aten::log",
    "aten::log2",        "aten::log10",       "aten::log1p",       "aten::abs",         "aten::sin",
    "aten::cos",         "aten::tan",         "aten::asin",        "aten::acos",        "aten::atan",
    "aten::sinh",        "aten::cosh",        "aten::asinh",       "aten::acosh",       "aten::atanh",
    "aten::erf",         "aten::erfc",        "aten::erfinv",      "aten::logit",       "aten::clamp",
    "aten::clamp_min",   "aten::clamp_max",   "aten::minimum",     "aten::fmax",        "aten::fmin",
    "aten::atan2",       "aten::hypot",       "aten::eq",          "aten::ne",          "aten::lt",
    "aten::le",          "aten::gt",          "aten::ge",          "aten::logical_and", "aten::logical_or",
    "aten::logical_not", "aten::logical_xor", "aten::bitwise_and", "aten::bitwise_or",  "aten::bitwise_not",
    "aten::bitwise_xor", "aten::isnan",       "aten::isinf",       "aten::isfinite",    "aten::nan_to_num",
    "aten::xlogy",       "aten::copysign",    "aten::sinc",        "aten::__and__",     "aten::__or__",
    "aten::__xor__",     "aten::__not__",     "aten::hardshrink",  "aten::softshrink",  "aten::lgamma"};

constexpr const char* kSteps[] = {"aten::sign",         "aten::sgn",      "aten::floor",     "aten::ceil",
                                  "aten::round",        "aten::trunc",    "aten::frac",      "aten::fmod",
                                  "aten::floor_divide", "aten::floordiv", "aten::remainder", "aten::heaviside"};

// clang-format off
constexpr const char* kSizeQueries[] = {"aten::size", "aten::dim", "aten::sym_size", "aten::new_empty",
         "aten::is_floating_point", "aten::_shape_as_tensor", "prim::dtype", "prim::device", "prim::layout", "aten::len",
         "aten::is_complex", "aten::is_signed", "aten::is_inference", "aten::get_device",
         "prim::is_nested", "prim::is_cuda", "prim::is_cpu",
         "prim::is_xla", "prim::is_xpu", "prim::is_mps", "prim::is_mkldnn", "prim::is_quantized", "prim::is_sparse",
         "prim::is_sparse_csr", "prim::is_vulkan", "prim::is_ipu", "prim::is_meta", "prim::is_maia",
         "prim::requires_grad", "prim::itemsize"};
constexpr const char* kCountQueries[] = {"aten::numel", "aten::empty_like", "aten::rand_like", "aten::randn_like",
         "aten::stride", "aten::is_contiguous", "aten::is_same_size", "aten::storage_offset", "prim::nbytes"};
// clang-format on

}  // namespace

const std::vector<OpRule>& pointwiseRules() {
  static const std::vector<OpRule> kRules = [] {
    std::vector<OpRule> rules = {
        {"aten::add", OpKind::Add, addLike},
        {"aten::sub", OpKind::Sub, addLike},
        {"aten::rsub", OpKind::Sub, reversedSub},
        {"aten::mul", OpKind::Mul, mul},
        {"aten::div", OpKind::Div, div},
        {"aten::neg", OpKind::Neg, unary},
        {"aten::lerp", OpKind::Add, lerp},
        {"aten::where", OpKind::Where, where},
        {"aten::masked_fill", OpKind::MaskedFill, maskedFill},
        {"aten::addcmul", OpKind::Add, addProduct},
        {"aten::addcdiv", OpKind::Add, addProduct},
        {"aten::copy", OpKind::Expand, copy},
        {"aten::fill", OpKind::ShapeQuery, fill},
        {"aten::zero", OpKind::ShapeQuery, fill},
        {"aten::pow", OpKind::Elementwise, power, Function::Power},
    };
    for (const char* name : {"aten::to", "aten::_to_copy", "aten::type_as"})
      rules.push_back({name, OpKind::Cast, cast, Function::Cast});
    for (const auto& [name, function] :
         {std::pair{"aten::relu", Function::Relu}, std::pair{"aten::sqrt", Function::SquareRoot},
          std::pair{"aten::rsqrt", Function::InverseSquareRoot}, std::pair{"aten::square", Function::Square},
          std::pair{"aten::reciprocal", Function::Reciprocal}, std::pair{"aten::maximum", Function::Maximum}})
      rules.push_back({name, OpKind::Elementwise, pointwise, function});
    for (const char* name :
         {"aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout"})
      rules.push_back({name, OpKind::Identity, dropout});
    for (const char* name : kIdentities) rules.push_back({name, OpKind::Identity, unary});
    for (const char* name : kElementwise) rules.push_back({name, OpKind::Elementwise, pointwise});
    for (const char* name : kSteps) rules.push_back({name, OpKind::Elementwise, pointwise, Function::Step});
    for (const char* name : kSizeQueries) rules.push_back({name, OpKind::ShapeQuery, shapeQuery});
    for (const char* name : kCountQueries) rules.push_back({name, OpKind::ShapeQuery, countQuery});
    for (const char* name : {"aten::zeros", "aten::zeros_like", "aten::new_zeros"})
      rules.push_back({name, OpKind::ShapeQuery, zeros});
    for (const char* name : {"aten::ones", "aten::ones_like", "aten::new_ones"})
      rules.push_back({name, OpKind::ShapeQuery, ones});
    for (const char* name : {"aten::full", "aten::full_like", "aten::new_full"})
      rules.push_back({name, OpKind::ShapeQuery, full});
    return rules;
  }();
  return kRules;
}

}  // namespace normlens::formats::torchscript
