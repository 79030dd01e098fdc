#include "core/formats/edit/mean_tensors.h"

#include <numeric>
#include <vector>

#include "core/formats/edit/edit_refused.h"
#include "core/graph/numbers.h"

namespace normlens::formats {
namespace {

// Calls visit(row, numbers of that row) for each index of all axes but the last; a row at a time, for large weights.
template <class Visit>
void eachRow(const graph::TensorView& view, const Visit& visit) {
  if (view.shape.empty()) throw EditRefused("a tensor without axes has no mean of its rows");
  const size_t last = view.shape.size() - 1;
  graph::TensorView row = view;
  row.shape = {view.shape[last]};
  row.strides = {view.strides[last]};
  std::vector<int64_t> index(last, 0);
  const graph::Shape outer(view.shape.begin(), view.shape.end() - 1);
  const int64_t rows = graph::elementCount(outer).value_or(0), bytes = graph::dtypeBytes(view.dtype);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t offset = 0, rest = i;
    for (size_t axis = last; axis-- > 0;) {
      offset += rest % outer[axis] * view.strides[axis];
      rest /= outer[axis];
    }
    row.data = view.data + offset * bytes;
    const auto numbers = graph::toDoubles(row);
    if (!numbers) throw EditRefused("a centered weight is not of a real floating type");
    visit(static_cast<size_t>(i), *numbers);
  }
}

double sum(const std::vector<double>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

}  // namespace

graph::TensorView meanOfOutputs(const graph::TensorView& weight, int inputDim, graph::DType dtype) {
  if (weight.shape.size() != 2 || inputDim < 0 || inputDim > 1)
    throw EditRefused("a linear layer's weight has other than two axes");
  const int64_t inputs = weight.shape[static_cast<size_t>(inputDim)];
  const auto outputs = static_cast<double>(weight.shape[static_cast<size_t>(1 - inputDim)]);
  std::vector<double> means(static_cast<size_t>(inputs), 0.0);
  eachRow(weight, [&](size_t row, const std::vector<double>& numbers) {
    if (inputDim == 0) {
      means[row] = sum(numbers);
    } else {
      for (size_t i = 0; i < numbers.size(); ++i) means[i] += numbers[i];
    }
  });
  for (double& mean : means) mean /= outputs;
  return graph::tensorFromDoubles({1, inputs}, means, dtype);
}

graph::TensorView meanOfRows(const graph::TensorView& held, graph::DType dtype) {
  std::vector<double> means;
  eachRow(held, [&](size_t /*row*/, const std::vector<double>& numbers) {
    means.push_back(sum(numbers) / static_cast<double>(numbers.size()));
  });
  graph::Shape shape = held.shape;
  shape.back() = 1;
  return graph::tensorFromDoubles(shape, means, dtype);
}

}  // namespace normlens::formats
