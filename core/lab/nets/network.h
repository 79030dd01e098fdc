// A network of the laboratory: named parameters and what it makes of a batch.
//
// Networks of one shape have the same parameters under the same names, but for `plain`, which has no norms: the first
// values are a function of seed and name alone. Thread: one at a time.
#pragma once

#include <torch/script.h>

#include <memory>
#include <optional>
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
  int64_t groups = 1;       // Outputs are centered in so many groups, as GroupNorm does (papers 001 C.3).
  std::optional<size_t> normed = {};  // Index of γ, and then β, of the norm whose output its layer reads.
};

// W - mean of W over the output axis (papers 000 Definition 7, 001 Definition 3.2), or over each group of outputs, in
// W's own type. Differentiable.
[[nodiscard]] at::Tensor centered(const at::Tensor& value, int64_t outputAxis, int64_t groups = 1);
[[nodiscard]] at::Tensor centered(const Parameter& parameter, const at::Tensor& value);
// The axis in the basis of docs/method.md 9.1, without the channel that is 0 where they sum to 0. Differentiable.
[[nodiscard]] at::Tensor narrowed(const at::Tensor& value, int64_t axis);

// Pass is one pass through a network.
struct Pass {
  bool traced = false;
  // Each layer adds what it read where the pass is traced, detached: [examples, features].
  std::vector<at::Tensor> linears = {}, norms = {}, activations = {};
  // Dropout draws from it; equal seeds drop the same outputs in every network. nullopt: nothing is dropped.
  std::optional<at::Generator> masks = {};
  double dropout = 0;
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

  // Scores: [examples, classes], one row for each element of the targets, in the type of the weights.
  [[nodiscard]] at::Tensor forward(const at::Tensor& input, Pass& pass) const;
  // Names of the linear layers in the order of Pass, and of their weights among the parameters.
  [[nodiscard]] const std::vector<std::string>& linears() const { return linearNames_; }

  [[nodiscard]] std::vector<Parameter>& parameters() { return parameters_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] const Parameter* find(std::string_view name) const;
  [[nodiscard]] c10::Device device() const { return device_; }
  [[nodiscard]] NormUse normUse() const { return normUse_; }
  // Returns the parameter as it is computed with: centered where CBWC does; in the basis of the narrower stream where
  // CRMSNorm is used, and then with γ and β of the norm that its layer reads (docs/method.md 9.4).
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

  [[nodiscard]] virtual at::Tensor scores(const at::Tensor& input, Pass& pass) const = 0;

  // torch.nn.Linear's first values: uniform within 1/sqrt(inputs). normed: the norm whose output it reads, if
  // nothing is between.
  [[nodiscard]] Linear addLinear(const std::string& name, int64_t inputs, int64_t outputs, bool beforeNorm,
                                 const Norm* normed = nullptr);
  // The same for a convolution over 3 neighbors, whose outputs are normed in groups.
  [[nodiscard]] Linear addConvolution(const std::string& name, int64_t inputs, int64_t outputs, int64_t groups);
  // Normal, deviation 0.02; before norms.
  [[nodiscard]] size_t addTable(const std::string& name, int64_t rows, int64_t width);
  [[nodiscard]] Norm addNorm(const std::string& name, int64_t width);  // no parameters where there is no norm

  // input of a convolution and of a norm behind it: [examples, channels, positions].
  [[nodiscard]] at::Tensor linear(const Linear& part, const at::Tensor& input, Pass& pass) const;
  [[nodiscard]] at::Tensor norm(const Norm& part, const at::Tensor& input, Pass& pass) const;
  [[nodiscard]] at::Tensor activated(Activation activation, const at::Tensor& input, Pass& pass) const;
  // Returns what dropout leaves of a layer's outputs.
  [[nodiscard]] at::Tensor dropped(const at::Tensor& outputs, Pass& pass) const;
  [[nodiscard]] at::Tensor used(size_t parameter) const { return used(parameters_[parameter]); }

 private:
  size_t add(const std::vector<double>& values, at::IntArrayRef shape, Parameter parameter);
  Linear addLayer(const std::string& name, at::IntArrayRef shape, bool beforeNorm, int64_t groups,
                  std::optional<size_t> normed);
  [[nodiscard]] at::Tensor groupNorm(const Norm& part, const at::Tensor& input) const;

  NormUse normUse_;
  bool autocast_;
  at::ScalarType type_;
  c10::Device device_;
  int64_t seed_;
  double eps_;
  bool isSignal_;
  int64_t groups_;
  bool randomAffine_;
  std::vector<Parameter> parameters_;
  std::vector<std::string> linearNames_;
};

// linear, norm, activation again and again; `layers` linear layers, the last of which gives the scores. Residual: each
// inner layer's output is added to its input (papers 001 F). Convolutional: an example is a signal of one channel, and
// the last layer reads each channel's mean.
[[nodiscard]] std::unique_ptr<Network> makePerceptron(const RunSettings& settings, const NetworkShape& shape);
// Pre-norm, GPT-2's block: x + attention(norm(x)), then x + perceptron(norm(x)); a norm and a linear layer at the end.
// Post-norm, BERT's: norm(x + attention(x)), then norm(x + perceptron(x)), behind a norm of the embeddings.
[[nodiscard]] std::unique_ptr<Network> makeTransformer(const RunSettings& settings, const NetworkShape& shape);
// The one that settings.architecture names.
[[nodiscard]] std::unique_ptr<Network> makeNetwork(const RunSettings& settings, const NetworkShape& shape);

[[nodiscard]] at::ScalarType scalarTypeOf(Precision precision);
[[nodiscard]] c10::Device deviceOf(const RunSettings& settings);

}  // namespace normlens::lab
