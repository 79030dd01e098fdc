// A dense float64 tensor for reference computations in tests: slow and obvious.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::testing {

using Index = std::vector<int64_t>;

struct Tensor {
  graph::Shape shape;
  std::vector<double> at;  // row-major

  Tensor() = default;
  explicit Tensor(graph::Shape wanted, double fill = 0);

  // The element that numpy broadcasting gives for an index of a larger shape.
  [[nodiscard]] double operator()(const Index& index) const;
  [[nodiscard]] double& operator[](const Index& index);
};

[[nodiscard]] int64_t sizeOf(const graph::Shape& shape);
// Calls body for every index of the shape in row-major order.
void forEachIndex(const graph::Shape& shape, const std::function<void(const Index&)>& body);
[[nodiscard]] graph::Shape broadcastShape(const graph::Shape& a, const graph::Shape& b);
[[nodiscard]] Tensor randomTensor(const graph::Shape& shape, std::mt19937& random);
[[nodiscard]] Tensor fromView(const graph::TensorView& view);

// The group of each element (numbered from 0), -1 outside the region. Written apart from core/ops on purpose.
[[nodiscard]] std::vector<int64_t> groupOf(const ops::Pattern& pattern, int64_t count);
// Several tensors whose k-th groups form one: subtract the joint mean of each. One tensor: plain centering.
void centerJointly(const std::vector<Tensor*>& tensors, const std::vector<ops::Pattern>& patterns);
void center(Tensor& tensor, const ops::Pattern& pattern);
// Largest |sum of a group|, relative to the largest sum of magnitudes of a group.
[[nodiscard]] double groupSumError(const Tensor& tensor, const ops::Pattern& pattern);
// A random value that is equal within each group and 0 outside the region.
[[nodiscard]] Tensor randomShift(const graph::Shape& shape, const ops::Pattern& pattern, std::mt19937& random);
// How far a value is from being such a shift, relative to `scale`.
[[nodiscard]] double shiftError(const Tensor& difference, const ops::Pattern& pattern, double scale);
[[nodiscard]] double maxAbs(const Tensor& tensor);
// The numbers, multiplied by the Householder reflection that takes the vector of ones to the last axis.
[[nodiscard]] std::vector<double> reflected(const std::vector<double>& numbers);

}  // namespace normlens::testing
