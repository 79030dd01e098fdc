// Finds which nodes of a float64 twin need a kernel of our own, and which cannot be run in double at all. Private to
// formats/onnx; no ONNX Runtime.
#pragma once

#include <string>

#include "core/formats/onnx/float64/kernel.h"
#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

inline constexpr const char* kFloat64Domain = "normlens.float64";

// Quantizing and back, and sums of integers, are fine in another floating type; operators that do both in one are not.
[[nodiscard]] bool isQuantised(const std::string& op);

// Returns why the model cannot be run in this floating type, as a clause ("it is quantised (QLinearMatMul)"); empty:
// nothing is known to be in the way.
[[nodiscard]] std::string conversionObstacle(const ModelProto& model, graph::DType to);

// Our kernel for the operator's nodes on doubles; null: there is none.
[[nodiscard]] const float64::KernelRow* kernelFor(const std::string& domain, const std::string& op);
// The element type of TensorProto that a letter of float64::KernelRow stands for; UNDEFINED: any.
[[nodiscard]] int32_t elementType(char letter);

// In a flat model whose types are inferred: nodes that ONNX Runtime cannot run in double are written out by the onnx
// library where it can, else handed to our kernels, under the same names. In a twin a value of unknown type is double:
// what shape inference does not know comes from operators that it does not know, and those make floats.
void useOwnKernels(ModelProto& model, bool unknownIsDouble);

}  // namespace normlens::formats::onnx
