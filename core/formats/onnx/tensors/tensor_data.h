// ONNX element types and ours; TensorProto as a TensorView: sizes checked, bytes where they are if they lie as ours do.
// Private to formats/onnx.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/formats/onnx/source/onnx_source.h"

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

// No runtime takes tensors of more; what a file states of such is not worked with.
inline constexpr int kMostAxes = 64;

// Returns whether sizes multiply to more than any machine holds. Axes of size 0 do not excuse the others: they are
// multiplied without them later on.
[[nodiscard]] bool isAbsurd(const graph::Shape& shape);

// Row-major strides of a shape.
[[nodiscard]] std::vector<int64_t> denseStrides(const graph::Shape& shape);
[[nodiscard]] graph::Shape dimsOf(const TensorProto& tensor);
// Bytes that raw_data has to hold; nullopt where dims are negative, overflow, or the type has no fixed size.
[[nodiscard]] std::optional<uint64_t> rawBytes(const TensorProto& tensor);

// Type and sizes; a view of nothing yet, that keeps `owner` alive.
[[nodiscard]] graph::TensorView viewWithoutData(const TensorProto& tensor, std::shared_ptr<const void> owner);

// Dims, element type and, for data inside the protobuf, its size. The message goes on after the tensor's name: "has 4
// bytes, its dimensions need 8".
[[nodiscard]] Status checkTensor(const TensorProto& tensor);

// A view of a tensor whose data is inside the protobuf; `owner` keeps it alive. Typed fields that store elements in
// another form than ours (int32_data of float16 ...) are converted into memory of their own. A tensor of a type that
// TensorView does not know has no data.
[[nodiscard]] graph::TensorView viewOf(const TensorProto& tensor, std::shared_ptr<const void> owner);
// The elements of a dense integer or bool tensor of a moderate size; nullopt for other ones.
[[nodiscard]] std::optional<std::vector<int64_t>> intsOf(const graph::TensorView& view);

}  // namespace normlens::formats::onnx
