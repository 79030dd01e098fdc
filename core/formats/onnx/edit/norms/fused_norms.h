// ONNX Runtime's fused norms, written out: everything before the normalization as nodes of its own.
// Private to formats/onnx. Source of the meaning: ONNX Runtime's contrib operators, checked by running them.
#pragma once

#include <optional>
#include <string>

#include "core/formats/onnx/edit/node_maker.h"

namespace normlens::formats::onnx {

// Names what is left to normalize.
struct FusedNorm {
  std::string input, gamma, beta;  // beta may be empty
};

// A norm with an addition or a look-up in front: SkipLayerNormalization, EmbedLayerNormalization.
[[nodiscard]] bool isFusedNorm(const NodeProto& node);
// Appends what the node computes before it normalizes, and its other outputs (the sum, the mask index) under their own
// names. Throws EditRefused for outputs that an RMS norm does not have.
[[nodiscard]] FusedNorm writeOutFused(NodeMaker& nodes, const NodeProto& node);

}  // namespace normlens::formats::onnx
