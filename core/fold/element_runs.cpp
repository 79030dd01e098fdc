#include "core/fold/element_runs.h"

#include "core/fold/blocks.h"

namespace normlens::fold {
namespace {

bool walkLikeOne(const RunDim& outer, const RunDim& inner) {
  return outer.in == inner.in * inner.extent && outer.out == inner.out * inner.extent &&
         outer.group == inner.group * inner.extent;
}

}  // namespace

ElementRuns::ElementRuns(std::vector<RunDim> dims, int64_t in, int64_t out) : in_(in), out_(out) {
  std::erase_if(dims, [](const RunDim& dim) { return dim.extent == 1; });
  std::ranges::stable_sort(dims, std::ranges::greater(), &RunDim::out);
  for (const RunDim& dim : dims) {
    if (!outer_.empty() && walkLikeOne(outer_.back(), dim)) {
      outer_.back() = {outer_.back().extent * dim.extent, dim.in, dim.out, dim.group};
    } else {
      outer_.push_back(dim);
    }
  }
  if (!outer_.empty() && outer_.back().out == 1) {
    inner_ = outer_.back();
    outer_.pop_back();
  }
  for (const RunDim& dim : outer_) count_ *= dim.extent;
}

int64_t ElementRuns::runAt(int64_t element) const {
  std::vector<int64_t> index;
  int64_t low = 0, high = count_;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (at(middle, index).out + inner_.extent > element) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Run ElementRuns::at(int64_t run, std::vector<int64_t>& index) const {
  Run here{in_, out_, 0, inner_.extent, inner_.in, inner_.group};
  index.assign(outer_.size(), 0);
  for (size_t d = outer_.size(); d-- > 0;) {
    index[d] = run % outer_[d].extent;
    run /= outer_[d].extent;
    here.in += index[d] * outer_[d].in;
    here.out += index[d] * outer_[d].out;
    here.group += index[d] * outer_[d].group;
  }
  return here;
}

ElementRuns elementsOf(const graph::TensorView& in, std::optional<size_t> channelAxis) {
  const auto strides = outputStrides(in);
  std::vector<RunDim> dims;
  for (size_t i = 0; i < strides.size(); ++i)
    dims.push_back({in.shape[i], in.strides[i], strides[i], i == channelAxis ? 1 : 0});
  return {std::move(dims), 0, 0};
}

}  // namespace normlens::fold
