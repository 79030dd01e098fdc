#include "core/formats/onnx/float64/kernel.h"

#include <algorithm>

namespace normlens::formats::onnx::float64 {

std::vector<std::span<const KernelRow>> allKernels() {
  return {elementwiseKernels(), normKernels(),      windowKernels(), resizeKernels(),
          recurrentKernels(),   attentionKernels(), otherKernels()};
}

Shape broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t fromA = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t fromB = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (fromA != fromB && fromA != 1 && fromB != 1) throw std::runtime_error("shapes that do not broadcast");
    out[i] = fromA == 1 ? fromB : fromA;
  }
  return out;
}

std::vector<int64_t> broadcastStrides(const Shape& from, const Shape& to) {
  std::vector<int64_t> strides(to.size(), 0);
  int64_t stride = 1;
  for (size_t i = from.size(); i-- > 0;) {
    if (from[i] != 1) strides[i + to.size() - from.size()] = stride;
    stride *= from[i];
  }
  return strides;
}

void forEachPair(const Shape& out, const Shape& a, const Shape& b,
                 const std::function<void(int64_t, int64_t, int64_t)>& body) {
  const auto stridesA = broadcastStrides(a, out), stridesB = broadcastStrides(b, out);
  const int64_t count = product(out);
  Shape index(out.size(), 0);
  int64_t offsetA = 0, offsetB = 0;
  for (int64_t i = 0; i < count; ++i) {
    body(i, offsetA, offsetB);
    for (size_t axis = out.size(); axis-- > 0;) {
      offsetA += stridesA[axis];
      offsetB += stridesB[axis];
      if (++index[axis] < out[axis]) break;
      offsetA -= stridesA[axis] * out[axis];
      offsetB -= stridesB[axis] * out[axis];
      index[axis] = 0;
    }
  }
}

int64_t product(const Shape& shape, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i) count *= shape[i];
  return count;
}

void multiply(const double* a, int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc, int64_t m, int64_t k,
              int64_t n, bool add) {
  for (int64_t i = 0; i < m; ++i) {
    double* const row = c + i * ldc;
    if (!add) std::fill(row, row + n, 0.0);
    for (int64_t j = 0; j < k; ++j) {
      const double factor = a[i * lda + j];
      const double* const from = b + j * ldb;
      for (int64_t x = 0; x < n; ++x) row[x] += factor * from[x];
    }
  }
}

}  // namespace normlens::formats::onnx::float64
