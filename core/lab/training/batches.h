// The data of a run as tensors, batch by batch. Thread: const calls from any.
#pragma once

#include <torch/script.h>

#include <vector>

#include "core/lab/data/data_set.h"
#include "core/protocol/run_settings.h"

namespace normlens::lab {

struct Batch {
  at::Tensor input;   // table: [examples, features]; text: [examples, context] of characters
  at::Tensor target;  // classes: [examples], or [examples * context]
};

class Batches {
 public:
  // Error: BadInput where the text that is set aside is shorter than what the network sees at a time.
  [[nodiscard]] static Result<Batches> make(const Data& data, const RunSettings& settings, at::ScalarType type);

  // The batches of an epoch, in its order, which depends on seed and epoch alone.
  class Epoch {
   public:
    [[nodiscard]] int64_t steps() const { return steps_; }
    [[nodiscard]] Batch operator[](int64_t step) const;

   private:
    friend class Batches;
    const Batches* of_ = nullptr;
    at::Tensor order_;  // Orders the examples, or places in the text.
    int64_t steps_ = 0;
  };
  [[nodiscard]] Epoch epoch(int64_t seed, int epoch) const;
  [[nodiscard]] int64_t stepsOfEpoch() const;

  [[nodiscard]] const std::vector<Batch>& test() const { return test_; }
  [[nodiscard]] int64_t inputs() const { return inputs_; }
  [[nodiscard]] int64_t classes() const { return classes_; }

 private:
  Batches() = default;
  void takeTable(const TableData& data, at::ScalarType type);
  [[nodiscard]] Status takeText(const TextData& data);
  void moveTo(c10::Device device);
  [[nodiscard]] Batch windows(const at::Tensor& text, const at::Tensor& places) const;

  bool isText_ = false;
  int64_t batch_ = 0, context_ = 0, stepsPerEpoch_ = 0, inputs_ = 0, classes_ = 0;
  at::Tensor input_, target_;  // The training examples'; a text has input_ alone.
  std::vector<Batch> test_;
};

}  // namespace normlens::lab
