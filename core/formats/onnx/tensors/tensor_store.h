// Puts new numbers into a TensorProto or a Constant node, in the field that held the old ones. Private to formats/onnx.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/formats/onnx/source/onnx_source.h"
#include "core/graph/types.h"

namespace normlens::formats::onnx {

// `bytes`: as many elements as the tensor has, row-major, little-endian, of its type. False where the tensor is of a
// kind that NormLens does not write (not float16, bfloat16, float32 or float64; or kept in a file of its own).
[[nodiscard]] bool storeTensor(TensorProto& tensor, std::span<const std::byte> bytes);

// The same for the value of a Constant node: a tensor, a number or a list of numbers. Where it was an attribute of the
// function around it, the node has one of its own from then on.
[[nodiscard]] bool storeConstant(NodeProto& node, const graph::TensorView& view);

// Returns the bytes of a contiguous tensor.
[[nodiscard]] std::span<const std::byte> bytesOf(const graph::TensorView& view);

// A tensor of its own: name, type, sizes, raw data.
[[nodiscard]] TensorProto rawTensor(const std::string& name, graph::DType dtype, const graph::Shape& shape,
                                    std::span<const std::byte> bytes);

}  // namespace normlens::formats::onnx
