// A tensor's elements in the memory order of another layout of it, as runs of neighbors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/types.h"

namespace normlens::fold {

// One loop over a tensor: `extent` steps, each so far through the input, the output (in elements) and the numbers of
// groups or channels.
struct RunDim {
  int64_t extent = 1;
  int64_t in = 0;
  int64_t out = 0;
  int64_t group = 0;
};

// Neighbors in the output, or a part of them.
struct Run {
  int64_t in = 0;
  int64_t out = 0;
  int64_t group = 0;
  int64_t count = 0;
  int64_t inStep = 1;
  int64_t groupStep = 0;
};

class ElementRuns {
 public:
  // Loops in any order that meet each place of the output at most once; element 0 is at `in` and `out`.
  ElementRuns(std::vector<RunDim> dims, int64_t in, int64_t out);

  // body(run) for all that lies in [first, last) of the output, in its order.
  template <class Body>
  void forEach(int64_t first, int64_t last, Body body) const {
    const int64_t begin = runAt(first);
    std::vector<int64_t> index;
    Run run = at(begin, index);
    for (int64_t i = begin; i < count_ && run.out < last; ++i) {
      const int64_t skipped = std::max<int64_t>(0, first - run.out);
      const int64_t count = std::min(inner_.extent, last - run.out) - skipped;
      body(Run{run.in + skipped * inner_.in, run.out + skipped, run.group + skipped * inner_.group, count, inner_.in,
               inner_.group});
      step(run, index);
    }
  }

 private:
  [[nodiscard]] int64_t runAt(int64_t element) const;  // the first that does not end before it
  [[nodiscard]] Run at(int64_t run, std::vector<int64_t>& index) const;
  void step(Run& run, std::vector<int64_t>& index) const {
    for (size_t d = outer_.size(); d-- > 0;) {
      const RunDim& dim = outer_[d];
      run.in += dim.in;
      run.out += dim.out;
      run.group += dim.group;
      if (++index[d] < dim.extent) return;
      run.in -= dim.in * dim.extent;
      run.out -= dim.out * dim.extent;
      run.group -= dim.group * dim.extent;
      index[d] = 0;
    }
  }

  int64_t in_ = 0, out_ = 0;
  std::vector<RunDim> outer_;  // largest step in the output first
  RunDim inner_{1, 1, 1, 0};   // neighbors in the output
  int64_t count_ = 1;          // runs
};

// All elements of a tensor, in the order of outputStrides(in); grouped by their index along one axis where that is
// said.
[[nodiscard]] ElementRuns elementsOf(const graph::TensorView& in, std::optional<size_t> channelAxis = std::nullopt);

}  // namespace normlens::fold
