// Operators that work element by element.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kElementsPerPiece = 1 << 14;

double given(double value, double otherwise) { return std::isnan(value) ? otherwise : value; }

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double geluErf(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double geluTanh(double x) {
  constexpr double kScale = 2 * std::numbers::inv_sqrtpi / std::numbers::sqrt2;  // sqrt(2 / pi)
  return 0.5 * x * (1 + std::tanh(kScale * (x + 0.044715 * x * x * x)));
}

// Numbers that the definition gives as float32 are float32 here too: 1.67326319217681884765625 and so on.
constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

struct ActivationRow {
  const char* name;
  Activation (*make)(double alpha, double beta);
};

constexpr double kFifth = static_cast<double>(0.2f), kTenth = static_cast<double>(0.01f);

const ActivationRow kActivations[] = {
    {"Acos", [](double, double) -> Activation { return [](double x) { return std::acos(x); }; }},
    {"Acosh", [](double, double) -> Activation { return [](double x) { return std::acosh(x); }; }},
    {"Asin", [](double, double) -> Activation { return [](double x) { return std::asin(x); }; }},
    {"Asinh", [](double, double) -> Activation { return [](double x) { return std::asinh(x); }; }},
    {"Atan", [](double, double) -> Activation { return [](double x) { return std::atan(x); }; }},
    {"Atanh", [](double, double) -> Activation { return [](double x) { return std::atanh(x); }; }},
    {"Cosh", [](double, double) -> Activation { return [](double x) { return std::cosh(x); }; }},
    {"Sinh", [](double, double) -> Activation { return [](double x) { return std::sinh(x); }; }},
    {"Tan", [](double, double) -> Activation { return [](double x) { return std::tan(x); }; }},
    {"Tanh", [](double, double) -> Activation { return [](double x) { return std::tanh(x); }; }},
    {"Erf", [](double, double) -> Activation { return [](double x) { return std::erf(x); }; }},
    {"Relu", [](double, double) -> Activation { return [](double x) { return x < 0 ? 0.0 : x; }; }},
    {"Sigmoid", [](double, double) -> Activation { return sigmoid; }},
    {"Softplus", [](double, double) -> Activation { return softplus; }},
    {"Softsign", [](double, double) -> Activation { return [](double x) { return x / (1 + std::abs(x)); }; }},
    {"Mish", [](double, double) -> Activation { return [](double x) { return x * std::tanh(softplus(x)); }; }},
    {"HardSwish",
     [](double, double) -> Activation {
       return [](double x) { return x * std::clamp(x * static_cast<double>(1.0f / 6.0f) + 0.5, 0.0, 1.0); };
     }},
    {"Affine",
     [](double alpha, double beta) -> Activation {
       return [a = given(alpha, 1), b = given(beta, 0)](double x) { return a * x + b; };
     }},
    {"Celu",
     [](double alpha, double) -> Activation {
       return [a = given(alpha, 1)](double x) { return std::max(0.0, x) + std::min(0.0, a * std::expm1(x / a)); };
     }},
    {"Elu",
     [](double alpha, double) -> Activation {
       return [a = given(alpha, 1)](double x) { return x < 0 ? a * std::expm1(x) : x; };
     }},
    {"HardSigmoid",
     [](double alpha, double beta) -> Activation {
       return [a = given(alpha, kFifth), b = given(beta, 0.5)](double x) { return std::clamp(a * x + b, 0.0, 1.0); };
     }},
    {"LeakyRelu",
     [](double alpha, double) -> Activation {
       return [a = given(alpha, kTenth)](double x) { return x < 0 ? a * x : x; };
     }},
    {"ThresholdedRelu",
     [](double alpha, double) -> Activation { return [a = given(alpha, 1)](double x) { return x > a ? x : 0.0; }; }},
    {"ScaledTanh",
     [](double alpha, double beta) -> Activation {
       return [a = given(alpha, 1), b = given(beta, 1)](double x) { return a * std::tanh(b * x); };
     }},
    {"ParametricSoftplus",
     [](double alpha, double beta) -> Activation {
       return [a = given(alpha, 1), b = given(beta, 1)](double x) { return a * softplus(b * x); };
     }},
    {"Clip",
     [](double alpha, double beta) -> Activation {
       return [a = given(alpha, std::numeric_limits<double>::lowest()),
               b = given(beta, std::numeric_limits<double>::max())](double x) { return std::clamp(x, a, b); };
     }},
};

void apply(Call& call, const Activation& f) {
  const Array x = call.array(0);
  double* const out = call.output(0, x.shape);
  const int64_t count = x.count();
  call.parallel((count + kElementsPerPiece - 1) / kElementsPerPiece, [&](int64_t piece) {
    const int64_t end = std::min(count, (piece + 1) * kElementsPerPiece);
    for (int64_t i = piece * kElementsPerPiece; i < end; ++i) out[i] = f(x.data[i]);
  });
}

// The bias, if there is one, is added along the last axis first.
void applyBiased(Call& call, const Activation& f) {
  const Array x = call.array(0);
  const Array bias = call.has(1) ? call.array(1) : Array{};
  double* const out = call.output(0, x.shape);
  const int64_t count = x.count(), width = bias.data ? std::max<int64_t>(bias.count(), 1) : 1;
  for (int64_t i = 0; i < count; ++i) out[i] = f(bias.data ? x.data[i] + bias.data[i % width] : x.data[i]);
}

Kernel makeActivation(const Attributes& attributes) {
  const double alpha = attributes.number("alpha", kNotGiven), beta = attributes.number("beta", kNotGiven);
  Activation f = activation(attributes.text("normlens_op", ""), alpha, beta);
  return [f = std::move(f)](Call& call) { apply(call, f); };
}

Kernel makeSelu(const Attributes& attributes) {
  const double alpha = attributes.number("alpha", kSeluAlpha), gamma = attributes.number("gamma", kSeluGamma);
  return [=](Call& call) { apply(call, [=](double x) { return gamma * (x <= 0 ? alpha * std::expm1(x) : x); }); };
}

Kernel makeGelu(const Attributes& attributes) {
  const bool byTanh = attributes.text("approximate", "none") == "tanh";
  return [=](Call& call) { applyBiased(call, byTanh ? geluTanh : geluErf); };
}

Kernel makeFastGelu(const Attributes&) {
  return [](Call& call) { applyBiased(call, geluTanh); };
}

// x sigmoid(alpha x): QuickGelu (alpha 1.702) and Swish (alpha 1).
Kernel swishWith(double alpha) {
  return [=](Call& call) { apply(call, [=](double x) { return x * sigmoid(alpha * x); }); };
}
Kernel makeQuickGelu(const Attributes& attributes) {
  return swishWith(attributes.number("alpha", static_cast<double>(1.702f)));
}
Kernel makeSwish(const Attributes& attributes) { return swishWith(attributes.number("alpha", 1)); }

// The slope broadcasts to x; before opset 7 a slope of one axis goes along the channels.
Kernel makePRelu(const Attributes&) {
  return [](Call& call) {
    const Array x = call.array(0), slope = call.array(1);
    double* const out = call.output(0, x.shape);
    forEachPair(x.shape, x.shape, slope.shape,
                [&](int64_t i, int64_t, int64_t j) { out[i] = x.data[i] < 0 ? x.data[i] * slope.data[j] : x.data[i]; });
  };
}

const KernelRow kRows[] = {
    {"Activation", "d", "d", makeActivation}, {"Selu", "d", "d", makeSelu},           {"Gelu", "dD", "d", makeGelu},
    {"FastGelu", "dD", "d", makeFastGelu},    {"QuickGelu", "d", "d", makeQuickGelu}, {"Swish", "d", "d", makeSwish},
    {"PRelu", "dd", "d", makePRelu},
};

}  // namespace

Activation activation(const std::string& name, double alpha, double beta) {
  const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  for (const ActivationRow& row : kActivations) {
    if (std::ranges::equal(name, std::string_view(row.name), same)) return row.make(alpha, beta);
  }
  throw std::runtime_error("the activation '" + name + "' is not known");
}

std::span<const KernelRow> elementwiseKernels() { return kRows; }

}  // namespace normlens::formats::onnx::float64
