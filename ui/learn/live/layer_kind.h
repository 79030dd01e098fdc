// Finds the kind of layer of a weight that a plan centers, from the ops that read it. Thread: any.
#pragma once

#include <QString>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

enum class LayerKind { Linear, Table, Convolution, Grouped, AttentionValue, Gate };
inline constexpr int kLayerKinds = 6;

[[nodiscard]] QString layerKindName(LayerKind kind);
[[nodiscard]] QString layerKindMeaning(LayerKind kind);  // how its mean goes: a sentence

// A weight that a plan centers for a norm.
struct CenteredLayer {
  int value = -1;  // the constant
  int norm = 0;    // index of the first LayerNorm that needs it
  LayerKind kind = LayerKind::Linear;
  QString name;
};

// Lists tensors with two axes or more, in the order of the edits; those that only norms need which weights alone do
// not fold are left out.
[[nodiscard]] std::vector<CenteredLayer> centeredLayers(const protocol::GraphDocument& document,
                                                        const std::vector<protocol::NormInfo>& norms,
                                                        const std::vector<protocol::EditInfo>& edits);

}  // namespace normlens::ui
