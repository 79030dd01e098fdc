#include "core/run/geometry/row_reader.h"

#include <algorithm>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::TensorView;

// Views some axes of a tensor.
TensorView alongAxes(const TensorView& view, const std::vector<bool>& wanted, bool chosen) {
  TensorView part = view;
  part.shape.clear();
  part.strides.clear();
  for (size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (wanted[axis] != chosen) continue;
    part.shape.push_back(view.shape[axis]);
    part.strides.push_back(view.strides[axis]);
  }
  return part;
}

Status checkElements(const TensorView& view) {
  if (!graph::isFloat(view.dtype)) {
    return fail(ErrorCode::Unsupported, "a tensor of " + describe(view.dtype, view.shape) +
                                            " has no directions: its elements are no real floating-point numbers");
  }
  const auto count = graph::elementCount(view.shape);
  if (!count || *count == 0 || view.data == nullptr) {
    return fail(ErrorCode::BadInput, "a tensor of " + describe(view.dtype, view.shape) + " has no elements");
  }
  return {};
}

// Element offsets of all places along these axes, one after another in row-major order.
class Places {
 public:
  explicit Places(const TensorView& axes) : shape_(axes.shape), strides_(axes.strides), index_(axes.shape.size()) {}
  [[nodiscard]] int64_t offset() const { return offset_; }
  // False: that was the last one.
  bool next() {
    for (size_t axis = index_.size(); axis-- > 0;) {
      offset_ += strides_[axis];
      if (++index_[axis] < shape_[axis]) return true;
      offset_ -= strides_[axis] * shape_[axis];
      index_[axis] = 0;
    }
    return false;
  }

 private:
  graph::Shape shape_;
  std::vector<int64_t> strides_, index_;
  int64_t offset_ = 0;
};

}  // namespace

Status forEachRow(const TensorView& view, const std::vector<int64_t>& axes, const VisitRow& visit) {
  RETURN_IF_ERROR(checkElements(view));
  const auto rank = static_cast<int64_t>(view.shape.size());
  std::vector<bool> inRow(view.shape.size());
  for (const int64_t axis : axes) {
    const int64_t place = axis < 0 ? axis + rank : axis;
    if (place < 0 || place >= rank) {
      return fail(ErrorCode::BadInput,
                  "a tensor of " + describe(view.dtype, view.shape) + " has no axis " + std::to_string(axis));
    }
    inRow[static_cast<size_t>(place)] = true;
  }
  TensorView row = alongAxes(view, inRow, true);
  Places places(alongAxes(view, inRow, false));
  const auto bytes = static_cast<int64_t>(graph::dtypeBytes(view.dtype));
  do {
    row.data = view.data + places.offset() * bytes;
    const auto numbers = graph::toDoubles(row);
    visit(*numbers);  // They have a floating type, see above.
  } while (places.next());
  return {};
}

}  // namespace normlens::run
