// RunSettings define one run of the laboratory: everything that decides its numbers. The file RUN.json holds this and
// nothing else.
//
//   Result<RunSettings> settings = readRunSettings(text);     // error: "optimizers[0].learning_rate must be above 0"
//   std::string file = writeRunSettings(*settings);           // read again, it is the same run
//
// A run trains networks side by side: for each depth, optimizer and seed the networks of `networks` in each of
// `precisions`, all from the same first weights, on the same data in the same order. A field that is left out has the
// default below; one that there is not, or that is out of its range, is an error that names it.
// No torch, no Qt: the window includes this. Thread: value types, pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/words/lab.h"
#include "core/protocol/field_list.h"

namespace normlens::lab {

// OptimizerSettings say how a network is trained: W <- W - rate * step. Formulas: those of torch.optim, which the tests
// compare with.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::Adam;
  double learning_rate = 1e-3;
  double momentum = 0;  // sgd only
  double weight_decay = 0;
  DecayOf decay_of = DecayOf::Weight;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // adam, adamw
  Schedule schedule = Schedule::Constant;
  double warmup = 0;     // share of the steps in which the rate rises from 0, in [0, 1)
  double clip_norm = 0;  // the gradients' common length is cut to this; 0: it is not
  double dropout = 0;    // share of the outputs in front of a norm or a stream that are set to 0 while training

  bool operator==(const OptimizerSettings&) const = default;
};

// DataSettings define the data. Generated ones are a function of these fields; a file is read again for each run.
struct DataSettings {
  DataKind kind = DataKind::Spirals;
  std::string path;         // npz
  std::string target;       // npz: the array of the classes; empty: "y"
  int64_t samples = 4096;   // generated: examples, or characters of the text
  int features = 2;         // teacher, parity: numbers of an example
  int classes = 2;          // spirals: arms; teacher: what it chooses from
  double noise = 0.05;      // spirals: of each coordinate, standard deviation
  double test_share = 0.2;  // A share of the examples that no network trains on; a text's end.
  int64_t seed = 1;         // Decides the generated data, and which examples are set aside.

  bool operator==(const DataSettings&) const = default;
};

struct RunSettings {
  int schema = 1;
  Experiment experiment = Experiment::Equivalence;
  Architecture architecture = Architecture::Mlp;
  std::vector<int> layers{6};  // linear layers or convolutions, the last has no norm; blocks of a transformer
  int width = 256;
  int groups = 8;  // convolutional: of GroupNorm, over the width
  // The perceptron's. A rounding error can push a number over ReLU's kink, and gradients then differ by more than
  // rounding: in float32 that happens now and then, in float64 hardly ever.
  Activation activation = Activation::Relu;
  int epochs = 40;
  int batch = 128;  // examples of a step
  std::vector<OptimizerSettings> optimizers{{}};
  std::vector<int64_t> seeds{1};  // Decide the first weights and the order of the examples.
  DataSettings data;
  std::vector<Precision> precisions{Precision::Float32};
  // Weights are compared with those of layer_norm where that is among them.
  std::vector<NormUse> networks{NormUse::LayerNorm, NormUse::CbwcRmsNorm, NormUse::RmsNorm};
  double norm_eps = 1e-5;
  bool random_affine = false;  // γ and β of the norms start from random numbers, not from 1 and 0
  std::string device = "cpu";  // cuda (the first GPU), cuda:1. First weights are the same on all
  int threads = 0;  // One op uses as many; 0: as many as there are cores. Sums, and so last bits, depend on it.
  // continued: after so many epochs the other networks start from the weights of layer_norm.
  int handover_epoch = 20;
  bool handover_centered = false;  // ... centered once (CCWT) before they are handed over
  // transformers
  int heads = 4;
  int context = 64;           // characters that it sees
  int steps_per_epoch = 100;  // batches drawn from the text
  // cost: what is measured after `epochs` of warm-up.
  int rounds = 20;
  int steps_per_round = 10;  // Each network does as many, in turns.
  std::vector<int> batches;  // cost: sizes of a step that are measured; empty: `batch` alone

  bool operator==(const RunSettings&) const = default;
};

// Settings that show what an experiment is about, within a minute or so on two cores.
[[nodiscard]] RunSettings usualSettings(Experiment experiment);

[[nodiscard]] bool isTransformer(const RunSettings& settings);

// Decodes those that a result, a checkpoint or a project holds. What was kept before there was `architecture` names the
// experiment "transformer" in its place.
void decodeValue(const nlohmann::json& in, RunSettings& settings);

// Error: BadInput, one sentence that begins with the field.
[[nodiscard]] Status checkRunSettings(const RunSettings& settings);
// Error: BadInput as above, for what is no JSON too.
[[nodiscard]] Result<RunSettings> readRunSettings(std::string_view text);
[[nodiscard]] std::string writeRunSettings(const RunSettings& settings);

// "SGD, momentum 0.9, weight decay 0.01 of the centered weight"
[[nodiscard]] std::string describe(const OptimizerSettings& optimizer);
// Networks that the run trains, over all depths, optimizers, seeds and precisions.
[[nodiscard]] size_t memberCount(const RunSettings& settings);

}  // namespace normlens::lab

namespace normlens::protocol {
NORMLENS_FIELDS(lab::OptimizerSettings, kind, learning_rate, momentum, weight_decay, decay_of, beta1, beta2, eps,
                schedule, warmup, clip_norm, dropout)
NORMLENS_FIELDS(lab::DataSettings, kind, path, target, samples, features, classes, noise, test_share, seed)
NORMLENS_FIELDS(lab::RunSettings, schema, experiment, architecture, layers, width, groups, activation, epochs, batch,
                optimizers, seeds, data, precisions, networks, norm_eps, random_affine, device, threads, handover_epoch,
                handover_centered, heads, context, steps_per_epoch, rounds, steps_per_round, batches)
}  // namespace normlens::protocol
