#include "core/ops/index_maps.h"

#include <algorithm>

namespace normlens::ops {

using graph::Graph;
using graph::Shape;
using graph::ValueId;

const Shape* shapeOf(const Graph& graph, ValueId value) {
  if (value == graph::kNoValue) return nullptr;
  const auto& shape = graph.value(value).shape;
  return shape ? &*shape : nullptr;
}

bool anySummed(const Factors& axis) {
  return std::any_of(axis.begin(), axis.end(), [](const Factor& f) { return f.summed && f.extent() > 1; });
}

Factors wholeKept(int64_t size) { return {Factor{size, 0, size, false}}; }

Factors asKept(Factors axis) {
  for (Factor& factor : axis) factor.summed = false;
  return axis;
}

std::optional<Pattern> narrowToOperand(const Pattern& pattern, const Shape& full, const Shape& part) {
  if (part.size() > full.size()) return std::nullopt;
  auto dims = alignTo(pattern, full);
  if (!dims) return std::nullopt;
  const size_t missing = full.size() - part.size();
  for (size_t i = 0; i < full.size(); ++i) {
    if (i < missing || part[i - missing] == 1) {
      (*dims)[i].clear();
    } else if (part[i - missing] != full[i]) {
      return std::nullopt;
    }
  }
  return joinDims(*dims);
}

std::optional<Pattern> widenFromOperand(const Pattern& pattern, const Shape& part, const Shape& full) {
  if (part.size() > full.size()) return std::nullopt;
  const auto dims = alignTo(pattern, part);
  if (!dims) return std::nullopt;
  const size_t missing = full.size() - part.size();
  FactorsPerDim out(full.size());
  for (size_t i = 0; i < full.size(); ++i) {
    if (i >= missing && part[i - missing] == full[i]) {
      out[i] = (*dims)[i - missing];
    } else if (i < missing || part[i - missing] == 1) {
      out[i] = {Factor{full[i], 0, full[i], true}};
    } else {
      return std::nullopt;
    }
  }
  return joinDims(out);
}

namespace {

int64_t innerSize(const Factors& axis) {
  int64_t size = 1;
  for (size_t i = 1; i < axis.size(); ++i) size *= axis[i].size;
  return size;
}

}  // namespace

std::optional<Window> window(const Factors& axis, int64_t start, int64_t length) {
  // Nothing in the probe run; what another run has there counts.
  if (length == 0 && !anySummed(axis)) return Window{wholeKept(0), true};
  if (axis.empty()) return Window{};
  const int64_t inner = innerSize(axis);
  if (start % inner != 0 || length % inner != 0) {
    // A window that cuts through the factors: fine where no sum is concerned, the whole window is then kept.
    if (anySummed(axis)) return std::nullopt;
    return Window{wholeKept(length), true};
  }
  const Factor& outer = axis.front();
  const int64_t from = start / inner;
  const int64_t size = length / inner;
  const int64_t begin = std::max<int64_t>(outer.begin - from, 0);
  const int64_t end = std::min(outer.end - from, size);
  if (begin >= end) return Window{{}, false};
  Window out;
  out.factors = axis;
  out.factors.front() = Factor{size, begin, end, outer.summed};
  return out;
}

std::optional<Factors> placed(const Factors& axis, int64_t length, int64_t start, int64_t size, bool exact) {
  if (length == size) return axis;
  if (!exact && !anySummed(axis)) return wholeKept(size);
  const Factors source = axis.empty() ? Factors{Factor{length, 0, length, false}} : axis;
  const int64_t inner = innerSize(source);
  if (start % inner != 0 || size % inner != 0) {
    if (!anySummed(source)) return wholeKept(size);
    return std::nullopt;
  }
  Factors out = source;
  const int64_t from = start / inner;
  out.front() = Factor{size / inner, from + source.front().begin, from + source.front().end, source.front().summed};
  return out;
}

}  // namespace normlens::ops
