// Rows for operators that move elements about: views, permutations, slices, joins, padding, and what is read from and
// written to positions that an index names.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/formats/onnx/lower/op_rule.h"

namespace normlens::formats::onnx {
namespace {

using graph::OpKind;
using graph::Shape;

void reshape(OpContext& op) {
  op.operand(0);
  op.computed(1);
  op.markComputedAxes(1);
  const auto sizes = op.isConstant(1) ? op.constantInts(1) : std::nullopt;
  if (!sizes) return;
  std::vector<int64_t> ones;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if ((*sizes)[i] == 1) ones.push_back(static_cast<int64_t>(i));
  }
  if (!ones.empty()) op.set("ones", std::move(ones));
}

// Squeeze with axes; Expand.
void view(OpContext& op) {
  op.operand(0);
  op.computed(1);
}

void flatten(OpContext& op) {
  op.operand(0);
  const int64_t axis = op.intOf("axis", 1);
  op.markFlattenedAxes(axis < 0 ? axis + op.rank(0).value_or(0) : axis);
}

void expand(OpContext& op) {
  view(op);
  op.markFixedAxes(1);
}

// Without axes it drops those that have size 1 in that run.
void squeeze(OpContext& op) {
  view(op);
  op.set("ones_only", true);
  const bool given = op.has(1) || op.hasAttribute("axes");
  for (int64_t axis = 0; !given && axis < op.rank(0).value_or(0); ++axis) {
    if (!op.isSizeFixed(op.in(0), axis)) op.opaque();
  }
}

void unsqueeze(OpContext& op) {
  view(op);
  op.set("ones_only", true);
  const auto rank = op.rank(0);
  auto axes = op.intsOf("axes", 1);
  if (!rank || !axes) return;
  for (int64_t& axis : *axes) axis += axis < 0 ? *rank + static_cast<int64_t>(axes->size()) : 0;
  op.set("ones", std::move(*axes));
}

void transpose(OpContext& op) {
  op.operand(0);
  const auto rank = op.rank(0);
  auto perm = op.intsOf("perm");
  if (!perm && rank) {
    perm.emplace(static_cast<size_t>(*rank));
    std::iota(perm->rbegin(), perm->rend(), 0);
  }
  if (!perm) return;
  std::vector<int64_t> sorted = *perm;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return op.opaque();
  }
  if (rank && *rank != static_cast<int64_t>(perm->size())) return op.opaque();
  op.set("perm", *perm);
}

// Blocks of b by b positions of an image of four axes, taken out of the channels or put into them. Without its sizes,
// or with ones that do not fit, the order stays unsaid.
void rearrange(OpContext& op, bool fromChannels, bool blockFirst) {
  op.operand(0);
  const int64_t b = op.intOf("blocksize", 0);
  const auto dims = op.inputType(0).dims;
  if (!dims || dims->size() != 4 || std::ranges::min(*dims) < 1 || b < 1 || b > std::ranges::max(*dims)) return;
  const int64_t n = (*dims)[0], c = (*dims)[1], h = (*dims)[2], w = (*dims)[3];
  if (!fromChannels) {
    op.set("inner", std::vector<int64_t>{n, c, h / b, b, w / b, b});
    return op.set("perm", std::vector<int64_t>{0, 3, 5, 1, 2, 4});
  }
  op.set("inner",
         blockFirst ? std::vector<int64_t>{n, b, b, c / b / b, h, w} : std::vector<int64_t>{n, c / b / b, b, b, h, w});
  op.set("perm", blockFirst ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3});
}
void spaceToDepth(OpContext& op) { rearrange(op, false, true); }
void depthToSpace(OpContext& op) {
  const std::string mode = op.stringOf("mode", "DCR");
  rearrange(op, true, mode == "DCR");
  if (mode != "DCR" && mode != "CRD") op.opaque();
}

