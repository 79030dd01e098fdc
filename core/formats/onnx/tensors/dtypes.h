// ONNX element types and ours. Private to formats/onnx.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>

#include "core/graph/types.h"

namespace normlens::formats::onnx {

// Unknown for types that our tensors cannot hold: strings, 4-bit and 8-bit floats, unsigned integers beyond 8 bits.
[[nodiscard]] graph::DType fromOnnxType(int32_t elementType);
// TensorProto::UNDEFINED for types that ONNX does not have.
[[nodiscard]] int32_t toOnnxType(graph::DType dtype);

// An element type of TensorProto that this version of the format defines.
[[nodiscard]] bool isKnownOnnxType(int32_t elementType);
// Bits of one element in raw_data; 0 for strings and unknown types. Types below 8 bits are packed, the last byte
// padded.
[[nodiscard]] int onnxTypeBits(int32_t elementType);

}  // namespace normlens::formats::onnx
