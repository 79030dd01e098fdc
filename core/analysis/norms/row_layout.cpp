#include "core/analysis/norms/row_layout.h"

#include <algorithm>

namespace normlens::analysis {
namespace {

LayoutAxis axisFromEnd(const RowLayout& layout, size_t fromEnd) {
  return fromEnd < layout.size() ? layout[layout.size() - 1 - fromEnd] : LayoutAxis{.alwaysOne = true};
}

bool repeats(const LayoutAxis& axis) { return axis.size == 1 || axis.stride == 0; }

struct SpreadAxis {
  LayoutAxis axis;
  Spread spread = Spread::Uniform;
};

// Both operands' share of an axis, broadcast to `size`; nullopt: they do not meet row by row.
std::optional<LayoutAxis> axisTogether(SpreadAxis a, SpreadAxis b, int64_t size, int64_t width) {
  if (size == 1) return LayoutAxis{1, 0, a.axis.alwaysOne && b.axis.alwaysOne};
  if (a.spread < b.spread) std::swap(a, b);
  const bool same = a.axis.size == b.axis.size && a.axis.stride == b.axis.stride;
  const auto whereItSpans = [&](const LayoutAxis& axis) {
    return axis.size == size ? std::optional(axis) : std::nullopt;
  };
  if (b.spread == Spread::Uniform) return whereItSpans(a.axis);
  if (a.spread == b.spread) return same ? std::optional(a.axis) : std::nullopt;
  if (a.spread == Spread::PerPlace) {
    if (repeats(a.axis) == repeats(b.axis)) return std::nullopt;
    return whereItSpans(repeats(a.axis) ? b.axis : a.axis);
  }
  const bool acrossRows = a.axis.stride % width == 0;
  const bool together = acrossRows == (b.spread == Spread::PerRow);  // b, too, changes along this axis
  const bool fits = together ? same : (acrossRows || a.axis.stride < width) && repeats(b.axis);
  return fits ? whereItSpans(a.axis) : std::nullopt;
}

}  // namespace

RowLayout rowsOver(const graph::Shape& shape, const std::vector<int64_t>& axes) {
  RowLayout out(shape.size());
  int64_t stride = 1;
  for (const bool inRow : {true, false}) {
    for (size_t i = shape.size(); i-- > 0;) {
      if ((std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end()) != inRow) continue;
      out[i] = {shape[i], shape[i] == 1 ? 0 : stride, false};
      stride *= shape[i];
    }
  }
  return out;
}

void markAlwaysOne(RowLayout& layout, const std::vector<int64_t>& axes) {
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(layout.size())) continue;
    LayoutAxis& own = layout[static_cast<size_t>(axis)];
    own.alwaysOne = own.size == 1;
  }
}

RowLayout permuted(const RowLayout& layout, const std::vector<int64_t>& perm) {
  RowLayout out;
  out.reserve(perm.size());
  for (const int64_t axis : perm) out.push_back(layout.at(static_cast<size_t>(axis)));
  return out;
}

std::optional<RowLayout> reshaped(const RowLayout& layout, const graph::Shape& shape,
                                  const std::vector<int64_t>& ones) {
  RowLayout runs;  // neighbors that follow one another without a gap
  for (const LayoutAxis& axis : layout) {
    if (axis.size == 1) continue;
    if (!runs.empty() && runs.back().stride == axis.size * axis.stride)
      runs.back() = {runs.back().size * axis.size, axis.stride};
    else
      runs.push_back(axis);
  }
  RowLayout out(shape.size());
  LayoutAxis run;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (run.size == 1) {
      if (runs.empty()) return std::nullopt;
      run = runs.back();
      runs.pop_back();
    }
    if (shape[i] <= 0 || run.size % shape[i] != 0) return std::nullopt;
    out[i] = {shape[i], run.stride, false};
    run = {run.size / shape[i], run.stride * shape[i]};
  }
  if (run.size != 1 || !runs.empty()) return std::nullopt;
  markAlwaysOne(out, ones);
  return out;
}

std::optional<RowLayout> reduced(const RowLayout& layout, const std::vector<int64_t>& axes, int64_t width) {
  int64_t count = 1;
  RowLayout out;
  for (size_t i = 0; i < layout.size(); ++i) {
    const LayoutAxis& axis = layout[i];
    const bool sums = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    if (!sums) {
      if (axis.size != 1 && axis.stride % width != 0) return std::nullopt;
      out.push_back(axis);
      continue;
    }
    const bool inRow = axis.size == 1 ? axis.alwaysOne || width == 1 : axis.stride > 0 && axis.stride < width;
    if (!inRow) return std::nullopt;
    count *= axis.size;
    out.push_back({.alwaysOne = true});
  }
  return count == width ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<RowLayout> together(const LaidOut& a, const LaidOut& b, const graph::Shape& shape, int64_t width) {
  if (std::max(a.layout.size(), b.layout.size()) != shape.size()) return std::nullopt;
  RowLayout out(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t at = shape.size() - 1 - i;
    const auto axis =
        axisTogether({axisFromEnd(a.layout, i), a.spread}, {axisFromEnd(b.layout, i), b.spread}, shape[at], width);
    if (!axis) return std::nullopt;
    out[at] = *axis;
  }
  return out;
}

bool sameLayout(const RowLayout& a, const RowLayout& b) {
  return std::ranges::equal(
      a, b, [](const LayoutAxis& x, const LayoutAxis& y) { return x.size == y.size && x.stride == y.stride; });
}

}  // namespace normlens::analysis
