// A residual add and the norm that reads it, written as one op of libnormlens_ops.so. Private to formats/torchscript:
// includes torch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/formats/torchscript/edit/apply_variants.h"
#include "core/formats/torchscript/edit/sum_way.h"

namespace normlens::formats::torchscript {

// Gamma or beta.
struct FusedNumber {
  size_t input = 0;                // of the norm
  std::vector<std::string> names;  // attributes from the holder's module to the number
};

struct FusedNorm {
  SumWay way;
  torch::jit::Node* norm = nullptr;  // aten::layer_norm or rms_norm
  double eps = 0;
  std::optional<FusedNumber> gamma, beta;
  // Names which body on the way reads gamma and beta from its module and hands them down to the add; nullopt: the norm
  // is beside the add, which reads what the norm did.
  std::optional<size_t> holder;

  // Calls on the way get other arguments and results.
  [[nodiscard]] bool crossesBodies() const { return way.bodies.size() > 1; }
};

// The views that the normalised value goes through as the sum did. One that names its sizes needs none before it.
[[nodiscard]] std::span<torch::jit::Node* const> viewsOfResult(const BodyOnWay& body);

// Does nothing but compute: no call, no effect, no write to memory. Blocks are not looked into.
[[nodiscard]] bool onlyComputes(const torch::jit::Node& node);

// The body does nothing but hand its parameter to the reader and return what that makes: a call of it can be replaced.
[[nodiscard]] bool isReaderAlone(const torch::jit::Graph& body, const torch::jit::Node& reader, size_t input);

// The value can be had at an earlier place as well.
[[nodiscard]] bool canReadBefore(const torch::jit::Value& value, const torch::jit::Node& place);

// Adds to the frames' edits: `op` makes the sum and the normalised value where the add was.
void fuseNorm(const FusedNorm& fused, const std::string& op, FrameEdits& frames);

}  // namespace normlens::formats::torchscript
