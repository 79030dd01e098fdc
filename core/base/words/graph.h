// Names the classes of a graph's nodes, and the norms that are no LayerNorm.
#pragma once

#include <cstdint>

#include "core/base/words/words.h"

namespace normlens {

// Says what a node is in the papers' zero-mean graph, or else in the picture of the graph. Named by the legend's
// letter.
enum class NodeClass : uint8_t {
  Linear,
  Scalar,
  Residual,
  ZeroMean,
  Opaque,
  LayerNorm,
  RmsNorm,
  Input,
  Output,
  Helper,     // hidden by default
  Centering,  // a run-time centering behind the node
  Bias,       // adds a tensor of the file
};
NORMLENS_NAMES(NodeClass, "L", "S", "R", "Z", "O", "N", "M", "I", "G", "H", "A", "B")
[[nodiscard]] constexpr char letterOf(NodeClass of) { return namesOf(of).at(static_cast<size_t>(of)).front(); }

// NormType is what the file calls a norm that takes a mean.
enum class NormType : uint8_t { LayerNorm, GroupNorm, InstanceNorm };
NORMLENS_NAMES(NormType, "LayerNorm", "GroupNorm", "InstanceNorm")

enum class OtherNormKind : uint8_t { RmsNorm, GroupNorm, InstanceNorm, BatchNorm, NearLayerNorm };
NORMLENS_NAMES(OtherNormKind, "RMSNorm", "GroupNorm", "InstanceNorm", "BatchNorm",
               "a LayerNorm by another formula, kept: what it divides by is not the root of a LayerNorm's variance "
               "plus eps, though its mean could be dropped exactly")

}  // namespace normlens
