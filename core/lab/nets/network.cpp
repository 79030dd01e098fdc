#include "core/lab/nets/network.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>

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

// Switches autocast to bfloat16 on for one pass.
class Autocast {
 public:
  Autocast(bool on, c10::DeviceType device) : on_(on), device_(device) {
    if (!on_) return;
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!on_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_;
  c10::DeviceType device_;
};

at::Tensor rows(const at::Tensor& input, bool isSignal) {
  const at::Tensor all = input.detach();
  return isSignal ? all.flatten(1) : all.reshape({-1, all.size(-1)});
}

}  // namespace

at::ScalarType scalarTypeOf(Precision precision) { return precision == Precision::Float64 ? at::kDouble : at::kFloat; }

c10::Device deviceOf(const RunSettings& settings) {
  const int gpu = gpuNamed(settings.device).value_or(kNoGpu);
  return gpu == kNoGpu ? c10::Device(at::kCPU) : c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(gpu));
}

at::Tensor centered(const at::Tensor& value, int64_t outputAxis, int64_t groups) {
  if (groups == 1) return value - value.mean({outputAxis}, /*keepdim=*/true);
  return centered(value.unflatten(outputAxis, {groups, -1}), outputAxis + 1).flatten(outputAxis, outputAxis + 1);
}

at::Tensor centered(const Parameter& parameter, const at::Tensor& value) {
  return centered(value, parameter.outputAxis, parameter.groups);
}

at::Tensor narrowed(const at::Tensor& value, int64_t axis) {
  const int64_t kept = value.size(axis) - 1;
  const auto channels = static_cast<double>(kept + 1);
  const at::Tensor rest = value.narrow(axis, 0, kept), last = value.narrow(axis, kept, 1);
  return rest + last / std::sqrt(channels) - rest.sum({axis}, /*keepdim=*/true) / (channels - std::sqrt(channels));
}

