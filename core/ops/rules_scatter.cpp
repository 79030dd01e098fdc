// Rows and elements written to positions that are known at run time: Scatter.
#include <algorithm>

#include "core/ops/axis_size.h"
#include "core/ops/axis_view.h"
#include "core/ops/rule_sets.h"

namespace normlens::ops {
namespace {

constexpr const char* kSumsPositions = "the norm sums over positions that are written at run time";
constexpr const char* kSinglePositions = "it writes single shifted values";

bool onlyAdds(const Node& node) { return graph::stringAttribute(node, "reduction") == "add"; }

Factors wholeSummed(int64_t size) { return {Factor{size, 0, size, true}}; }

Shift carriedAs(const Node& node, const FactorsPerDim& dims, const Pattern& pattern) {
  Pattern result = joinDims(dims);
  if (pattern.sumsAnything() && !result.sumsAnything()) return Shift::refused(kSinglePositions);
  return Shift::carried({{node.outputs[0], std::move(result)}});
}

// Describes a Scatter by the axes of x that are indexed, and how the updates' axes correspond to x's.
struct Rows {
  const Shape* x = nullptr;
  const Shape* updates = nullptr;
  size_t axis = 0, count = 0, made = 0;

  [[nodiscard]] bool indexed(size_t xAxis) const { return xAxis >= axis && xAxis < axis + count; }
  // The updates' axis beside this one of x; nullopt: they have none there.
  [[nodiscard]] std::optional<size_t> beside(size_t xAxis) const {
    const size_t missing = x->size() - count + made - updates->size();
    const size_t place = xAxis < axis ? xAxis : xAxis - count + made;
    return place < missing ? std::nullopt : std::optional(place - missing);
  }
  // The one that runs along it; nullopt: the updates are repeated along it.
  [[nodiscard]] std::optional<size_t> along(size_t xAxis) const {
    const auto own = beside(xAxis);
    return own && (*updates)[*own] == (*x)[xAxis] ? own : std::nullopt;
  }
};

std::optional<Rows> rowsOf(const Graph& graph, const Node& node) {
  Rows rows;
  rows.x = shapeOf(graph, node.operands.at(0));
  rows.updates = shapeOf(graph, node.operands.at(1));
  const auto axis = graph::intAttribute(node, "axis"), made = graph::intAttribute(node, "made");
  const auto count = graph::intAttribute(node, "count").value_or(1);
  if (rows.x == nullptr || rows.updates == nullptr || !axis || !made) return std::nullopt;
  const auto rank = static_cast<int64_t>(rows.x->size());
  if (*axis < 0 || count < 1 || *axis + count > rank || *made < 0) return std::nullopt;
  rows.axis = static_cast<size_t>(*axis);
  rows.count = static_cast<size_t>(count);
  rows.made = static_cast<size_t>(*made);
  if (rows.updates->size() > rows.x->size() - rows.count + rows.made) return std::nullopt;
  for (size_t i = 0; i < rows.x->size(); ++i) {
    if (rows.indexed(i) || rows.along(i)) continue;
    if (const auto own = rows.beside(i); own && (*rows.updates)[*own] != 1) return std::nullopt;
  }
  return rows;
}

// Every row of y is one of x's or of the updates', or a sum or mean of such: whatever the index, all channels of a row
// go the same way. (Where an index names a row twice, frameworks leave open which update stays.)
ZeroMean rowsZeroMean(const Graph& graph, const Node& node, const Pattern& pattern) {
  const auto rows = rowsOf(graph, node);
  const auto dims = rows ? alignTo(pattern, *rows->x) : std::nullopt;
  if (!dims) return ZeroMean::refused(kNoShape);
  FactorsPerDim needed;
  for (const int64_t size : *rows->updates) needed.push_back(wholeKept(size));
  for (size_t i = 0; i < dims->size(); ++i) {
    if (rows->indexed(i)) {
      if (anySummed((*dims)[i])) return ZeroMean::refused(kSumsPositions);
    } else if (const auto along = rows->along(i)) {
      needed[*along] = (*dims)[i];
    }
  }
  return ZeroMean::of({{node.operands[0], pattern}, {node.operands[1], joinDims(needed)}});
}
Shift rowsShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const auto rows = rowsOf(graph, node);
  auto dims = rows ? alignTo(pattern, operand == 0 ? *rows->x : *rows->updates) : std::nullopt;
  if (!dims) return Shift::refused(kNoShape);
  FactorsPerDim out;
  for (size_t i = 0; i < rows->x->size(); ++i) {
    const int64_t size = (*rows->x)[i];
    if (operand == 0) {
      out.push_back(rows->indexed(i) ? asKept((*dims)[i]) : (*dims)[i]);
    } else if (rows->indexed(i)) {
      out.push_back(wholeKept(size));
    } else {
      const auto along = rows->along(i);
      out.push_back(along ? (*dims)[*along] : wholeSummed(size));
    }
  }
  return carriedAs(node, out, pattern);
}

// Describes a Scatter by element: along all axes but `axis`, element i of the updates goes to position i of x.
struct Elements {
  const Shape* x = nullptr;
  const Shape* updates = nullptr;  // Has the index's rank, or is {}: one number for all.
  const Shape* index = nullptr;
  size_t axis = 0;
};

// All positions of x along this axis are written to, or none, as far as the index's size shows for every run.
bool fills(const Graph& graph, const Node& node, const Elements& all, size_t i) {
  if (i == all.axis || (*all.index)[i] != (*all.x)[i]) return false;
  const auto asX = [&](size_t operand) {
    return axisSize(graph, node.operands[operand], i) == axisSize(graph, node.operands[0], i);
  };
  return asX(2) && (all.updates->empty() || ((*all.updates)[i] == (*all.x)[i] && asX(1)));
}

std::optional<Elements> elementsOf(const Graph& graph, const Node& node) {
  Elements all;
  all.x = shapeOf(graph, node.operands.at(0));
  all.updates = shapeOf(graph, node.operands.at(1));
  all.index = shapeOf(graph, operandAt(node, 2));
  const auto axis = graph::intAttribute(node, "axis");
  if (all.x == nullptr || all.updates == nullptr || all.index == nullptr || !axis || *axis < 0) return std::nullopt;
  all.axis = static_cast<size_t>(*axis);
  const bool sameRank = all.index->size() == all.x->size() && all.axis < all.x->size();
  if (!sameRank || (!all.updates->empty() && all.updates->size() != all.x->size())) return std::nullopt;
  return all;
}

// The factors of x's axis i for an operand that has `size` elements there.
Factors seenBy(const Elements& all, size_t i, const Factors& factors, int64_t size) {
  return i != all.axis && size == (*all.x)[i] ? factors : wholeKept(size);
}

// Without the sums along axes on which the index may vary or that it leaves in part.
FactorsPerDim equallyIndexed(const Graph& graph, const Node& node, const Elements& all, const FactorsPerDim& dims) {
  FactorsPerDim out = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!anySummed(dims[i])) continue;
    FactorsPerDim index;
    for (size_t k = 0; k < dims.size(); ++k) index.push_back(k == i ? dims[i] : wholeKept((*all.index)[k]));
    if (!fills(graph, node, all, i) || !isConstantAlong(graph, node.operands[2], joinDims(index)))
      out[i] = asKept(dims[i]);
  }
  return out;
}