// Repeating axes of size 1 only is an expand; else each position is one of x's. A count may be known at run time only.
void tile(OpContext& op) {
  view(op);
  const auto counts = op.knownInts(1);
  const auto dims = op.inputType(0).dims;
  if (!counts || !dims || counts->size() != dims->size()) return op.opaque();
  std::vector<int64_t> repeated;
  bool expands = true;
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*counts)[i] == 1) continue;
    repeated.push_back(static_cast<int64_t>(i));
    expands = expands && (*dims)[i] == 1;
  }
  if (expands) return;
  op.kind = OpKind::Mix;
  op.set("axes", std::move(repeated));
}

struct Window {
  std::optional<int64_t> start, end;
  int64_t step = 1;
  bool stepKnown = true;
};

// All positions in reverse order.
bool reverses(const Window& window) {
  if (!window.stepKnown || window.step != -1 || !window.start || !window.end) return false;
  const bool fromLast = *window.start == -1 || *window.start == std::numeric_limits<int64_t>::max() ||
                        *window.start == std::numeric_limits<int32_t>::max();
  return fromLast && *window.end <= std::numeric_limits<int32_t>::min();
}

// Attributes of a Slice along one axis of this size (-1: not known), and whether it is a flip instead.
OpKind describeWindow(const Window& window, std::optional<int64_t> axis, int64_t size, graph::Attributes& attributes) {
  if (reverses(window)) {
    if (axis) attributes.emplace_back("axes", std::vector<int64_t>{*axis});
    return OpKind::Roll;
  }
  if (axis) attributes.emplace_back("axis", *axis);
  if (!window.stepKnown) return OpKind::Opaque;
  auto start = window.start;
  const auto counted = [&](std::optional<int64_t> bound) { return bound && (*bound < 0 || *bound > size); };
  const auto placed = [&](int64_t bound) { return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size); };
  const bool fromEnd = size >= 0 && (counted(window.start) || counted(window.end));
  if (start && size >= 0) start = placed(*start);
  if (start && *start >= 0 && window.step > 0) attributes.emplace_back("start", *start);
  if (window.end && size >= 0) attributes.emplace_back("end", placed(*window.end));
  if (fromEnd) attributes.emplace_back("from_end", true);
  attributes.emplace_back("step", window.step);
  return OpKind::Slice;
}

std::optional<int64_t> at(const std::optional<std::vector<int64_t>>& list, size_t index) {
  return list && index < list->size() ? std::optional((*list)[index]) : std::nullopt;
}

// One graph node per axis. How many, the file has to state itself.
void slice(OpContext& op) {
  const bool asInputs = op.version() >= 10;
  const auto list = [&](const char* name, int input) { return asInputs ? op.constantInts(input) : op.intsOf(name); };
  const auto starts = list("starts", 1), ends = list("ends", 2), steps = asInputs ? op.constantInts(4) : std::nullopt;
  auto axes = list("axes", 3);
  const bool axesGiven = asInputs ? op.has(3) : op.hasAttribute("axes");
  if (!axesGiven && starts) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  op.operand(0);
  if (!axes || axes->empty() || axes->size() > 64) {
    for (int i = 1; i < 5; ++i) op.computed(i);
    return op.opaque();
  }
  const auto rank = op.rank(0);
  KnownType type = op.inputType(0);
  const KnownType result = op.outputTypeAt(0);
  Operand data = op.in(0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = OpContext::normalised((*axes)[i], rank);
    const int64_t size = axis && type.dims ? (*type.dims)[static_cast<size_t>(*axis)] : -1;
    Window window{at(starts, i), at(ends, i), at(steps, i).value_or(1), !op.has(4) || !asInputs || steps.has_value()};
    graph::Attributes attributes;
    OpKind kind = describeWindow(window, axis, size, attributes);
    if (rank && !axis) kind = OpKind::Opaque;
    const auto fromEnd = std::ranges::find(attributes, "from_end", &graph::Attributes::value_type::first);
    if (fromEnd != attributes.end() && op.fixedSize(op.in(0), *axis)) attributes.erase(fromEnd);
    if (type.dims && axis) {
      const bool known = result.dims && result.dims->size() == type.dims->size();
      (*type.dims)[static_cast<size_t>(*axis)] = known ? (*result.dims)[static_cast<size_t>(*axis)] : -1;
    }
    if (i + 1 < axes->size()) {
      data = op.part("axis " + std::to_string(i), kind, "Slice", {data}, std::move(attributes), type);
      continue;
    }
    op.kind = kind;
    op.operands = {data};
    op.attributes = std::move(attributes);
  }
  if (asInputs) {
    for (int i = 1; i < 5; ++i) op.computed(i);
  }
}

