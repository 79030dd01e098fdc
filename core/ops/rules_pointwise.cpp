#include <algorithm>

#include "core/ops/axis_size.h"
#include "core/ops/axis_view.h"
#include "core/ops/index_maps.h"
#include "core/ops/rule_sets.h"
#include "core/ops/size_question.h"

namespace normlens::ops {
namespace {

std::optional<Pattern> narrowed(const Graph& graph, const Node& node, const Pattern& pattern, ValueId operand) {
  const Shape* full = shapeOf(graph, node.outputs[0]);
  return full == nullptr ? std::nullopt : narrowedInEveryRun(graph, operand, pattern, *full);
}

std::optional<Pattern> widened(const Graph& graph, const Node& node, const Pattern& pattern, int operand) {
  const Shape* full = shapeOf(graph, node.outputs[0]);
  if (full == nullptr) return std::nullopt;
  return widenedInEveryRun(graph, operandAt(node, static_cast<size_t>(operand)), pattern, *full);
}

bool isZeros(const Graph& graph, ValueId value) {
  const auto producer = graph.value(value).producer;
  return producer != graph::kNone && makesZeros(graph.node(producer)) && graph.value(value).opaqueReason.empty();
}

// Each of these operands zero-mean over the pattern as it sees it.
ZeroMean allOf(const Graph& graph, const Node& node, const Pattern& pattern, std::initializer_list<size_t> operands) {
  std::vector<Demand> needs;
  for (const size_t index : operands) {
    const ValueId value = operandAt(node, index);
    if (value == kNoValue || isZeros(graph, value)) continue;
    auto part = narrowed(graph, node, pattern, value);
    if (!part) return ZeroMean::refused(kNoShape);
    needs.push_back({value, std::move(*part)});
  }
  return ZeroMean::of(std::move(needs));
}

bool constantFor(const Graph& graph, const Node& node, const Pattern& pattern, size_t operand) {
  const ValueId value = operandAt(node, operand);
  const auto part = narrowed(graph, node, pattern, value);
  return part && isConstantAlong(graph, value, *part);
}

// The pattern without its sums along the axes on which this operand may vary.
std::optional<Pattern> withoutAxesOf(const Graph& graph, const Node& node, const Pattern& pattern, size_t operand) {
  const Shape* full = shapeOf(graph, node.outputs[0]);
  auto dims = full == nullptr ? std::nullopt : alignTo(pattern, *full);
  if (!dims) return std::nullopt;
  const FactorsPerDim all = *dims;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!anySummed(all[i])) continue;
    FactorsPerDim alone;
    for (size_t k = 0; k < all.size(); ++k) alone.push_back(k == i ? all[i] : wholeKept((*full)[k]));
    if (!constantFor(graph, node, joinDims(alone), operand)) (*dims)[i] = asKept(all[i]);
  }
  Pattern out = joinDims(*dims);
  return out.sumsAnything() ? std::optional(std::move(out)) : std::nullopt;
}

// A shift of one operand that is multiplied (or selected) by `other`: constant where both are.
Shift scaledBy(const Graph& graph, const Node& node, int operand, const Pattern& pattern, size_t other,
               const char* reason) {
  auto wide = widened(graph, node, pattern, operand);
  if (!wide) return Shift::refused(kNoShape);
  if (constantFor(graph, node, *wide, other)) return Shift::carried({{node.outputs[0], std::move(*wide)}});
  auto rest = withoutAxesOf(graph, node, *wide, other);
  if (!rest) return Shift::refused(reason);
  return Shift::carried({{node.outputs[0], std::move(*rest)}});
}

Shift carriedWide(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  auto wide = widened(graph, node, pattern, operand);
  if (!wide) return Shift::refused(kNoShape);
  return Shift::carried({{node.outputs[0], std::move(*wide)}});
}

// Only for the text of a refusal: read from constants within a few steps, or not.
bool isComputed(const Graph& graph, ValueId id, int steps = 6) {
  if (id == kNoValue) return false;
  const auto& value = graph.value(id);
  if (value.constant != graph::kNone || value.literal) return false;
  if (value.producer == graph::kNone || steps == 0) return true;
  const auto& operands = graph.node(value.producer).operands;
  return operands.empty() || std::any_of(operands.begin(), operands.end(),
                                         [&](ValueId operand) { return isComputed(graph, operand, steps - 1); });
}

const char* varyingScale(const Graph& graph, const Node& node) {
  const bool ofTwo = isComputed(graph, operandAt(node, 0)) && isComputed(graph, operandAt(node, 1));
  if (!ofTwo) return "it scales each channel differently";
  return node.kind == OpKind::Div ? "it is a quotient of two computed values"
                                  : "it is a product of two computed values";
}