ZeroMean elementsZeroMean(const Graph& graph, const Node& node, const Pattern& pattern) {
  const auto all = elementsOf(graph, node);
  const auto dims = all ? alignTo(pattern, *all->x) : std::nullopt;
  if (!dims) return ZeroMean::refused(kNoShape);
  if (anySummed((*dims)[all->axis])) return ZeroMean::refused(kSumsPositions);
  FactorsPerDim updates, index;
  for (size_t i = 0; i < dims->size(); ++i) {
    if (anySummed((*dims)[i]) && !fills(graph, node, *all, i))
      return ZeroMean::refused("it writes to some of the norm's channels");
    index.push_back(seenBy(*all, i, (*dims)[i], (*all->index)[i]));
    if (!all->updates->empty()) updates.push_back(seenBy(*all, i, (*dims)[i], (*all->updates)[i]));
  }
  if (!isConstantAlong(graph, node.operands[2], joinDims(index)))
    return ZeroMean::refused("its index may differ between channels");
  return ZeroMean::of({{node.operands[0], pattern}, {node.operands[1], joinDims(updates)}});
}
Shift elementsShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const auto all = elementsOf(graph, node);
  if (!all || (operand == 1 && all->updates->empty())) return Shift::refused(kNoShape);
  const Shape& shape = operand == 0 ? *all->x : *all->updates;
  const auto dims = alignTo(pattern, shape);
  if (!dims) return Shift::refused(kNoShape);
  FactorsPerDim out = equallyIndexed(graph, node, *all, *dims);
  for (size_t i = 0; operand == 1 && i < out.size(); ++i) {
    if (i == all->axis || shape[i] != (*all->x)[i]) out[i] = wholeKept((*all->x)[i]);
  }
  return carriedAs(node, out, pattern);
}

bool byElement(const Node& node) { return graph::boolAttribute(node, "elements"); }

}  // namespace

ZeroMean scatterZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  return byElement(node) ? elementsZeroMean(graph, node, pattern) : rowsZeroMean(graph, node, pattern);
}
Shift scatterShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand > 1) return Shift::refused("the shifted values are its index");
  if (operand == 0 && onlyAdds(node)) return Shift::carried({{node.outputs[0], pattern}});
  return byElement(node) ? elementsShift(graph, node, operand, pattern) : rowsShift(graph, node, operand, pattern);
}

}  // namespace normlens::ops
