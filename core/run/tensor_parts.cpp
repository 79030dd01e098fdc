#include "core/run/tensor_parts.h"

#include <algorithm>

namespace normlens::run {
namespace {

// Makes one axis of the axes of a dense tensor: parts are then as long as they may be, whatever the shape.
graph::TensorView flattened(const graph::TensorView& view, int64_t count) {
  if (!view.contiguous()) return view;
  graph::TensorView flat = view;
  flat.shape = {count};
  flat.strides = {1};
  return flat;
}

graph::TensorView rows(const graph::TensorView& view, int64_t begin, int64_t end) {
  graph::TensorView part = view;
  part.data = view.data + begin * view.strides[0] * static_cast<int64_t>(graph::dtypeBytes(view.dtype));
  part.shape[0] = end - begin;
  return part;
}

graph::TensorView withoutFirstAxis(graph::TensorView view) {
  view.shape.erase(view.shape.begin());
  view.strides.erase(view.strides.begin());
  return view;
}

Status visitParts(const graph::TensorView& view, int64_t count, int64_t most, int64_t first, const VisitPart& visit) {
  if (count == 0) return {};
  if (count <= most || view.shape.empty()) return visit(first, view);
  const int64_t perRow = count / view.shape[0];
  const int64_t step = std::max<int64_t>(1, most / perRow);
  for (int64_t row = 0; row < view.shape[0]; row += step) {
    const int64_t end = std::min(row + step, view.shape[0]);
    const graph::TensorView part = rows(view, row, end);
    const Status status = perRow > most ? visitParts(withoutFirstAxis(part), perRow, most, first + row * perRow, visit)
                                        : visit(first + row * perRow, part);
    if (!status) return status;
  }
  return {};
}

}  // namespace

Status forEachPart(const graph::TensorView& view, int64_t mostElements, const VisitPart& visit) {
  const auto count = graph::elementCount(view.shape);
  if (!count || graph::dtypeBytes(view.dtype) == 0) {
    return fail(ErrorCode::Unsupported,
                "the elements of a tensor of type " + std::string(graph::dtypeName(view.dtype)) + " cannot be read");
  }
  return visitParts(flattened(view, *count), *count, mostElements, 0, visit);
}

}  // namespace normlens::run
