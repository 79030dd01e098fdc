// A set of indices, 0 and up, kept as ranges: what lies along a residual stream is one range, however long the stream.
//
// Thread: value type, no shared state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/base/small_vector.h"

namespace normlens {

struct IndexRange {
  int first = 0;
  int last = 0;  // included
  bool operator==(const IndexRange&) const = default;
};

class IndexRanges {
 public:
  IndexRanges() = default;
  IndexRanges(std::initializer_list<int> indices);

  // Adds all of `other`; returns whether that was news. Linear in the ranges of both.
  bool merge(const IndexRanges& other);
  bool add(int index) { return merge({index}); }
  // Adds a range behind all others and apart from the last by at least one index: how a list that was taken apart is
  // read back. Returns false, and adds nothing, where it is not.
  bool append(IndexRange range);
  void remove(int index);

  [[nodiscard]] bool contains(int index) const;
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] int64_t size() const;
  [[nodiscard]] std::span<const IndexRange> ranges() const { return ranges_; }
  // Returns the indices in order; the first ones where there are more than `most`.
  [[nodiscard]] std::vector<int> indices(size_t most = SIZE_MAX) const;

  bool operator==(const IndexRanges&) const = default;

 private:
  SmallVector<IndexRange, 2> ranges_;  // ascending; neighbors neither overlap nor touch
};

}  // namespace normlens
