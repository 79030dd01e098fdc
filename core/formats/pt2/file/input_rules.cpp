#include "core/formats/pt2/file/input_rules.h"

#include <algorithm>
#include <set>

#include "core/base/printable.h"

namespace normlens::formats::pt2 {
namespace {

constexpr const char* kExportDynamic = "export it with dynamic_shapes for other sizes";

std::string axisOf(const UserInput& input, size_t axis) {
  return "axis " + std::to_string(axis) + " of the model's input '" + input.name + "'";
}

std::string rangeInWords(const SymRange& range) {
  return range.high == INT64_MAX ? "at least " + std::to_string(range.low)
                                 : std::to_string(range.low) + " to " + std::to_string(range.high);
}

Status wrong(const std::string& what) { return fail(ErrorCode::BadInput, what, kExportDynamic); }

// The dims of all tensors, those that are one symbol first: they give the symbols their values.
struct Dim {
  size_t input, axis;
  const SymSize* size;
};
std::vector<Dim> dimsOf(const std::vector<UserInput>& inputs) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t axis = 0; axis < inputs[i].meta.sizes.size(); ++axis)
      dims.push_back({i, axis, &inputs[i].meta.sizes[axis]});
  }
  std::stable_partition(dims.begin(), dims.end(),
                        [](const Dim& dim) { return dim.size->expr.kind == SymExpr::Kind::Symbol; });
  return dims;
}

}  // namespace

SymRange InputRules::rangeOf(const std::string& text) const {
  const auto found = ranges_.find(text);
  return found == ranges_.end() ? SymRange{} : found->second;
}

std::string InputRules::inWords() const {
  std::string varying;
  for (const Dim& dim : dimsOf(inputs_)) {
    if (dim.size->isFixed()) continue;
    const std::string name = textOf(dim.size->expr);
    varying += (varying.empty() ? "" : ", ") + axisOf(inputs_[dim.input], dim.axis) + " (" + name;
    if (ranges_.contains(name)) varying += ": " + rangeInWords(rangeOf(name));
    varying += ')';
  }
  return varying.empty() ? "It was exported for the sizes of its example only. All results hold for these sizes."
                         : "Dynamic sizes, also in the folded model: " + printable(varying) + ".";
}

Status InputRules::checkRange(const SymExpr& expr, int64_t value, const std::string& where) const {
  const SymRange range = rangeOf(textOf(expr));
  if (value >= range.low && value <= range.high) return {};
  return wrong(where + " is " + std::to_string(value) + ", but the file was exported for " + rangeInWords(range));
}

Status InputRules::check(const std::vector<GivenInput>& given) const {
  if (given.size() != inputs_.size()) return wrong("the model takes " + std::to_string(inputs_.size()) + " inputs");
  SymValues symbols;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const UserInput& input = inputs_[i];
    if (input.kind == UserInput::Kind::Int && given[i].number) {
      static_cast<void>(solveFor(input.number.expr, *given[i].number, symbols));
    }
    if (input.kind != UserInput::Kind::Tensor) continue;
    const bool floats = graph::isFloat(input.meta.dtype) && graph::isFloat(given[i].dtype);
    if (!floats && given[i].dtype != input.meta.dtype)
      return fail(ErrorCode::BadInput,
                  "the model's input '" + input.name + "' is " + std::string(graph::dtypeName(given[i].dtype)) +
                      ", but the file was exported for " + std::string(graph::dtypeName(input.meta.dtype)),
                  "give it in that type");
    if (given[i].shape.size() != input.meta.sizes.size())
      return wrong("the model's input '" + input.name + "' has " + std::to_string(given[i].shape.size()) +
                   " axes, but the file was exported for " + std::to_string(input.meta.sizes.size()));
  }
  for (const Dim& dim : dimsOf(inputs_)) {
    const int64_t size = given[dim.input].shape[dim.axis];
    const SymExpr& expr = dim.size->expr;
    const std::string where = axisOf(inputs_[dim.input], dim.axis);
    auto wanted = valueOf(expr, symbols);
    if (!wanted && solveFor(expr, size, symbols)) wanted = size;
    if (wanted && *wanted != size)
      return wrong(where + " is " + std::to_string(size) + ", but the file was exported for " +
                   (dim.size->isFixed() ? std::to_string(*wanted) + " alone"
                                        : std::to_string(*wanted) + " there, by the other sizes"));
    if (!wanted && expr.kind == SymExpr::Kind::Call)
      return wrong(where + " is " + std::to_string(size) + ", but the file was exported for " + textOf(expr));
    RETURN_IF_ERROR(checkRange(expr, size, where));
  }
  for (const auto& [symbol, value] : symbols) {
    RETURN_IF_ERROR(checkRange({SymExpr::Kind::Symbol, 0, symbol, {}}, value, "the size " + symbol));
  }
  for (const Assertion& assertion : assertions_) {
    if (valueOf(assertion.condition, symbols) == 0)
      return wrong("the file asserts otherwise of these sizes: " + printable(assertion.message));
  }
  return {};
}

SymValues InputRules::exampleSymbols() const {
  SymValues symbols;
  for (const Dim& dim : dimsOf(inputs_)) {
    if (dim.size->example >= 0) static_cast<void>(solveFor(dim.size->expr, dim.size->example, symbols));
  }
  return symbols;
}

std::map<std::string, std::string> InputRules::twins() const {
  std::map<std::pair<size_t, int64_t>, Dim> firsts;  // by axis and size in the example
  std::map<std::string, std::string> twins;
  for (const Dim& dim : dimsOf(inputs_)) {
    if (dim.size->expr.kind != SymExpr::Kind::Symbol || dim.size->example < 0) continue;
    const Dim& first = firsts.try_emplace({dim.axis, dim.size->example}, dim).first->second;
    const std::string &name = dim.size->expr.name, &other = first.size->expr.name;
    if (dim.input != first.input && name != other) twins.emplace(name, other);
  }
  return twins;
}

SymValues InputRules::distinctSymbols() const {
  SymValues symbols = exampleSymbols();
  const auto twins = this->twins();
  std::set<int64_t> taken;
  for (auto& [symbol, value] : symbols) {
    if (twins.contains(symbol)) continue;
    const SymRange range = rangeOf(symbol);
    const int64_t example = value;
    constexpr int64_t kFurthest = 8;
    for (int64_t step = 0; step <= 2 * kFurthest; ++step) {  // +1, -1, +2, -2 ...
      const int64_t other = example + (step % 2 == 1 ? (step + 1) / 2 : -step / 2);
      if (other < std::max<int64_t>(2, range.low) || other > range.high || taken.contains(other)) continue;
      value = other;
      break;
    }
    taken.insert(value);
  }
  for (const auto& [symbol, first] : twins) {
    const SymRange range = rangeOf(symbol);
    const auto wanted = symbols.find(first);
    if (wanted != symbols.end() && wanted->second >= range.low && wanted->second <= range.high)
      symbols[symbol] = wanted->second;
  }
  return symbols;
}

std::optional<std::vector<graph::Shape>> InputRules::shapesFor(const SymValues& symbols) const {
  std::vector<graph::Shape> shapes;
  for (const UserInput& input : inputs_) {
    graph::Shape& shape = shapes.emplace_back();
    for (const SymSize& size : input.meta.sizes) {
      const auto value = valueOf(size.expr, symbols);
      if (!value || *value < 0) return std::nullopt;
      shape.push_back(*value);
    }
  }
  return shapes;
}

}  // namespace normlens::formats::pt2
