// Evaluates values before anything runs: folds pure ops on known scalars (len, not, is None, comparisons), so that the
// branches a scripted module takes for its configuration are chosen once. Private to formats/torchscript.
#pragma once

#include <torch/script.h>

#include <optional>
#include <vector>

namespace normlens::formats::torchscript {

// The outputs of a node whose inputs are known, in order; nullopt where the op is not in the list of pure scalar ops
// or raises an error. Never touches tensors.
[[nodiscard]] std::optional<std::vector<c10::IValue>> evaluateKnown(torch::jit::Node* node,
                                                                    const std::vector<c10::IValue>& inputs);

// A value of this static type can never be None.
[[nodiscard]] bool neverNone(const c10::TypePtr& type);

// The block's own nodes include a raise, so it never reaches its end.
[[nodiscard]] bool alwaysRaises(const torch::jit::Block& block);

}  // namespace normlens::formats::torchscript
