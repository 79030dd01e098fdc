// x - mean over the groups of a pattern, written as ops: once, for every format. Thread: one.
//
// `Ops` writes one op each and returns its value:
//   Value cut(Value x, axes)               every axis becomes its factors, outermost first
//   Value joined(Value y, axes)            and back to the axes of the x that was cut
//   Value slice(Value x, int64_t axis, int64_t begin, int64_t end)
//   Value concat(std::vector<Value> pieces, int64_t axis)
//   Value mean(Value x, std::vector<int64_t> axes)    which stay, with size 1
//   Value subtract(Value a, Value b)
//   int64_t axisNumber(size_t axis, size_t rank)      as the format counts them
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/ops/pattern.h"

namespace normlens::formats {

inline constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();  // of a slice

template <class Ops>
class CenteringCode {
 public:
  using Value = typename Ops::Value;

  // axes: centeringAxes() of the value.
  CenteringCode(Ops& ops, const ops::FactorsPerDim& axes) : ops_(ops), axes_(axes) {
    for (const auto& axis : axes) factors_.insert(factors_.end(), axis.begin(), axis.end());
  }

  Value emit(const Value& x) { return ops_.joined(centerFrom(ops_.cut(x, axes_), 0), axes_); }

 private:
  // Cuts the region out factor by factor, from `next` on, and centers what is left.
  Value centerFrom(const Value& x, size_t next) {
    while (next < factors_.size() && factors_[next].whole()) ++next;
    if (next == factors_.size()) return subtractMean(x);
    const ops::Factor& factor = factors_[next];
    const int64_t axis = ops_.axisNumber(next, factors_.size());
    const bool toTheEnd = factor.end == factor.size;
    std::vector<Value> pieces;
    if (factor.begin > 0) pieces.push_back(ops_.slice(x, axis, 0, factor.begin));
    pieces.push_back(centerFrom(ops_.slice(x, axis, factor.begin, toTheEnd ? kToTheEnd : factor.end), next + 1));
    if (!toTheEnd) pieces.push_back(ops_.slice(x, axis, factor.end, kToTheEnd));
    return pieces.size() == 1 ? pieces[0] : ops_.concat(pieces, axis);
  }

  Value subtractMean(const Value& x) {
    std::vector<int64_t> summed;
    for (size_t i = 0; i < factors_.size(); ++i) {
      if (factors_[i].summed) summed.push_back(ops_.axisNumber(i, factors_.size()));
    }
    return ops_.subtract(x, ops_.mean(x, summed));
  }

  Ops& ops_;
  const ops::FactorsPerDim& axes_;
  std::vector<ops::Factor> factors_;  // of all axes, in order: the axes of the value that was cut
};

}  // namespace normlens::formats
