// Nodes whose operands have types that ONNX does not allow beside one another. bfloat16 is run as float32 here, so that
// a run does not show them. Private to formats/onnx. Thread: pure function.
#pragma once

#include <string>

#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

// A sentence about the first such node of a file that has bfloat16, in bodies and functions too; empty where there is
// none.
[[nodiscard]] std::string brokenTypeRule(const OnnxSource& source);

}  // namespace normlens::formats::onnx
