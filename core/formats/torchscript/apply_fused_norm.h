// A residual add and the norm that reads it, written as one op of libnormlens_ops.so. Private to formats/torchscript:
// includes torch.
#pragma once

#include <string>

#include "core/formats/torchscript/apply_graph_copy.h"

namespace normlens::formats::torchscript {

// Where the norm of an add stands: beside it, or alone in the forward() of a submodule that is called with the sum.
struct NormSite {
  torch::jit::Node* norm = nullptr;  // isFusableNorm
  torch::jit::Node* call = nullptr;  // prim::CallMethod beside the add; nullptr: the norm itself is beside it
  torch::jit::Node* reader() const { return call ? call : norm; }
  // Which input of the reader is the sum.
  [[nodiscard]] size_t sumInput() const { return call ? 1 : 0; }
};

// Does nothing but compute: no call, no effect, no write to memory.
[[nodiscard]] bool onlyComputes(const torch::jit::Node& node);

// aten::layer_norm, or another of normInputs() with a known eps.
[[nodiscard]] bool isFusableNorm(const torch::jit::Node& node);

// The add before the norm can move into the norm's op:
// - out of place, of two tensors, with alpha 1 (their types and shapes are the caller's to check);
// - nothing reads the sum before the norm does, so that it is early enough where the norm is;
// - nothing between them may write to memory or do anything else but compute.
[[nodiscard]] bool canFuse(const NormSite& site);

// The body does nothing but normalise its argument, by attributes of its own module: such a call can be replaced.
[[nodiscard]] bool isNormAlone(const torch::jit::Graph& body, const torch::jit::Node& norm);

struct FusedNorm {
  NormSite site;
  std::string plainOp;  // "normlens::rms_norm": where an earlier edit has put something between add and norm
  std::string addOp;    // "normlens::add_rms_norm"
  bool gamma = false;
  bool beta = false;
};

// Of the body that holds the add.
[[nodiscard]] BodyEdit fuseNorm(const FusedNorm& fused);

}  // namespace normlens::formats::torchscript
