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

// Numbers that the definition has as float32 are float32 here too: 1.67326319217681884765625 and so on.
constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

struct ActivationRow {
  const char* name;
  double alpha, beta;  // the operator's own; the second parameter of Selu is called gamma
  double (*at)(double x, double a, double b);
  bool notStandard = false;  // Only ONNX Runtime has it, or it or the onnx library has the standard one in double.
};

constexpr double kFifth = static_cast<double>(0.2F), kTenth = static_cast<double>(0.01F);
constexpr double kLowest = std::numeric_limits<double>::lowest(), kLargest = std::numeric_limits<double>::max();

const ActivationRow kActivations[] = {
    {"Acos", 0, 0, [](double x, double, double) { return std::acos(x); }},
    {"Acosh", 0, 0, [](double x, double, double) { return std::acosh(x); }},
    {"Asin", 0, 0, [](double x, double, double) { return std::asin(x); }},
    {"Asinh", 0, 0, [](double x, double, double) { return std::asinh(x); }},
    {"Atan", 0, 0, [](double x, double, double) { return std::atan(x); }},
    {"Atanh", 0, 0, [](double x, double, double) { return std::atanh(x); }},
    {"Cosh", 0, 0, [](double x, double, double) { return std::cosh(x); }},
    {"Sinh", 0, 0, [](double x, double, double) { return std::sinh(x); }},
    {"Tan", 0, 0, [](double x, double, double) { return std::tan(x); }},
    {"Erf", 0, 0, [](double x, double, double) { return std::erf(x); }},
    {"Softplus", 0, 0, [](double x, double, double) { return softplus(x); }},
    {"Softsign", 0, 0, [](double x, double, double) { return x / (1 + std::abs(x)); }},
    {"Affine", 1, 0, [](double x, double a, double b) { return a * x + b; }},
    {"Elu", 1, 0, [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }},
    {"Selu", kSeluAlpha, kSeluGamma, [](double x, double a, double b) { return b * (x <= 0 ? a * std::expm1(x) : x); }},
    {"HardSigmoid", kFifth, 0.5, [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }},
    {"LeakyRelu", kTenth, 0, [](double x, double a, double) { return x < 0 ? a * x : x; }},
    {"ThresholdedRelu", 1, 0, [](double x, double a, double) { return x > a ? x : 0.0; }},
    {"ScaledTanh", 1, 1, [](double x, double a, double b) { return a * std::tanh(b * x); }},
    {"ParametricSoftplus", 1, 1, [](double x, double a, double b) { return a * softplus(b * x); }},
    {"QuickGelu", static_cast<double>(1.702F), 0, [](double x, double a, double) { return x * sigmoid(a * x); }},
    {"Gelu", 0, 0, [](double x, double, double) { return geluErf(x); }, true},
    {"BiasGelu", 0, 0, [](double x, double, double) { return geluErf(x); }, true},
    {"FastGelu", 0, 0, [](double x, double, double) { return geluTanh(x); }, true},
    {"Tanh", 0, 0, [](double x, double, double) { return std::tanh(x); }, true},
    {"Relu", 0, 0, [](double x, double, double) { return x < 0 ? 0.0 : x; }, true},
    {"Sigmoid", 0, 0, [](double x, double, double) { return sigmoid(x); }, true},
    {"Clip", kLowest, kLargest, [](double x, double a, double b) { return std::clamp(x, a, b); }, true},
};

// The bias, if there is one, is added along the last axis first.
void apply(Call& call, const Activation& f) {
  const Array x = call.array(0), bias = call.optionalArray(1);
  double* const out = call.output(0, x.shape);
  const int64_t count = x.count(), width = std::max<int64_t>(bias.data ? bias.count() : 1, 1);
  call.parallel((count + kElementsPerPiece - 1) / kElementsPerPiece, [&](int64_t piece) {
    const int64_t end = std::min(count, (piece + 1) * kElementsPerPiece);
    for (int64_t i = piece * kElementsPerPiece; i < end; ++i)
      out[i] = f(bias.data ? x.data[i] + bias.data[i % width] : x.data[i]);
  });
}

Kernel makeActivation(const Attributes& attributes) {
  const double alpha = attributes.number("alpha", kNotGiven);
  const double beta = attributes.number("beta", attributes.number("gamma", kNotGiven));
  Activation f = activation(attributes.text("normlens_op", ""), alpha, beta);
  return [f = std::move(f)](Call& call) { apply(call, f); };
}

// The slope broadcasts to x; before opset 7 a slope of one axis goes along the channels.
Kernel makePRelu(const Attributes&) {
  return [](Call& call) {
    const Array x = call.array(0), slope = call.array(1);
    double* const out = call.output(0, x.shape);
    forEachPair(x.shape, x.shape, slope.shape,
                [&](int64_t i, int64_t, int64_t j) { out[i] = x.data[i] < 0 ? x.data[i] * slope.data[j] : x.data[i]; });
  };
}

const KernelRow kElementwiseKernels[] = {
    {kActivationKernel, "dD", "d", makeActivation,
     "Activation com.microsoft.QuickGelu com.microsoft.Gelu com.microsoft.BiasGelu com.microsoft.FastGelu"},
    {"PRelu", "dd", "d", makePRelu},
};

}  // namespace

bool isOwnActivation(std::string_view op) {
  return std::ranges::any_of(kActivations,
                             [&](const ActivationRow& row) { return row.name == op && !row.notStandard; });
}

Activation activation(const std::string& name, double alpha, double beta) {
  const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  for (const ActivationRow& row : kActivations) {
    if (!std::ranges::equal(name, std::string_view(row.name), same)) continue;
    return [at = row.at, a = given(alpha, row.alpha), b = given(beta, row.beta)](double x) { return at(x, a, b); };
  }
  throw std::runtime_error("the activation '" + name + "' is not known");
}

std::span<const KernelRow> elementwiseKernels() { return kElementwiseKernels; }

}  // namespace normlens::formats::onnx::float64
