#include "core/lab/nets/network.h"

#include <cmath>

#include "core/base/geometry/random_numbers.h"
#include "core/base/machine.h"

namespace normlens::lab {
namespace {

// FNV-1a: each parameter has numbers of its own, whatever others a network has.
uint64_t seedOf(int64_t seed, std::string_view name) {
  uint64_t hash = 14695981039346656037U ^ (static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15U);
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

}  // namespace

at::ScalarType scalarTypeOf(Precision precision) { return precision == Precision::Float64 ? at::kDouble : at::kFloat; }

c10::Device deviceOf(const RunSettings& settings) {
  const int gpu = gpuNamed(settings.device).value_or(kNoGpu);
  return gpu == kNoGpu ? c10::Device(at::kCPU) : c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(gpu));
}

at::Tensor centered(const at::Tensor& value, int64_t outputAxis) {
  return value - value.mean({outputAxis}, /*keepdim=*/true);
}

const Parameter* Network::find(std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

Network::Network(const RunSettings& settings, const NetworkShape& shape)
    : normUse_(shape.network),
      type_(scalarTypeOf(shape.precision)),
      device_(deviceOf(settings)),
      seed_(shape.seed),
      eps_(settings.norm_eps),
      randomAffine_(settings.random_affine) {}

at::Tensor Network::used(const Parameter& parameter) const {
  const bool center = normUse_ == NormUse::CbwcRmsNorm && parameter.beforeNorm;
  return center ? centered(parameter.value, parameter.outputAxis) : parameter.value;
}

size_t Network::add(const std::string& name, const std::vector<double>& values, at::IntArrayRef shape,
                    int64_t outputAxis, bool beforeNorm) {
  const auto wide = at::tensor(values, at::TensorOptions(at::kDouble)).reshape(shape);
  parameters_.push_back({name, wide.to(type_).to(device_).clone().requires_grad_(true), outputAxis, beforeNorm});
  return parameters_.size() - 1;
}

Network::Linear Network::addLinear(const std::string& name, int64_t inputs, int64_t outputs, bool beforeNorm) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  const auto uniform = [&](const std::string& whole, int64_t count) {
    RandomNumbers draw(seedOf(seed_, whole));
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = bound * (2 * draw.unit() - 1);
    return values;
  };
  linearNames_.push_back(name);
  const size_t weight =
      add(name + ".weight", uniform(name + ".weight", inputs * outputs), {outputs, inputs}, 0, beforeNorm);
  return {weight, add(name + ".bias", uniform(name + ".bias", outputs), {outputs}, 0, beforeNorm)};
}

size_t Network::addTable(const std::string& name, int64_t rows, int64_t width) {
  RandomNumbers draw(seedOf(seed_, name));
  std::vector<double> values(static_cast<size_t>(rows * width));
  for (double& value : values) value = 0.02 * draw.normal();
  return add(name + ".weight", values, {rows, width}, 1, true);
}

Network::Norm Network::addNorm(const std::string& name, int64_t width) {
  if (normUse_ == NormUse::Plain) return {};
  const auto affine = [&](const std::string& whole, double middle) {
    RandomNumbers draw(seedOf(seed_, whole));
    std::vector<double> values(static_cast<size_t>(width), middle);
    for (double& value : values) value += randomAffine_ ? 0.3 * draw.normal() : 0;
    return values;
  };
  const size_t gamma = add(name + ".weight", affine(name + ".weight", 1), {width}, 0, false);
  return {gamma, add(name + ".bias", affine(name + ".bias", 0), {width}, 0, false)};
}

at::Tensor Network::linear(const Linear& part, const at::Tensor& input, Trace* trace) const {
  if (trace != nullptr) trace->inputs.push_back(input.detach().reshape({-1, input.size(-1)}));
  return at::linear(input, used(part.weight), used(part.bias));
}

at::Tensor Network::norm(const Norm& part, const at::Tensor& input) const {
  if (normUse_ == NormUse::Plain) return input;
  const at::Tensor gamma = used(part.gamma), beta = used(part.beta);
  if (normUse_ == NormUse::LayerNorm) return at::layer_norm(input, {input.size(-1)}, gamma, beta, eps_);
  return at::rms_norm(input, {input.size(-1)}, gamma, eps_) + beta;
}

std::unique_ptr<Network> makeNetwork(const RunSettings& settings, const NetworkShape& shape) {
  return settings.experiment == Experiment::Transformer ? makeTransformer(settings, shape)
                                                        : makePerceptron(settings, shape);
}

}  // namespace normlens::lab