const Parameter* Network::find(std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

Network::Network(const RunSettings& settings, const NetworkShape& shape)
    : normUse_(shape.network),
      autocast_(shape.precision == Precision::BFloat16),
      type_(scalarTypeOf(shape.precision)),
      device_(deviceOf(settings)),
      seed_(shape.seed),
      eps_(settings.norm_eps),
      isSignal_(settings.architecture == Architecture::Convolutional),
      groups_(settings.groups),
      randomAffine_(settings.random_affine) {}

at::Tensor Network::used(const Parameter& parameter) const {
  if (normUse_ == NormUse::CbwcRmsNorm && parameter.beforeNorm) return centered(parameter, parameter.value);
  if (normUse_ != NormUse::CrmsNorm) return parameter.value;
  if (parameter.beforeNorm) return narrowed(parameter.value, parameter.outputAxis);
  if (!parameter.normed) return parameter.value;
  const at::Tensor &gamma = parameters_[*parameter.normed].value, &beta = parameters_[*parameter.normed + 1].value;
  if (parameter.value.dim() == 1) return parameter.value + (&parameter - 1)->value.mv(beta);  // behind its weight
  const auto width = static_cast<double>(gamma.size(0));
  return narrowed(parameter.value * gamma, 1) * std::sqrt(width / (width - 1));
}

at::Tensor Network::forward(const at::Tensor& input, Pass& pass) const {
  const Autocast cast(autocast_, device_.type());
  return scores(input, pass).to(type_);
}

size_t Network::add(const std::vector<double>& values, at::IntArrayRef shape, Parameter parameter) {
  const auto wide = at::tensor(values, at::TensorOptions(at::kDouble)).reshape(shape);
  parameter.value = wide.to(type_).to(device_).clone().requires_grad_(true);
  parameters_.push_back(std::move(parameter));
  return parameters_.size() - 1;
}

Network::Linear Network::addLinear(const std::string& name, int64_t inputs, int64_t outputs, bool beforeNorm,
                                   const Norm* normed) {
  return addLayer(name, {outputs, inputs}, beforeNorm, 1,
                  normed == nullptr ? std::nullopt : std::optional(normed->gamma));
}

Network::Linear Network::addConvolution(const std::string& name, int64_t inputs, int64_t outputs, int64_t groups) {
  return addLayer(name, {outputs, inputs, 3}, true, groups, {});
}

Network::Linear Network::addLayer(const std::string& name, at::IntArrayRef shape, bool beforeNorm, int64_t groups,
                                  std::optional<size_t> normed) {
  const int64_t outputs = shape.front(), all = c10::multiply_integers(shape), inputs = all / outputs;
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  const auto uniform = [&](const std::string& whole, int64_t count) {
    RandomNumbers draw(seedOf(seed_, whole));
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = bound * (2 * draw.unit() - 1);
    return values;
  };
  linearNames_.push_back(name);
  const auto made = [&](const std::string& whole, int64_t count, at::IntArrayRef sizes) {
    return add(uniform(whole, count), sizes, {whole, {}, 0, beforeNorm, groups, normed});
  };
  const size_t weight = made(name + ".weight", all, shape);
  return {weight, made(name + ".bias", outputs, {outputs})};
}

size_t Network::addTable(const std::string& name, int64_t rows, int64_t width) {
  RandomNumbers draw(seedOf(seed_, name));
  std::vector<double> values(static_cast<size_t>(rows * width));
  for (double& value : values) value = 0.02 * draw.normal();
  return add(values, {rows, width}, {name + ".weight", {}, 1, true});
}

Network::Norm Network::addNorm(const std::string& name, int64_t width) {
  if (normUse_ == NormUse::Plain) return {};
  const auto affine = [&](const std::string& whole, double middle) {
    RandomNumbers draw(seedOf(seed_, whole));
    std::vector<double> values(static_cast<size_t>(width), middle);
    for (double& value : values) value += randomAffine_ ? 0.3 * draw.normal() : 0;
    return values;
  };
  const size_t gamma = add(affine(name + ".weight", 1), {width}, {name + ".weight", {}});
  return {gamma, add(affine(name + ".bias", 0), {width}, {name + ".bias", {}})};
}

at::Tensor Network::linear(const Linear& part, const at::Tensor& input, Pass& pass) const {
  const at::Tensor weight = used(part.weight), bias = used(part.bias);
  const bool isSignal = weight.dim() == 3;
  if (pass.traced) pass.linears.push_back(rows(input, isSignal));
  const at::Tensor outputs =
      isSignal ? at::conv1d(input, weight, bias, /*stride=*/1, /*padding=*/1) : at::linear(input, weight, bias);
  return parameters_[part.weight].beforeNorm ? dropped(outputs, pass) : outputs;
}

at::Tensor Network::activated(Activation activation, const at::Tensor& input, Pass& pass) const {
  if (pass.traced) pass.activations.push_back(rows(input, isSignal_));
  if (activation == Activation::Gelu) return at::gelu(input);
  return activation == Activation::Tanh ? at::tanh(input) : at::relu(input);
}

at::Tensor Network::dropped(const at::Tensor& outputs, Pass& pass) const {
  if (!pass.masks) return outputs;
  const at::Tensor kept =
      at::empty(outputs.sizes(), at::TensorOptions(at::kFloat)).bernoulli_(1 - pass.dropout, pass.masks);
  return outputs * kept.to(outputs.device(), outputs.scalar_type()) / (1 - pass.dropout);
}

// GroupNorm, and its RMS: each group of channels over all positions.
at::Tensor Network::groupNorm(const Norm& part, const at::Tensor& input) const {
  const at::Tensor gamma = used(part.gamma), beta = used(part.beta);
  if (normUse_ == NormUse::LayerNorm) return at::group_norm(input, groups_, gamma, beta, eps_);
  const at::Tensor grouped = input.reshape({input.size(0), groups_, -1});
  const at::Tensor normed = at::rms_norm(grouped, {grouped.size(-1)}, {}, eps_).reshape(input.sizes());
  return normed * gamma.unsqueeze(1) + beta.unsqueeze(1);
}

at::Tensor Network::norm(const Norm& part, const at::Tensor& input, Pass& pass) const {
  if (normUse_ == NormUse::Plain) return input;
  if (pass.traced) pass.norms.push_back(rows(input, isSignal_));
  if (isSignal_) return groupNorm(part, input);
  if (normUse_ == NormUse::CrmsNorm) {  // γ and β are in the layers that read it
    const auto kept = static_cast<double>(input.size(-1));
    return at::rms_norm(input, {input.size(-1)}, {}, eps_ * (kept + 1) / kept);
  }
  const at::Tensor gamma = used(part.gamma), beta = used(part.beta);
  if (normUse_ == NormUse::LayerNorm) return at::layer_norm(input, {input.size(-1)}, gamma, beta, eps_);
  // Torch computes an RMSNorm of two types step by step, and warns.
  if (autocast_) return at::rms_norm(input, {input.size(-1)}, {}, eps_) * gamma + beta;
  return at::rms_norm(input, {input.size(-1)}, gamma, eps_) + beta;
}

std::unique_ptr<Network> makeNetwork(const RunSettings& settings, const NetworkShape& shape) {
  return isTransformer(settings) ? makeTransformer(settings, shape) : makePerceptron(settings, shape);
}

}  // namespace normlens::lab
