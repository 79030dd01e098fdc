#include "core/analysis/norms/row_values.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/norm_tail.h"
#include "core/analysis/norms/row_sum.h"
#include "core/analysis/norms/written_nodes.h"
#include "core/ops/axis_size.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Function;
using Symbol = RowPolynomial::Symbol;

namespace {

constexpr size_t kMostTerms = 32;
constexpr int kHighestPower = 8;
constexpr size_t kElement = 0, kMean = 1, kMeanSquare = 2, kGamma = 4, kBeta = 5;

constexpr double kExact = 1e-12;    // Bounds arithmetic in double.
constexpr double kRounding = 4e-6;  // Bounds products with 1/n in float32.

RowLayout repeatedEverywhere(const Shape& shape, bool ofAnySize) {
  RowLayout out;
  for (const int64_t size : shape) out.push_back({size, 0, !ofAnySize && size == 1});
  return out;
}

// Axes of what a Reshape makes that have size 1 for every input: it lists them, or its sizes are written, or joined
// from a written 1 and computed ones.
std::vector<int64_t> onesOf(const graph::Graph& graph, const Node& reshape) {
  std::vector<int64_t> ones = graph::intsAttribute(reshape, "ones").value_or(std::vector<int64_t>{});
  for (const char* name : {"size", "shape"}) {  // aten::view and aten::reshape have one of them.
    const auto written = graph::intsAttribute(reshape, name).value_or(std::vector<int64_t>{});
    for (size_t i = 0; i < written.size(); ++i) {
      if (written[i] == 1) ones.push_back(static_cast<int64_t>(i));
    }
  }
  const Node* sizes = producerOf(graph, graph::operandAt(reshape, 1));
  while (sizes != nullptr && isTypeCast(*sizes)) sizes = producerOf(graph, sizes->operands[0]);
  if (sizes == nullptr || sizes->kind != OpKind::Concat) return ones;
  int64_t at = 0;
  for (const ValueId part : sizes->operands) {
    const Shape* shape = ops::shapeOf(graph, part);
    const auto length = shape == nullptr ? std::nullopt : graph::elementCount(*shape);
    if (!length) return {};
    if (numberOf(graph, part) == 1.0) ones.push_back(at);
    at += *length;
  }
  return ones;
}

// max(v, 0), relu(v) -> v; kNoValue: another function.
ValueId limitedBelow(const graph::Graph& graph, const Node& node) {
  if (node.function == Function::Relu) return node.operands[0];
  if (node.function != Function::Maximum || node.operands.size() != 2) return kNoValue;
  if (numberOf(graph, node.operands[0]) == 0.0) return node.operands[1];
  return numberOf(graph, node.operands[1]) == 0.0 ? node.operands[0] : kNoValue;
}

}  // namespace

RowPolynomial::RowPolynomial(double value) { add({}, value); }

RowPolynomial::RowPolynomial(Symbol symbol) {
  Powers powers{};
  powers.at(static_cast<size_t>(symbol)) = 1;
  add(powers, 1);
}

RowPolynomial RowPolynomial::centered() {
  RowPolynomial out(Symbol::Element);
  out.add({0, 1}, -1);
  return out;
}

RowPolynomial RowPolynomial::variance() {
  RowPolynomial out(Symbol::MeanSquare);
  out.add({0, 2}, -1);
  return out;
}

void RowPolynomial::add(const Powers& powers, double coefficient) {
  const double sum = terms_[powers] += coefficient;
  if (sum == 0) terms_.erase(powers);
}

