// What some reads see in a value's place, as ops: x minus the means of a pattern's groups, a channel less, or all of
// them again. It is the same for every format. Source of the channels: fold/stream_edits.h; of a zero-mean x the sum
// of the others is -x_d. Thread: one.
//
// `Ops` writes one op each and returns its value:
//   Value cut(Value x, axes)               every axis becomes its factors, outermost first
//   Value joined(Value y, axes)            and back to the axes of the x that was cut
//   Value slice(Value x, int64_t axis, int64_t begin, int64_t end)
//   Value concat(std::vector<Value> pieces, int64_t axis)
//   Value mean(Value x, std::vector<int64_t> axes)    which stay, with size 1
//   Value sum(Value x, int64_t axis)                  alike
//   Value subtract(Value a, Value b)
//   Value scaled(Value x, double factor)
//   Value padded(Value x, size_t axis, size_t rank, int64_t zeros)    zeros behind the last along the axis
//   int64_t axisNumber(size_t axis, size_t rank)      as the format counts them
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/fold/stream_edits.h"
#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::formats {

inline constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();  // of a slice

class ReadCode {
 public:
  // At most one factor of an axis that is cut is kept, so that its size need not be written down. Throws EditRefused
  // where the pattern cuts across axes, or would fix a size that may differ from call to call.
  static ReadCode centering(const graph::Shape& shape, const ops::Pattern& pattern);
  static ReadCode channels(const graph::Shape& shape, const fold::RewriteReads& edit);

  template <class Ops, class Value = typename Ops::Value>
  Value emit(Ops& ops, const Value& x) const {
    if (kind_ == Kind::Center) return ops.joined(centerFrom(ops, ops.cut(x, axes_), 0), axes_);
    return kind_ == Kind::Narrow ? narrow(ops, x) : restore(ops, x);
  }

  // "centering", "narrowed", "restored"
  [[nodiscard]] const char* word() const;
  // Equal texts stand for equal code.
  [[nodiscard]] std::string text() const;

 private:
  enum class Kind : uint8_t { Center, Narrow, Restore };

  // Cuts the region out factor by factor, from `next` on, and centers what is left.
  template <class Ops, class Value = typename Ops::Value>
  Value centerFrom(Ops& ops, const Value& x, size_t next) const {
    while (next < factors_.size() && factors_[next].whole()) ++next;
    if (next == factors_.size()) return subtractMean(ops, x);
    const ops::Factor& factor = factors_[next];
    const int64_t axis = ops.axisNumber(next, factors_.size());
    const bool toTheEnd = factor.end == factor.size;
    std::vector<Value> pieces;
    if (factor.begin > 0) pieces.push_back(ops.slice(x, axis, 0, factor.begin));
    pieces.push_back(centerFrom(ops, ops.slice(x, axis, factor.begin, toTheEnd ? kToTheEnd : factor.end), next + 1));
    if (!toTheEnd) pieces.push_back(ops.slice(x, axis, factor.end, kToTheEnd));
    return pieces.size() == 1 ? pieces[0] : ops.concat(pieces, axis);
  }

  // z_i = s (x_i + x_d (1/√d - ofOthers)), and zeros.
  template <class Ops, class Value = typename Ops::Value>
  Value narrow(Ops& ops, const Value& x) const {
    const int64_t axis = ops.axisNumber(axis_, rank_), kept = channels_.kept(), zeros = channels_.width - kept;
    const double scale = channels_.scale(), shift = scale * (channels_.ofLast() - channels_.ofOthers());
    const Value first = scaled(ops, ops.slice(x, axis, 0, kept), scale);
    const Value z = ops.subtract(first, ops.scaled(ops.slice(x, axis, kept, kToTheEnd), -shift));
    return zeros == 0 ? z : ops.padded(z, axis_, rank_, zeros);
  }

  // x_i = z_i / s + sum(z / s) ofOthers, and the last is sum(z / s) / √d.
  template <class Ops, class Value = typename Ops::Value>
  Value restore(Ops& ops, const Value& z) const {
    const int64_t axis = ops.axisNumber(axis_, rank_), kept = channels_.kept();
    const Value all = channels_.width == kept ? z : ops.slice(z, axis, 0, kept);
    const Value first = scaled(ops, all, 1 / channels_.scale()), sum = ops.sum(first, axis);
    return ops.concat(
        {ops.subtract(first, ops.scaled(sum, -channels_.ofOthers())), ops.scaled(sum, channels_.ofLast())}, axis);
  }

  template <class Ops, class Value = typename Ops::Value>
  static Value scaled(Ops& ops, const Value& x, double factor) {
    return factor == 1 ? x : ops.scaled(x, factor);
  }

  template <class Ops, class Value = typename Ops::Value>
  Value subtractMean(Ops& ops, const Value& x) const {
    std::vector<int64_t> summed;
    for (size_t i = 0; i < factors_.size(); ++i) {
      if (factors_[i].summed) summed.push_back(ops.axisNumber(i, factors_.size()));
    }
    return ops.subtract(x, ops.mean(x, summed));
  }

  Kind kind_ = Kind::Center;
  ops::FactorsPerDim axes_;           // of a centering: by axis its factors; one: the axis stays whole
  std::vector<ops::Factor> factors_;  // of all axes, in order: the axes of the value that was cut
  size_t axis_ = 0, rank_ = 0;        // of the channels
  fold::Channels channels_;
};

}  // namespace normlens::formats
