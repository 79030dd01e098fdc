// A network of the laboratory: named parameters and what it makes of a batch.
//
// Networks of one shape have the same parameters under the same names, but for `plain`, which has no norms: the first
// values are a function of seed and name alone. Thread: one at a time.
#pragma once

#include <torch/script.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/run_settings.h"

namespace normlens::lab {

struct Parameter {
  std::string name;
  at::Tensor value;         // requires its gradient
  int64_t outputAxis = 0;   // An axis of the linear layer or table that it belongs to.
  bool beforeNorm = false;  // its outputs reach norms only: CBWC centers it along outputAxis, which changes nothing
                            // that a LayerNorm lets through
};

// W - mean of W over the output axis (papers 000 Definition 7, 001 Definition 3.2), in W's own type. Differentiable.
[[nodiscard]] at::Tensor centered(const at::Tensor& value, int64_t outputAxis);

// Trace holds what each linear layer read in one pass, detached: [examples, features].
struct Trace {
  std::vector<at::Tensor> inputs;
};

// NetworkShape has what a network needs beside its settings.
struct NetworkShape {
  NormUse network = NormUse::LayerNorm;
  int layers = 0;
  int64_t seed = 0;
  Precision precision = Precision::Float32;
  int64_t inputs = 0, classes = 0;  // perceptron: features; transformer: characters, both
};

class Network {
 public:
  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Scores: [examples, classes], one row for each element of the targets. trace: nullptr, or filled.
  [[nodiscard]] virtual at::Tensor forward(const at::Tensor& input, Trace* trace) const = 0;
  // Names of the linear layers in the order of Trace, and of their weights among the parameters.
  [[nodiscard]] const std::vector<std::string>& linears() const { return linearNames_; }

  [[nodiscard]] std::vector<Parameter>& parameters() { return parameters_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] const Parameter* find(std::string_view name) const;
  [[nodiscard]] c10::Device device() const { return device_; }
  [[nodiscard]] NormUse normUse() const { return normUse_; }
  // Returns the parameter as it is computed with: centered where CBWC does.
  [[nodiscard]] at::Tensor used(const Parameter& parameter) const;

 protected:
  // Indices of the parameters of a part.
  struct Linear {
    size_t weight = 0, bias = 0;
  };
  struct Norm {
    size_t gamma = 0, beta = 0;
  };
  Network(const RunSettings& settings, const NetworkShape& shape);

  // torch.nn.Linear's first values: uniform within 1/sqrt(inputs).
  [[nodiscard]] Linear addLinear(const std::string& name, int64_t inputs, int64_t outputs, bool beforeNorm);
  // Normal, deviation 0.02; before norms.
  [[nodiscard]] size_t addTable(const std::string& name, int64_t rows, int64_t width);
  [[nodiscard]] Norm addNorm(const std::string& name, int64_t width);  // no parameters where there is no norm

  [[nodiscard]] at::Tensor linear(const Linear& part, const at::Tensor& input, Trace* trace) const;
  [[nodiscard]] at::Tensor norm(const Norm& part, const at::Tensor& input) const;
  [[nodiscard]] at::Tensor used(size_t parameter) const { return used(parameters_[parameter]); }

 private:
  size_t add(const std::string& name, const std::vector<double>& values, at::IntArrayRef shape, int64_t outputAxis,
             bool beforeNorm);

  NormUse normUse_;
  at::ScalarType type_;
  c10::Device device_;
  int64_t seed_;
  double eps_;
  bool randomAffine_;
  std::vector<Parameter> parameters_;
  std::vector<std::string> linearNames_;
};

// linear, norm, ReLU again and again; `layers` linear layers, the last of which gives the scores.
[[nodiscard]] std::unique_ptr<Network> makePerceptron(const RunSettings& settings, const NetworkShape& shape);
// GPT-2's block: x + attention(norm(x)), then x + perceptron(norm(x)); a norm and a linear layer at the end.
[[nodiscard]] std::unique_ptr<Network> makeTransformer(const RunSettings& settings, const NetworkShape& shape);
[[nodiscard]] std::unique_ptr<Network> makeNetwork(const RunSettings& settings, const NetworkShape& shape);

[[nodiscard]] at::ScalarType scalarTypeOf(Precision precision);
[[nodiscard]] c10::Device deviceOf(const RunSettings& settings);

}  // namespace normlens::lab