std::optional<RowPolynomial> RowPolynomial::plus(const RowPolynomial& other, double factor) const {
  RowPolynomial out = *this;
  for (const auto& [powers, coefficient] : other.terms_) out.add(powers, factor * coefficient);
  return out.terms_.size() <= kMostTerms ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<RowPolynomial> RowPolynomial::times(const RowPolynomial& other) const {
  RowPolynomial out;
  for (const auto& [a, first] : terms_) {
    for (const auto& [b, second] : other.terms_) {
      Powers powers{};
      for (size_t i = 0; i < powers.size(); ++i) {
        const int power = a[i] + b[i];
        if (std::abs(power) > kHighestPower) return std::nullopt;
        powers[i] = static_cast<int8_t>(power);
      }
      out.add(powers, first * second);
    }
  }
  return out.terms_.size() <= kMostTerms ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<RowPolynomial> RowPolynomial::inverse() const {
  if (terms_.size() != 1) return std::nullopt;
  Powers powers = terms_.begin()->first;
  for (auto& power : powers) power = static_cast<int8_t>(-power);
  RowPolynomial out;
  out.add(powers, 1 / terms_.begin()->second);
  return out;
}

std::optional<RowPolynomial> RowPolynomial::meanOverRow() const {
  RowPolynomial out;
  for (const auto& [powers, coefficient] : terms_) {
    Powers mean = powers;
    mean[kElement] = 0;
    if (powers[kElement] < 0 || powers[kElement] > 2) return std::nullopt;
    if (powers[kGamma] != 0 || powers[kBeta] != 0) return std::nullopt;
    if (powers[kElement] > 0) ++mean[powers[kElement] == 1 ? kMean : kMeanSquare];
    out.add(mean, coefficient);
  }
  return out;
}

std::optional<double> RowPolynomial::asNumber() const {
  if (terms_.empty()) return 0;
  const bool plain = terms_.size() == 1 && terms_.begin()->first == Powers{};
  return plain ? std::optional(terms_.begin()->second) : std::nullopt;
}

double RowPolynomial::constantTerm() const {
  const auto found = terms_.find(Powers{});
  return found == terms_.end() ? 0 : found->second;
}

bool RowPolynomial::has(Symbol symbol) const {
  const auto at = static_cast<size_t>(symbol);
  return std::ranges::any_of(terms_, [at](const auto& term) { return term.first[at] != 0; });
}

bool RowPolynomial::vanishesWithoutMean() const {
  return std::ranges::all_of(terms_, [](const auto& term) { return term.first[kMean] > 0; });
}

double RowPolynomial::distanceTo(const RowPolynomial& other) const {
  const auto difference = plus(other, -1);
  if (!difference) return INFINITY;
  double largest = 0;
  for (const auto& term : difference->terms_) largest = std::max(largest, std::abs(term.second));
  return largest;
}

Spread RowValue::spread() const {
  const bool byRow = is.has(Symbol::Mean) || is.has(Symbol::MeanSquare) || is.has(Symbol::Scale);
  const bool byPlace = is.has(Symbol::Gamma) || is.has(Symbol::Beta);
  if (is.has(Symbol::Element) || (byRow && byPlace)) return Spread::PerElement;
  return byRow ? Spread::PerRow : byPlace ? Spread::PerPlace : Spread::Uniform;
}

RowValues::RowValues(const graph::Graph& graph, const RowBase& base, NodeId root)
    : graph_(graph), base_(base), root_(root), dtype_(graph.value(base.value).dtype) {
  const Shape& shape = *graph.value(base.value).shape;
  for (const int64_t axis : base.axes) width_ *= shape.at(static_cast<size_t>(axis));
  RowLayout layout = rowsOver(shape, base.axes);
  const Node* made = producerOf(graph, base.value);
  if (made != nullptr && made->kind == OpKind::Reshape) markAlwaysOne(layout, onesOf(graph, *made));
  known_.emplace(base.value, RowValue{RowPolynomial(Symbol::Element), std::move(layout)});
}

const RowValue* RowValues::find(ValueId value) const {
  const auto found = known_.find(value);
  return found == known_.end() ? nullptr : &found->second;
}

bool RowValues::follow(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.outputs.size() != 1) return false;
  const auto& made = graph_.value(node.outputs[0]);
  if (!made.shape || !hasType(made.dtype)) return false;
  auto value = compute(node);
  if (!value || value->layout.size() != made.shape->size()) return false;
  for (size_t i = 0; i < made.shape->size(); ++i) {
    if (value->layout[i].size != (*made.shape)[i]) return false;
  }
  known_.insert_or_assign(node.outputs[0], std::move(*value));
  return true;
}

bool RowValues::hasType(graph::DType dtype) const {
  return base_.throughCasts ? graph::castIsExact(dtype_, dtype) : dtype == dtype_;
}

std::optional<RowValue> RowValues::valueOf(ValueId value) const {
  if (const RowValue* found = find(value)) return *found;
  return uniform(value);
}

std::optional<RowValue> RowValues::uniform(ValueId id) const {
  if (id == kNoValue || !graph_.value(id).opaqueReason.empty()) return std::nullopt;
  const Shape* shape = ops::shapeOf(graph_, id);
  if (shape == nullptr) return std::nullopt;
  const auto numbered = [&](double number, bool ofAnySize) {
    return RowValue{RowPolynomial(number), repeatedEverywhere(*shape, ofAnySize)};
  };
  if (const auto literal = graph_.value(id).literal) return numbered(*literal, false);
  if (const auto same = sameEverywhere(graph_, id)) return numbered(*same, false);
  const Node* node = producerOf(graph_, id);
  if (node == nullptr) return std::nullopt;
  if (node->kind == OpKind::ShapeQuery) {
    const auto fill = graph::floatAttribute(*node, "fill");
    return fill ? std::optional(numbered(*fill, true)) : std::nullopt;
  }
  if (node->kind == OpKind::Expand || node->kind == OpKind::Reshape || node->kind == OpKind::Identity) {
    auto inner = uniform(node->operands[0]);
    const auto number = inner ? inner->is.asNumber() : std::nullopt;
    if (!number) return std::nullopt;
    RowValue out = numbered(*number, true);
    if (node->kind == OpKind::Reshape) markAlwaysOne(out.layout, onesOf(graph_, *node));
    return out;
  }
  const auto counted = node->kind == OpKind::Cast ? count(node->operands[0]) : std::nullopt;
  return counted ? std::optional(numbered(*counted, false)) : std::nullopt;
}

std::optional<RowValue> RowValues::compute(const Node& node) {
  if (node.operands.empty()) return std::nullopt;
  const ValueId limited = limitedBelow(graph_, node);
  const auto first = valueOf(limited != kNoValue ? limited : node.operands[0]);
  switch (node.kind) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
      return binary(node);
    case OpKind::Neg:
    case OpKind::Elementwise: {
      const auto made = first ? function(node, first->is) : std::nullopt;
      return made ? std::optional(RowValue{*made, first->layout}) : std::nullopt;
    }
    case OpKind::Reduce:
    case OpKind::MatMul:
    case OpKind::Linear:
    case OpKind::Einsum:
      return sum(node);
    case OpKind::Identity:
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Expand:
      return first ? view(node, *first) : std::nullopt;
    case OpKind::Cast: {
      // The scale is rounded by who computes it in a wider type.
      const bool exact = graph::castIsExact(graph_.value(node.operands[0]).dtype, graph_.value(node.outputs[0]).dtype);
      const bool scale = first && first->spread() == Spread::PerRow && first->is.has(Symbol::Scale);
      return base_.throughCasts && (exact || scale) ? first : std::nullopt;
    }
    case OpKind::RmsNorm:
      return first ? rmsNorm(node, *first) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<RowValue> RowValues::view(const Node& node, RowValue x) const {
  const Shape& shape = *graph_.value(node.outputs[0]).shape;
  if (node.kind == OpKind::Identity) return x;
  if (node.kind == OpKind::Permute) {
    const auto perm = graph::intsAttribute(node, "perm");
    if (!perm || perm->size() != x.layout.size()) return std::nullopt;
    x.layout = permuted(x.layout, *perm);
    return x;
  }
  if (node.kind == OpKind::Expand) {
    const RowLayout repeats = repeatedEverywhere(shape, true);
    if (x.spread() == Spread::PerElement || x.layout.size() > shape.size()) return std::nullopt;
    RowLayout out = repeats;
    for (size_t i = 0; i < x.layout.size(); ++i) {
      LayoutAxis& axis = out[out.size() - 1 - i];
      const LayoutAxis& own = x.layout[x.layout.size() - 1 - i];
      if (own.size == axis.size && axis.size != 1) axis = own;
    }
    x.layout = std::move(out);
    return x;
  }
  auto layout = reshaped(x.layout, shape, onesOf(graph_, node));
  if (!layout) return std::nullopt;
  x.layout = std::move(*layout);
  return x;
}

// A constant that may be gamma or beta is taken for it; with one number in all places it may be no more than that, too.
std::optional<RowValue> RowValues::binary(const Node& node) {
  if (node.operands.size() != 2 || !ops::plainAlpha(node)) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ValueId constant = node.operands[side];
    const RowValue* other = find(node.operands[1 - side]);
    const auto symbol = other == nullptr || find(constant) != nullptr ? std::nullopt : symbolBeside(node, *other);
    const auto place = symbol ? perPlace(constant, *symbol) : std::nullopt;
    auto made = place ? combined(node, side == 0 ? *place : *other, side == 0 ? *other : *place) : std::nullopt;
    if (!made) continue;
    (symbol == Symbol::Gamma ? gamma_ : beta_) = constant;
    return made;
  }
  const auto a = valueOf(node.operands[0]), b = valueOf(node.operands[1]);
  return a && b ? combined(node, *a, *b) : std::nullopt;
}

// Gamma is a factor of x less its mean, or of what has the scale in it; beta an addend of the latter.
std::optional<Symbol> RowValues::symbolBeside(const Node& node, const RowValue& other) {
  const bool scaled = other.is.has(Symbol::Scale);
  if (node.kind == OpKind::Add || node.kind == OpKind::Sub) return scaled ? std::optional(Symbol::Beta) : std::nullopt;
  const bool multiplies = node.kind == OpKind::Mul && (scaled || isNear(other.is, RowPolynomial::centered()));
  return multiplies ? std::optional(Symbol::Gamma) : std::nullopt;
}

// One number for each place in a row, made of constants. A symbol stands for one constant.
std::optional<RowValue> RowValues::perPlace(ValueId id, Symbol symbol) const {
  const ValueId met = symbol == Symbol::Gamma ? gamma_ : beta_;
  const Shape* shape = id == kNoValue ? nullptr : ops::shapeOf(graph_, id);
  const RowLayout& whole = known_.at(base_.value).layout;
  if (shape == nullptr || shape->size() > whole.size() || graph::elementCount(*shape) == 1) return std::nullopt;
  if ((met != kNoValue && met != id) || !isOfConstants(graph_, id)) return std::nullopt;
  RowLayout layout(shape->size());
  for (size_t i = 0; i < shape->size(); ++i) {
    const LayoutAxis& own = whole[whole.size() - shape->size() + i];
    if ((*shape)[i] == 1) continue;
    if ((*shape)[i] != own.size || own.stride >= width_) return std::nullopt;
    layout[i] = own;
  }
  return RowValue{RowPolynomial(symbol), std::move(layout)};
}

std::optional<RowValue> RowValues::combined(const Node& node, const RowValue& a, const RowValue& b) const {
  auto layout = together({a.layout, a.spread()}, {b.layout, b.spread()}, *graph_.value(node.outputs[0]).shape, width_);
  if (!layout) return std::nullopt;
  std::optional<RowPolynomial> made;
  if (node.kind == OpKind::Add || node.kind == OpKind::Sub) {
    made = a.is.plus(b.is, node.kind == OpKind::Add ? 1 : -1);
  } else if (node.kind == OpKind::Mul) {
    made = a.is.times(b.is);
  } else if (const auto inverse = b.is.inverse()) {
    made = a.is.times(*inverse);
  }
  return made ? std::optional(RowValue{std::move(*made), std::move(*layout)}) : std::nullopt;
}

std::optional<RowValue> RowValues::sum(const Node& node) const {
  const auto sum = rowSum(graph_, node);
  const RowValue* x = sum ? find(sum->data) : nullptr;
  if (x == nullptr) return std::nullopt;
  const auto kept = reduced(x->layout, sum->axes, width_);
  std::optional<RowPolynomial> mean;
  if (!sum->ofSquaredDistance) {
    mean = x->is.meanOverRow();
  } else if (x->is.distanceTo(RowPolynomial(Symbol::Element)) == 0) {
    mean = RowPolynomial::variance();
  }
  const auto made = kept && mean ? mean->times(RowPolynomial(sum->factor)) : std::nullopt;
  const Shape& shape = *graph_.value(node.outputs[0]).shape;
  if (!made || sum->order.size() != shape.size()) return std::nullopt;
  RowLayout layout;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t axis = sum->order[i];
    layout.push_back(axis < 0 ? LayoutAxis{shape[i], 0, shape[i] == 1} : kept->at(static_cast<size_t>(axis)));
  }
  return RowValue{*made, std::move(layout)};
}

