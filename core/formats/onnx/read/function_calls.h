// How the local functions of a model call one another. Private to formats/onnx.
#pragma once

#include "core/base/result.h"
#include "core/formats/onnx/read/onnx_source.h"

namespace normlens::formats::onnx {

// Refuses functions that call themselves, and those that come to too many nodes once every call is written out, as
// inference and runtimes do. No two of the model's functions have the same name. The message begins with a clause that
// fits behind "FILE: ".
[[nodiscard]] Status checkFunctionCalls(const ModelProto& model);

}  // namespace normlens::formats::onnx
