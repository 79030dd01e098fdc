// What a trained network computes, told step by step to whoever writes a file of it. Includes torch. Thread: one.
#pragma once

#include <cstdint>
#include <string>

#include "core/lab/nets/network.h"
#include "core/lab/run_settings.h"

namespace normlens::lab {

// Writes one network into one kind of file. A part ("block_1_norm_1") is a layer with parameters; a value is known by
// its name in the file.
class ForwardWriter {
 public:
  virtual ~ForwardWriter() = default;
  ForwardWriter(const ForwardWriter&) = delete;
  ForwardWriter& operator=(const ForwardWriter&) = delete;

  // The whole of it; gives the scores. `layers`: linear layers, or blocks.
  [[nodiscard]] std::string writeForward(int layers);

 protected:
  using Value = std::string;
  ForwardWriter(const Network& network, const RunSettings& settings) : network_(network), settings_(settings) {}

  virtual Value linear(const std::string& part, const Value& x) = 0;
  virtual Value layerNorm(const std::string& part, const Value& x) = 0;
  virtual Value rmsNorm(const std::string& part, const Value& x) = 0;          // and its β
  virtual Value lookUp(const std::string& part, const Value& characters) = 0;  // the table's rows for them
  virtual Value places(const std::string& part, const Value& characters) = 0;  // as many of its first as they are long
  virtual Value activation(const std::string& op, const Value& x) = 0;         // op: of aten, "gelu"
  virtual Value add(const Value& a, const Value& b) = 0;
  // Causal, from [batch, length, 3 * width].
  virtual Value attention(const Value& queriesKeysValues) = 0;

  // What is computed with, dense: centered weights are written centered (CCWT).
  [[nodiscard]] at::Tensor parameter(const std::string& name) const;
  [[nodiscard]] const RunSettings& settings() const { return settings_; }
  [[nodiscard]] int64_t headSize() const { return settings_.width / settings_.heads; }
  [[nodiscard]] bool isTransformer() const { return settings_.experiment == "transformer"; }

  static constexpr const char* kInput = "x";

 private:
  Value perceptron(int layers);
  Value transformer(int blocks);
  Value norm(const std::string& part, const Value& x);

  const Network& network_;
  const RunSettings& settings_;
};

}  // namespace normlens::lab
