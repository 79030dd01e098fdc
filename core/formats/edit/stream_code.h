// A channel less, or all of them again, written as ops: once, for every format. Source: paper 003, section 2.3 (the
// last of d numbers whose sum is 0 is minus the sum of the others). Thread: one.
//
// `Ops` writes one op each and returns its value; axes as the format counts them:
//   Value slice(Value x, int64_t axis, int64_t begin, int64_t end)
//   Value concat(std::vector<Value> pieces, int64_t axis)
//   Value sum(Value x, int64_t axis)    which stays, with size 1
//   Value negate(Value x)
//   Value padded(Value x, int64_t axis, int64_t zeros)    zeros behind the last along the axis
#pragma once

#include <cstdint>
#include <vector>

#include "core/fold/stream_edits.h"

namespace normlens::formats {

template <class Ops, class Value = typename Ops::Value>
Value narrowCode(Ops& ops, const Value& x, int64_t axis, const fold::Channels& channels) {
  const Value kept = ops.slice(x, axis, 0, channels.kept());
  return channels.width == channels.kept() ? kept : ops.padded(kept, axis, channels.width - channels.kept());
}

template <class Ops, class Value = typename Ops::Value>
Value restoreCode(Ops& ops, const Value& x, int64_t axis, const fold::Channels& channels) {
  const Value kept = channels.width == channels.kept() ? x : ops.slice(x, axis, 0, channels.kept());
  return ops.concat({kept, ops.negate(ops.sum(kept, axis))}, axis);
}

}  // namespace normlens::formats
