// The words of the laboratory: what a run trains, on what, and what it reports. The last value of some is for records
// and results that have none; it is written as "".
#pragma once

#include <array>
#include <cstdint>

#include "core/base/words/words.h"

namespace normlens::lab {

using normlens::nameOf;  // found by its argument

enum class Experiment : uint8_t { Equivalence, DepthSweep, Dropout, Cost, Crms, Continued };
NORMLENS_NAMES(Experiment, "equivalence", "depth_sweep", "dropout", "cost", "crms", "continued")
inline constexpr std::array kExperiments{Experiment::Equivalence, Experiment::DepthSweep, Experiment::Dropout,
                                         Experiment::Cost,        Experiment::Crms,       Experiment::Continued};

enum class Architecture : uint8_t {
  Mlp,          // linear, norm, activation again and again
  ResidualMlp,  // the same, and each layer's output is added to its input
  PreNormTransformer,
  PostNormTransformer,
  Convolutional,  // the MLP with convolutions over a signal and GroupNorm
};
NORMLENS_NAMES(Architecture, "mlp", "residual_mlp", "pre_norm_transformer", "post_norm_transformer", "convolutional")

// Names a network by its norms.
enum class NormUse : uint8_t {
  LayerNorm,
  CbwcRmsNorm,  // RMSNorm behind centered weights
  RmsNorm,      // alone
  CrmsNorm,     // a residual stream with one channel fewer
  Plain,        // no norm
  Unset,
};
NORMLENS_NAMES(NormUse, "layer_norm", "cbwc_rms_norm", "rms_norm", "crms_norm", "plain", "")
// Lists the networks in the order in which they are trained.
inline constexpr std::array kNetworks{NormUse::LayerNorm, NormUse::CbwcRmsNorm, NormUse::RmsNorm, NormUse::CrmsNorm,
                                      NormUse::Plain};
// Returns whether it computes with centered weights, so that it should train as LayerNorm does.
constexpr bool isCentered(NormUse use) { return use == NormUse::CbwcRmsNorm || use == NormUse::CrmsNorm; }

enum class OptimizerKind : uint8_t {
  Sgd,
  Adam,   // weight decay is added to the gradient
  AdamW,  // weight decay is taken off the weight
};
NORMLENS_NAMES(OptimizerKind, "sgd", "adam", "adamw")

// Names the weight that decays in a layer whose weight is centered. Papers 001, C.4.
enum class DecayOf : uint8_t {
  Weight,    // the stored one, as every framework has it
  Centered,  // the one that is computed with
};
NORMLENS_NAMES(DecayOf, "weight", "centered")

enum class Schedule : uint8_t { Constant, Linear, Cosine };  // of the learning rate, down to 0 at the last step
NORMLENS_NAMES(Schedule, "constant", "linear", "cosine")

enum class Precision : uint8_t {
  Float32,
  Float64,
  BFloat16,  // autocast: float32 weights, matrix products in bfloat16
  Unset,
};
NORMLENS_NAMES(Precision, "float32", "float64", "bfloat16", "")

enum class Activation : uint8_t { Relu, Gelu, Tanh };
NORMLENS_NAMES(Activation, "relu", "gelu", "tanh")

enum class DataKind : uint8_t {
  Spirals,     // arms in the plane: which arm
  Teacher,     // a random network's choice
  Parity,      // whether an even number of features is positive
  Characters,  // a generated text
  Npz,         // the user's rows of numbers and a class each
};
NORMLENS_NAMES(DataKind, "spirals", "teacher", "parity", "characters", "npz")

enum class RunEvent : uint8_t {
  Started,
  Resumed,  // from a checkpoint
  Paused,
  Continued,
  Epoch,     // a member has done one; epoch 0 is before the first step
  Diverged,  // a member was stopped
  Measured,  // a round of steps of the cost experiment
  Stopped,
  Done,
};
NORMLENS_NAMES(RunEvent, "started", "resumed", "paused", "continued", "epoch", "diverged", "measured", "stopped",
               "done")

enum class RunEnd : uint8_t { Done, Stopped, Open };  // Open: it goes on, or was interrupted
NORMLENS_NAMES(RunEnd, "done", "stopped", "")

enum class RunWish : uint8_t { Pause, Continue, Stop };
NORMLENS_NAMES(RunWish, "pause", "continue", "stop")

}  // namespace normlens::lab