void split(OpContext& op) {
  view(op);
  const int64_t axis = op.intOf("axis", 0);
  op.setAxis(axis, op.rank(0));
  const bool written = op.has(1) || op.hasAttribute("split");
  if (auto sizes = op.intsOf("split", 1))
    op.set("sizes", std::move(*sizes));
  else if (!written)
    op.set("divides", true);
}

void concat(OpContext& op) {
  op.allOperands();
  op.setAxis(op.intOf("axis", 1), op.rank(0));
}

// Holds what a Pad adds in front of each listed axis and behind it; nullopt where a run computes it.
using Pads = std::vector<std::optional<int64_t>>;

std::optional<Pads> padsOf(const OpContext& op) {
  if (op.version() >= 11) return op.knownInts(1);
  const auto written = op.intsOf("pads");
  return written ? std::optional(Pads(written->begin(), written->end())) : std::nullopt;
}

// Opsets 1 and 2 to 10: pads and value as attributes.
void pad(OpContext& op) {
  op.operand(0);
  for (int i = 1; i < 4; ++i) op.computed(i);
  const bool asInputs = op.version() >= 11;
  const auto pads = padsOf(op);
  const auto rank = op.rank(0);
  if (!pads || !rank) return op.opaque();
  auto listed = asInputs && op.has(3) ? op.constantInts(3) : std::nullopt;
  if (asInputs && op.has(3) && !listed) return op.opaque();
  if (!listed) {
    listed.emplace(static_cast<size_t>(*rank));
    std::iota(listed->begin(), listed->end(), 0);
  }
  const size_t count = listed->size();
  if (pads->size() != 2 * count) return op.opaque();
  std::vector<int64_t> axes, start;
  bool known = true;
  for (size_t i = 0; i < count; ++i) {
    const auto axis = OpContext::normalised((*listed)[i], rank);
    const auto before = (*pads)[i], after = (*pads)[count + i];
    if (!axis) return op.opaque();
    if (before == 0 && after == 0) continue;
    known = known && before >= 0 && after >= 0;
    axes.push_back(*axis);
    start.push_back(before.value_or(0));
  }
  op.set("axes", std::move(axes));
  if (known) op.set("start", std::move(start));
  if (op.stringOf("mode", "constant") != "constant") return;
  // Without a value it is 0. A value given at run time or other than a plain number could be anything.
  if (!asInputs) return op.set("value", op.floatOf("value", 0));
  if (!op.has(2)) return op.set("value", 0.0);
  const auto number = op.constantNumber(2);
  op.set("value", number.value_or(1.0));
}

// ---- positions that an index names

void gather(OpContext& op) {
  op.operand(0);
  const int64_t axis = op.intOf("axis", 0);
  const auto rank = op.rank(0);
  const auto index = op.constantInts(1);
  if (index && index->size() == 1 && op.rank(1) == 0) {  // a constant number picks one
    op.kind = OpKind::Select;
    op.setAxis(axis, rank);
    const auto at = OpContext::normalised(axis, rank);
    const auto dims = op.inputType(0).dims;
    const int64_t size = at && dims ? (*dims)[static_cast<size_t>(*at)] : -1;
    const int64_t wanted = index->front() < 0 && size >= 0 ? index->front() + size : index->front();
    if (wanted >= 0) op.set("index", wanted);
    if (index->front() < 0 && at && !op.fixedSize(op.in(0), *at)) op.set("from_end", true);
    return;
  }
  op.operand(1);
  op.setAxis(axis, rank);
}

