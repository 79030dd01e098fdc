// Provides what the weight edits have in common: a strided tensor's elements by type, and work cut into units that run
// in parallel.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/fold/row_kernels.h"
#include "core/graph/types.h"

namespace normlens::fold {

// Elements that one hand-out of the parallel loop covers: long against the cost of a hand-out, short against the whole.
inline constexpr int64_t kElementsPerUnit = int64_t{1} << 16;

// A piece of work cut into units that may run in any order and at the same time.
struct Work {
  int64_t units = 0;
  std::function<void(int64_t unit)> run;
};
// All units of several works as one parallel loop.
void runAll(const std::vector<Work>& works, int threads);

// The pages of weights that lie in a mapped file, before they are read.
void mapWeightsAhead(const std::vector<graph::TensorView>& weights, int threads);

// Calls body with a null pointer of the element type; false for a type that is not a real floating one.
template <class Body>
bool withElementType(graph::DType dtype, Body body) {
  switch (dtype) {
    case graph::DType::Float32:
      body(static_cast<float*>(nullptr));
      return true;
    case graph::DType::Float64:
      body(static_cast<double*>(nullptr));
      return true;
    case graph::DType::Float16:
      body(static_cast<Half*>(nullptr));
      return true;
    case graph::DType::BFloat16:
      body(static_cast<BFloat16*>(nullptr));
      return true;
    default:
      return false;
  }
}

// Aligned or not.
template <class T>
T elementAt(const T* data, int64_t index) {
  T element;
  std::memcpy(&element, reinterpret_cast<const std::byte*>(data) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return element;
}

// Errors: Unsupported where they are not of a real floating type, Internal where shape and strides do not fit.
[[nodiscard]] Status checkElements(const graph::TensorView& in);

// The pages that a block of the result of `in` is computed from, where they lie one after another.
void mapBlock(const graph::TensorView& in, int64_t first, size_t bytes);

}  // namespace normlens::fold
