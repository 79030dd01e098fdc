// Edits of aten::addcmul and addcdiv, which the graph has as a product (or quotient) and a sum. Private to
// formats/torchscript: includes torch.
//
// Each becomes the ops that are left; from then on those are what the node stands for. Whatever goes by the op's own
// inputs comes before.
#pragma once

#include "core/formats/torchscript/edit/apply_graph_copy.h"

namespace normlens::formats::torchscript {

// aten::addcmul, addcdiv, and in place.
[[nodiscard]] bool addsProduct(const torch::jit::Node& node);

// The product is a node of its own; input 1 of the sum reads it.
[[nodiscard]] BodyEdit writeOutProduct(torch::jit::Node* node);
// self + value * input
[[nodiscard]] BodyEdit addWithoutFactor(torch::jit::Node* node, int input);
// The product alone: `value` is 1, and self is no longer added.
[[nodiscard]] BodyEdit productAlone(torch::jit::Node* node);

}  // namespace normlens::formats::torchscript