bool isWeightOrProduct(const Graph& graph, ValueId value) {
  const auto& made = graph.value(value);
  if (made.producer == graph::kNone) return made.constant != graph::kNone;
  const OpKind kind = graph.node(made.producer).kind;
  return kind == OpKind::Linear || kind == OpKind::Conv || kind == OpKind::AddMatMul || kind == OpKind::MatMul;
}

}  // namespace

ZeroMean identityZeroMean(const Graph&, const Node& node, int, const Pattern& pattern) {
  return ZeroMean::of({{node.operands.at(0), pattern}});
}
Shift identityShift(const Graph&, const Node& node, int operand, const Pattern& pattern) {
  if (operand != 0) return Shift::refused("it reads the shifted values");
  return Shift::carried({{node.outputs[0], pattern}});
}

ZeroMean castZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  const auto from = graph.value(node.operands.at(0)).dtype;
  const auto to = graph.value(node.outputs[0]).dtype;
  if (!graph::castIsExact(from, to)) return ZeroMean::refused("it is a cast that rounds");
  return ZeroMean::of({{node.operands[0], pattern}});
}
Shift castShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const auto from = graph.value(node.operands.at(0)).dtype;
  const auto to = graph.value(node.outputs[0]).dtype;
  if (operand != 0 || !graph::castIsExact(from, to)) return Shift::refused("it is a cast that rounds");
  return Shift::carried({{node.outputs[0], pattern}});
}

ZeroMean additionZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  if (const auto centering = explicitCentering(graph, node); centering && pattern.coversGroupsOf(centering->pattern)) {
    return ZeroMean::proven();
  }
  return allOf(graph, node, pattern, {0, 1});
}
Shift additionShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const auto centering = operand == 0 ? explicitCentering(graph, node) : std::nullopt;
  if (centering && pattern.coversGroupsOf(centering->pattern)) {
    // x and mean(x) have to be shifted together.
    const Node& mean = graph.node(graph.value(node.operands[1]).producer);
    if (reduceShift(graph, mean, 0, pattern).verdict == Shift::Verdict::Absorbed) return Shift::absorbed();
    return Shift::refused("it subtracts a mean that is used elsewhere as well");
  }
  return carriedWide(graph, node, operand, pattern);
}

ZeroMean productZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  for (const size_t data : {size_t{0}, size_t{1}}) {
    const size_t scale = 1 - data;
    if (data == 1 && node.kind == OpKind::Div) break;
    if (!constantFor(graph, node, pattern, scale)) continue;
    auto part = narrowed(graph, node, pattern, operandAt(node, data));
    if (part && part->sumsAnything()) return ZeroMean::of({{node.operands[data], std::move(*part)}});
  }
  return ZeroMean::refused(varyingScale(graph, node));
}
Shift productShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand == 1 && node.kind == OpKind::Div) return Shift::refused("it divides by the shifted values");
  return scaledBy(graph, node, operand, pattern, static_cast<size_t>(1 - operand), varyingScale(graph, node));
}

ZeroMean whereZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  if (!constantFor(graph, node, pattern, 0)) return ZeroMean::refused("its mask differs between channels");
  return allOf(graph, node, pattern, {1, 2});
}
Shift whereShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand == 0) return Shift::refused("the shifted values decide its mask");
  return scaledBy(graph, node, operand, pattern, 0, "its mask differs between channels");
}

ZeroMean maskedFillZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  if (!constantFor(graph, node, pattern, 1)) return ZeroMean::refused("its mask differs between channels");
  return allOf(graph, node, pattern, {0, 2});
}
Shift maskedFillShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand == 1) return Shift::refused("the shifted values decide its mask");
  return scaledBy(graph, node, operand, pattern, 1, "its mask differs between channels");
}

namespace {

// Groups are whole rows: the source's elements are taken row by row.
std::optional<int64_t> rowLength(const Pattern& pattern) {
  const auto& factors = pattern.factors;
  if (factors.empty() || !factors.back().summed || !factors.back().whole()) return std::nullopt;
  const bool others = std::any_of(factors.begin(), factors.end() - 1, [](const Factor& f) { return f.summed; });
  return others ? std::nullopt : std::optional(factors.back().size);
}

// The rows of so many elements that a value consists of.
std::optional<Pattern> rowsOf(const Graph& graph, ValueId value, int64_t length) {
  const Shape* shape = shapeOf(graph, value);
  const auto count = shape == nullptr ? std::nullopt : graph::elementCount(*shape);
  if (!count || *count < length || *count % length != 0) return std::nullopt;
  return Pattern::fromFactors({{*count / length, 0, *count / length, false}, {length, 0, length, true}});
}

}  // namespace

