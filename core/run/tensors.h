// Small helpers on formats::NamedTensor that need no framework: make, read and cast dense tensors. Thread: pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/model.h"

namespace normlens::run {

// Returns row-major strides of a shape, in elements.
[[nodiscard]] std::vector<int64_t> rowMajorStrides(const graph::Shape& shape);

// Returns the index of an element at a place in row-major order. Precondition: it lies in the shape.
[[nodiscard]] std::vector<int64_t> indexOf(int64_t place, const graph::Shape& shape);
// The same for the place of one of its numbers: a complex element is two.
[[nodiscard]] std::vector<int64_t> indexOf(int64_t place, const graph::Shape& shape, graph::DType dtype);

// A dense tensor that owns its bytes. Precondition: bytes.size() == elements * dtypeBytes.
[[nodiscard]] graph::TensorView ownedTensor(graph::DType dtype, graph::Shape shape, std::vector<std::byte> bytes);

// The values rounded to `dtype` (saturating for integers). Precondition: as many values as the shape has elements;
// dtype is a real floating type, an integer or Bool.
[[nodiscard]] graph::TensorView fromDoubles(graph::DType dtype, graph::Shape shape, std::span<const double> values);

// Copies the elements in row-major order, whatever the strides. Error: a type without a byte size.
[[nodiscard]] Result<std::vector<std::byte>> denseBytes(const graph::TensorView& view);

// A real floating tensor in another real floating type; anything else comes back as it is.
[[nodiscard]] graph::TensorView castFloat(const graph::TensorView& view, graph::DType dtype);

// "float32[2,16]"
[[nodiscard]] std::string describe(graph::DType dtype, const graph::Shape& shape);

// 2^-mantissa bits: the distance from 1 to the next value. 0 if not a real floating type.
[[nodiscard]] double machineEpsilon(graph::DType dtype);

}  // namespace normlens::run
