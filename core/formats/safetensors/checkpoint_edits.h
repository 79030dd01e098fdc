// What a fold's plan makes of a checkpoint: new bytes for some of its tensors.
//
// What is written is right twice: for the class as it is, with its LayerNorms, and for the class with RMSNorms in their
// place. By kind of edit:
//   CenterConstant   the stream is shifted along what LayerNorms take the mean of; every other reader tolerates it
//   AbsorbScale      the scale moves into the weight, and its own tensor becomes ones; refused where it has none
//   AbsorbShift      β moves into the biases behind the norm, and the norm's own tensor becomes zeros
//   InsertCentering, DropAddend, ReplaceNorm   no tensor; a class with RMSNorms has to do it, one with LayerNorms not
// A tensor that the model reads at two places which want different numbers (an embedding and the head tied to it)
// becomes two. Refused is what cannot be told or placed; nothing is written by then.
//
// Numbers are computed from the checkpoint's, in float64, and rounded once to its types: core/fold, block by block
// where they are large. Thread: one at a time; values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/base/result.h"
#include "core/fold/plan.h"
#include "core/formats/edit/weight_versions.h"
#include "core/formats/safetensors/checkpoint.h"

namespace normlens::formats::safetensors {

struct TensorChange {
  std::string kind;           // "center", "scale", "shift", "zeros", "ones"
  std::vector<int64_t> axes;  // of "center": those of the tensor that a mean is taken over; empty where it is of parts
  std::string pattern;        // of "center": as plans write it, of the model's own constant
  std::string norm;           // of "shift" and "zeros": whose β it is
};

struct NewTensor {
  Checkpoint::Place place;  // what it replaces, or what it is a copy of
  std::string name;
  bool added = false;      // beside the one at `place`
  graph::TensorView view;  // in the order of the file's memory; may be pending
  std::vector<TensorChange> changes;
  std::string constant;  // what the model calls it
};

// Where the parts of a LayerNorm lie; empty: it has none, or it cannot be told.
struct NormTensors {
  int norm = 0;
  std::string gamma, beta;
  bool hasBeta = false;
  bool betaMoved = false;  // β is zeros now
};

struct CheckpointEdits {
  std::vector<NewTensor> tensors;
  std::vector<NormTensors> norms;                  // those that become RMSNorms
  bool untied = false;                             // tensors that the class may tie differ now
  std::vector<std::string> tables;                 // edited, and read in the model by lookups of rows alone
  std::shared_ptr<const WeightVersions> versions;  // holds what is pending
  std::shared_ptr<const graph::Graph> graph;       // which it reads
};

struct EditSource {
  const graph::Graph& graph;                      // of the model that the plan is for
  const std::vector<analysis::LayerNorm>& norms;  // of it
  bool tellsAliases = true;                       // every name of a tied constant is known
};

// Errors: Refused with a sentence that names the tensor.
[[nodiscard]] Result<CheckpointEdits> editCheckpoint(const fold::FoldPlan& plan, const EditSource& source,
                                                     const Checkpoint& checkpoint);

}  // namespace normlens::formats::safetensors