// Accepts only what is centered over the same axes.
std::optional<RowValue> RowValues::rmsNorm(const Node& node, const RowValue& x) {
  const auto eps = graph::floatAttribute(node, "eps");
  const bool fits = &node == &graph_.node(root_) && graph::intsAttribute(node, "axes") == base_.axes;
  if (!eps || !fits || !isNear(x.is, RowPolynomial::centered())) return std::nullopt;
  rootFound_ = Root{.eps = *eps};
  gamma_ = graph::operandAt(node, 1);
  auto made = x.is.times(RowPolynomial(Symbol::Scale));
  if (made && gamma_ != kNoValue) made = made->times(RowPolynomial(Symbol::Gamma));
  return made ? std::optional(RowValue{std::move(*made), x.layout}) : std::nullopt;
}

std::optional<RowPolynomial> RowValues::function(const Node& node, const RowPolynomial& x) {
  if (node.kind == OpKind::Neg) return x.times(RowPolynomial(-1));
  if (squareBase(graph_, node) != kNoValue) return x.times(x);
  if (node.function == Function::Reciprocal) return x.inverse();
  const bool mayTakeRoot = &node == &graph_.node(root_);
  const auto exponent =
      node.function == Function::Power && node.operands.size() > 1 ? numberOf(graph_, node.operands[1]) : std::nullopt;
  if (mayTakeRoot && (node.function == Function::InverseSquareRoot || exponent == -0.5)) return inverseRoot(x);
  if (mayTakeRoot && (node.function == Function::SquareRoot || exponent == 0.5)) {
    const auto inverse = inverseRoot(x);
    return inverse ? inverse->inverse() : std::nullopt;
  }
  const bool limited = limitedBelow(graph_, node) != kNoValue && isNear(x, RowPolynomial::variance());
  return limited ? std::optional(x) : std::nullopt;
}

