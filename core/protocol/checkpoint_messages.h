// What a fold wrote of a checkpoint, and what a class has to change to have RMSNorms: recipe.json, and `checkpoint` in
// the report of `fold`. Thread: value types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::protocol {

struct TensorChangeInfo {
  std::string kind;           // center, scale, shift, zeros, ones
  std::vector<int64_t> axes;  // of "center": those of the tensor that the mean is taken over; empty: see pattern
  std::string pattern;        // of "center": as plans write it, of the model's own constant
  std::string norm;           // of "shift" and "zeros": whose beta it is
};
NORMLENS_FIELDS(TensorChangeInfo, kind, axes, pattern, norm)

struct CheckpointTensor {
  std::string name, file, dtype;
  std::vector<int64_t> shape;
  std::string constant;  // what the model calls it
  bool added = false;    // the checkpoint had one tensor for two places that want different numbers now
  std::vector<TensorChangeInfo> changes;
};
NORMLENS_FIELDS(CheckpointTensor, name, file, dtype, shape, constant, added, changes)

struct CheckpointNorm {
  std::string norm, module;  // as the model calls them; a checkpoint may have older names
  std::string becomes;       // "RMSNorm"; "LayerNorm" where a call of the same module does not fold
  std::vector<int64_t> normalized_shape;
  double eps = 0;
  std::string weight, bias;  // tensors; empty: it has none, or which it is cannot be told
  // "none": there is none, or it is zeros and may go. "kept": what takes the norm's place has to add it.
  std::string bias_is;
};
NORMLENS_FIELDS(CheckpointNorm, norm, module, becomes, normalized_shape, eps, weight, bias, bias_is)

struct CheckpointRecipe {
  std::string normlens, model, checkpoint, policy;
  std::vector<CheckpointTensor> tensors;
  std::vector<CheckpointNorm> norms;
  std::vector<std::string> class_changes;  // what a class with RMSNorms has to do, in words
  bool right_under_layer_norm = true;      // the class as it is gives the outputs that it gave
  bool untied = false;                     // config.json says so: tie_word_embeddings
  std::vector<std::string> notes;
  std::vector<std::string> left_out;  // files that were not copied
  std::vector<SizeCondition> holds_if;
};
NORMLENS_FIELDS(CheckpointRecipe, normlens, model, checkpoint, policy, tensors, norms, class_changes,
                right_under_layer_norm, untied, notes, left_out, holds_if)

struct CheckpointResult {
  std::string output;  // the folder
  int64_t bytes = 0, files = 0;
  double save_ms = 0;
  CheckpointRecipe recipe;
};
NORMLENS_FIELDS(CheckpointResult, output, bytes, files, save_ms, recipe)

}  // namespace normlens::protocol
