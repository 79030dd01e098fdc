// Models that run, and the reading of what they gave.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formats/onnx/run/session_model.h"
#include "tests/formats/onnx/onnx_fixture.h"

namespace normlens::formats::onnx {

// Throw std::runtime_error where the model is refused.
std::unique_ptr<OnnxModel> modelOf(const ModelProto& proto, size_t largeBytes = 64);
std::unique_ptr<OnnxModel> modelOf(const char* text);

NamedTensor floats(const std::string& name, const graph::Shape& shape, const std::vector<double>& values);
std::vector<double> valuesOf(const Tensors& tensors, size_t index = 0);

// By the path that lowering gives a value: "w" is in the graph itself, "0//w" in its first body or function call.
const graph::Value& valueNamed(const OnnxModel& model, const std::string& path);
graph::ValueId idAt(const OnnxModel& model, const std::string& path);

// A branch with values of its own on each side, and inputs that take one of them.
ModelProto ifModel();
Tensors ifInputs(bool flag);

inline constexpr const char* kFunctions = R"(<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
  agraph (float[n, 4] x) => (float[n, 4] y, float[n, 4] z) {
    y = own.Twice<kind = 1>(x)
    z = own.Twice<kind = 1>(y)
  }
  <domain: "own", opset_import: ["" : 17, "own" : 1]>
  Twice <kind> (a) => (out) {
    same = own.AsKind<kind: int = @kind>(a)
    both = Concat<axis = 1>(same, same)
    sum = ReduceMean<axes = [1], keepdims = 0>(both)
    out = Add(same, same)
  }
  <domain: "own", opset_import: ["" : 17]>
  AsKind <kind> (b) => (made) { made = Cast<to: int = @kind>(b) }
)";

}  // namespace normlens::formats::onnx