std::optional<RowPolynomial> RowValues::inverseRoot(const RowPolynomial& radicand) {
  const double eps = radicand.constantTerm();
  if (!(eps > 0)) return std::nullopt;
  for (const bool ofMeanSquare : {false, true}) {
    const auto squares = ofMeanSquare ? RowPolynomial(Symbol::MeanSquare) : RowPolynomial::variance();
    if (!isNear(radicand, *squares.plus(RowPolynomial(eps)))) continue;
    rootFound_ = Root{eps, ofMeanSquare};
    return RowPolynomial(Symbol::Scale);
  }
  return std::nullopt;
}

bool RowValues::isNear(const RowPolynomial& value, const RowPolynomial& wanted) {
  const double distance = value.distanceTo(wanted);
  rounded_ = rounded_ || (distance > kExact && distance < kRounding);
  return distance < kRounding;
}

std::optional<double> RowValues::count(ValueId sizes) const {
  const Shape* shape = ops::shapeOf(graph_, sizes);
  const Node* node = producerOf(graph_, sizes);
  bool multiplied = false;
  const auto multiplies = [](const Node& at) { return at.kind == OpKind::Reduce && at.function == Function::Product; };
  while (node != nullptr && (node->kind == OpKind::Cast || isView(*node) || multiplies(*node))) {
    multiplied = multiplied || multiplies(*node);
    node = producerOf(graph_, node->operands[0]);
  }
  const bool single = shape != nullptr && graph::elementCount(*shape) == 1;
  if (node == nullptr || node->kind != OpKind::Gather || !single) return std::nullopt;
  const Node* query = producerOf(graph_, node->operands[0]);
  const auto index = graph::operandAt(*node, 1);
  const bool whole = query != nullptr && query->kind == OpKind::ShapeQuery && query->function == Function::Sizes;
  if (!whole || index == kNoValue || graph_.value(index).constant == kNone) return std::nullopt;
  const auto& held = graph_.constant(graph_.value(index).constant);
  const auto axes = held.volatileReason.empty() ? graph::toDoubles(held.view) : std::nullopt;
  return axes && (multiplied || axes->size() == 1) ? product(*query, *axes) : std::nullopt;
}

// Multiplies the sizes of axes that are those of rows.
std::optional<double> RowValues::product(const Node& query, const std::vector<double>& elements) const {
  const RowValue* value = find(query.operands[0]);
  if (value == nullptr || !value->is.has(Symbol::Element)) return std::nullopt;
  double all = 1;
  for (const double element : elements) {
    const auto axis = ops::axisQueried(query, static_cast<int64_t>(element), value->layout.size());
    if (!axis) return std::nullopt;
    const LayoutAxis& own = value->layout[*axis];
    if (own.size == 1 ? !own.alwaysOne : own.stride >= width_) return std::nullopt;
    all *= static_cast<double>(own.size);
  }
  return all;
}

}  // namespace normlens::analysis