// As h[rows] and h[rows, columns] are written: a Gather along as many of the first axes as an index has numbers.
void gatherNd(OpContext& op) {
  auto index = op.inputType(1);
  const int64_t count = index.dims && index.dims->size() > 1 ? index.dims->back() : -1;
  if (op.intOf("batch_dims", 0) != 0 || count < 1 || count > op.rank(0).value_or(0)) {
    op.allOperands();
    return op.opaque();
  }
  const int64_t last = static_cast<int64_t>(index.dims->size()) - 1;
  index.dims->pop_back();
  op.operand(0);
  op.setAxis(0, op.rank(0));
  if (count == 1) {
    op.operands.push_back(op.part("index", OpKind::Reshape, "Reshape", {op.in(1)}, {}, std::move(index)));
    return;
  }
  op.set("count", count);
  for (int64_t i = 0; i < count; ++i) {
    op.operands.push_back(op.part("index " + std::to_string(i), OpKind::Select, "Gather", {op.in(1)},
                                  {{"axis", last}, {"index", i}}, index));
  }
}

// Only what is linear in the updates: not the largest or a product.
void scatter(OpContext& op) {
  op.operand(0);
  op.operand(2);
  op.operand(1);
  const std::string reduction = op.stringOf("reduction", "none");
  if (reduction != "none" && reduction != "add") op.opaque();
  op.set("reduction", reduction);
}

void scatterElements(OpContext& op) {
  scatter(op);
  op.setAxis(op.intOf("axis", 0), op.rank(0));
  op.set("elements", true);
}

// x[mask] = updates, as exporters write it: Transpose(NonZero(mask)) lists the elements where the mask is true.
bool maskedCopy(OpContext& op) {
  const auto mask = op.maskOfPositions(1);
  const auto x = op.inputType(0).shape();
  if (!x || mask.value == graph::kNoValue || op.type(mask).shape() != x) return false;
  op.kind = OpKind::MaskedCopy;
  op.operands = {op.in(0), mask, op.in(2)};
  return true;
}

// Slices along as many of the first axes as an index has numbers.
void scatterNd(OpContext& op) {
  if (op.stringOf("reduction", "none") == "none" && maskedCopy(op)) return;
  scatter(op);
  op.set("axis", int64_t{0});
  const auto& index = op.inputType(1);
  const int64_t count = index.dims && !index.dims->empty() ? index.dims->back() : -1;
  if (count < 1) return;  // not known
  op.set("count", count);
  op.set("made", static_cast<int64_t>(index.dims->size()) - 1);
}

}  // namespace

const std::vector<OpRule>& shapeRules() {
  static const std::vector<OpRule> kRules = {
      {"Reshape", OpKind::Reshape, reshape},
      {"Flatten", OpKind::Reshape, flatten},
      {"Squeeze", OpKind::Reshape, squeeze},
      {"Unsqueeze", OpKind::Reshape, unsqueeze, Domain::Standard, graph::Function::Unsqueeze},
      {"Transpose", OpKind::Permute, transpose},
      {"DepthToSpace", OpKind::Rearrange, depthToSpace},
      {"SpaceToDepth", OpKind::Rearrange, spaceToDepth},
      {"Expand", OpKind::Expand, expand},
      {"Tile", OpKind::Expand, tile},
      {"Slice", OpKind::Slice, slice},
      {"Split", OpKind::Split, split},
      {"Concat", OpKind::Concat, concat},
      {"Pad", OpKind::Pad, pad},
      {"Gather", OpKind::Gather, gather},
      {"GatherND", OpKind::Gather, gatherNd},
      {"Scatter", OpKind::Scatter, scatterElements},  // before opset 11
      {"ScatterElements", OpKind::Scatter, scatterElements},
      {"ScatterND", OpKind::Scatter, scatterNd},
  };
  return kRules;
}

}  // namespace normlens::formats::onnx
