// Holds what one run of an ONNX model showed of its values. Private to formats/onnx.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/graph/types.h"

namespace normlens::formats::onnx {

struct ProbedValue {
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape shape;
};

// By value name of the main graph, and for values inside If, Loop and Scan bodies and functions by the path that
// Lowered::valuePath gives them. A value that was not reached or cannot be shown is absent.
using ProbeShapes = std::map<std::string, ProbedValue>;

// Whether onnx shape inference yields what neither a probe nor the file does. It takes longer than everything else.
enum class Inference : uint8_t { None, WhereMissing };

}  // namespace normlens::formats::onnx