ZeroMean maskedCopyZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  const auto length = rowLength(pattern);
  auto source = length ? rowsOf(graph, node.operands.at(2), *length) : std::nullopt;
  const auto made = length ? rowsOf(graph, node.outputs[0], *length) : std::nullopt;
  if (!source || !made) return ZeroMean::refused("what it writes is not cut into the norm's rows");
  // The mask has to be constant along each row: one that is taken in part would move the source's next ones.
  if (!constantFor(graph, node, *made, 1)) return ZeroMean::refused("its mask differs between channels");
  ZeroMean all = allOf(graph, node, pattern, {0});
  if (all.verdict == ZeroMean::Verdict::Needs) all.needs.push_back({node.operands[2], std::move(*source)});
  return all;
}
Shift maskedCopyShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  constexpr const char* kUnequalMask = "its mask differs between channels";
  if (operand == 0) return scaledBy(graph, node, operand, pattern, 1, kUnequalMask);
  if (operand == 1) return Shift::refused("the shifted values decide its mask");
  const Shape* full = shapeOf(graph, node.outputs[0]);
  if (full == nullptr || full->empty() || full->back() < 1) return Shift::refused(kNoShape);
  const auto source = rowsOf(graph, node.operands.at(2), full->back());
  auto made = rowsOf(graph, node.outputs[0], full->back());
  if (!source || !made || !made->sumsAnything() || !pattern.coversGroupsOf(*source))
    return Shift::refused("what it writes is not cut into the shifted rows");
  if (!constantFor(graph, node, *made, 1)) return Shift::refused(kUnequalMask);
  return Shift::carried({{node.outputs[0], std::move(*made)}});
}

ZeroMean opaqueZeroMean(const Graph&, const Node& node, int, const Pattern&) {
  return ZeroMean::refused(node.kind == OpKind::Elementwise ? "it is not linear"
                                                            : "nothing is known of its output's mean");
}
Shift opaqueShift(const Graph&, const Node&, int, const Pattern&) {
  return Shift::refused("it reads the values themselves");
}

bool makesZeros(const Node& node) {
  return node.kind == OpKind::ShapeQuery && graph::floatAttribute(node, "fill") == 0.0;
}
ZeroMean shapeQueryZeroMean(const Graph&, const Node& node, int, const Pattern&) {
  return makesZeros(node) ? ZeroMean::proven() : ZeroMean::refused("it is made from a shape");
}
Shift shapeQueryShift(const Graph&, const Node&, int, const Pattern&) { return Shift::absorbed(); }

AxisSize ownSize(SizeQuestion&, const Node&, const AxisSize& own) { return own; }

// Returns the size of a new tensor: in the shape of another one, or of sizes that are listed.
AxisSize newSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  if (graph::boolAttribute(node, "like")) return sameSize(sizes, node, own);
  return listsAxis(node, "fixed", own.axis) ? kFixedSize : own;
}

AxisSize sameSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const ValueId x = node.operands[0];
  const bool sameRank = shapeOf(sizes.graph(), x)->size() == shapeOf(sizes.graph(), own.value)->size();
  return sameRank ? sizes.of(x, own.axis) : own;
}

// Returns the size of operands that numpy rules broadcast. One that has the size, and not 1, has it in every run.
AxisSize broadcastSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  using Kind = AxisSize::Kind;
  const Graph& graph = sizes.graph();
  const Shape& shape = *shapeOf(graph, own.value);
  const int64_t size = shape[own.axis];
  const size_t fromLast = shape.size() - own.axis;
  std::vector<std::pair<ValueId, size_t>> sized;
  for (const ValueId operand : node.operands) {
    const Shape* part = shapeOf(graph, operand);
    if (part == nullptr) continue;
    if (part->size() < fromLast) {
      if (size == 1 && !sizes.hasRankOfProbe(operand)) return own;
      continue;
    }
    if ((*part)[part->size() - fromLast] == size) sized.emplace_back(operand, part->size() - fromLast);
  }
  // A residual stream is long: the short ways first.
  std::stable_partition(sized.begin(), sized.end(),
                        [&](const auto& each) { return isWeightOrProduct(graph, each.first); });
  AxisSize found = own;
  bool all = !sized.empty(), mixed = false;
  for (const auto& [operand, axis] : sized) {
    const AxisSize seen = sizes.of(operand, axis);
    if (seen.kind == Kind::Fixed && size > 1) return kFixedSize;
    all = all && seen.kind == Kind::Fixed;
    if (size == 1) continue;
    // If two are free apart from each other, either may be the wider one in another run.
    mixed = mixed || (found != own && seen != found);
    if (found == own || seen.kind == Kind::Torn) found = seen;
  }
  return all ? kFixedSize : mixed && found.kind == Kind::Free ? own : found;
}

}  // namespace normlens::ops
