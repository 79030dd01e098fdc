// The words of the laboratory: what a run trains, on what, and what it reports. The last value of some is for records
// and results that have none; it is written as "".
#pragma once

#include <array>
#include <cstdint>

#include "core/base/words/words.h"

namespace normlens::lab {

using normlens::nameOf;  // found by its argument

enum class Experiment : uint8_t { Equivalence, DepthSweep, Transformer, Continued, Cost };
NORMLENS_NAMES(Experiment, "equivalence", "depth_sweep", "transformer", "continued", "cost")
inline constexpr std::array kExperiments{Experiment::Equivalence, Experiment::DepthSweep, Experiment::Transformer,
                                         Experiment::Continued, Experiment::Cost};

// Names a network by its norms.
enum class NormUse : uint8_t {
  LayerNorm,
  CbwcRmsNorm,  // RMSNorm behind centered weights
  RmsNorm,      // alone
  Plain,        // no norm
  Unset,
};
NORMLENS_NAMES(NormUse, "layer_norm", "cbwc_rms_norm", "rms_norm", "plain", "")
// Lists the networks in the order in which they are trained.
inline constexpr std::array kNetworks{NormUse::LayerNorm, NormUse::CbwcRmsNorm, NormUse::RmsNorm, NormUse::Plain};

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

enum class Precision : uint8_t { Float32, Float64, Unset };
NORMLENS_NAMES(Precision, "float32", "float64", "")

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
  Stopped,
  Done,
};
NORMLENS_NAMES(RunEvent, "started", "resumed", "paused", "continued", "epoch", "diverged", "stopped", "done")

enum class RunEnd : uint8_t { Done, Stopped, Open };  // Open: it goes on, or was interrupted
NORMLENS_NAMES(RunEnd, "done", "stopped", "")

enum class RunWish : uint8_t { Pause, Continue, Stop };
NORMLENS_NAMES(RunWish, "pause", "continue", "stop")

}  // namespace normlens::lab
