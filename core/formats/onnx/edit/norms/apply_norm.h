// The norm that takes a LayerNorm's place. Private to formats/onnx.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/formats/onnx/edit/node_maker.h"

namespace normlens::formats::onnx {

inline constexpr int kRmsOpset = 23;  // the first with RMSNormalization

enum class NormStyle : uint8_t {
  Standard,    // RMSNormalization, opset 23
  Ort,         // SimplifiedLayerNormalization, SkipSimplifiedLayerNormalization
  Primitives,  // Pow, ReduceMean, Add, Sqrt, Div; any opset from 7 on
};

// y = gamma * x / sqrt(mean(x^2) + eps) + beta
struct NormToWrite {
  NodeProto* node = nullptr;  // what it takes the place of
  NodeProto like;             // whose name, doc string and metadata go on
  Body* body = nullptr;
  std::string input, gamma, beta;  // gamma (primitives only) and beta may be empty
  std::string output;
  int64_t rank = 0;       // of the input; 0: not known
  int64_t axesCount = 1;  // trailing axes that are normalized
  double eps = 0;
  graph::DType dtype = graph::DType::Float32;       // of the input
  graph::DType outputType = graph::DType::Float32;  // of gamma, beta and the output
  std::optional<int64_t> stashType;                 // as the file has it
  // A GroupNorm or InstanceNorm, written as primitives, has the axes that x is viewed with, normalized over the last,
  // and those of gamma and beta in that view; empty: as they are.
  std::vector<int64_t> view{}, affine{};
  int64_t narrow = 0;  // width of a narrow stream, fold::ReplaceNorm: without gamma and beta
};

// Returns whether the style can express this norm exactly: the operators keep eps as a float.
[[nodiscard]] bool expressible(NormStyle style, const NormToWrite& norm);

// Puts the norm in the place of `norm.node`. Throws EditRefused.
void writeNorm(EditableModel& model, NormStyle style, int opset, const NormToWrite& norm);

// SkipLayerNormalization -> SkipSimplifiedLayerNormalization, and an Add for beta unless that has moved elsewhere.
void writeSkipNorm(EditableModel& model, Body& body, NodeProto& node, int opset, bool keepsBeta);

}  // namespace normlens::formats::onnx
