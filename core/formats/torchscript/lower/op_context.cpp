#include <algorithm>

#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

std::optional<int64_t> normalised(int64_t axis, std::optional<int64_t> rank) {
  if (!rank) return axis >= 0 ? std::optional(axis) : std::nullopt;
  if (axis < 0) axis += *rank;
  if (axis < 0 || axis >= std::max<int64_t>(*rank, 1)) return std::nullopt;
  return axis;
}

std::optional<graph::Shape> shapeIn(const ValueRecord* record) {
  if (record == nullptr || record->kind != ValueRecord::Kind::Tensor) return std::nullopt;
  return record->shape;
}

std::optional<std::vector<int64_t>> intsIn(const c10::IValue& value) {
  if (value.isInt()) return std::vector<int64_t>{value.toInt()};
  if (!value.isList()) return std::nullopt;
  std::vector<int64_t> ints;
  for (const c10::IValue& element : value.toListRef()) {
    if (!element.isInt()) return std::nullopt;
    ints.push_back(element.toInt());
  }
  return ints;
}

std::optional<graph::Attribute> attributeOf(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isDoubleList()) return value.toDoubleVector();
  if (value.isList() && !value.toListRef().empty()) {
    if (auto ints = intsIn(value)) return std::move(*ints);
  }
  return std::nullopt;
}

}  // namespace

OpContext::OpContext(Lowering& lowering, int node, const OpRule* rule, graph::BlockId into)
    : kind(rule == nullptr ? graph::OpKind::Opaque : rule->kind),
      function(rule == nullptr ? graph::Function::Other : rule->function),
      lowering_(lowering),
      node_(node),
      at_(lowering.node(node)),
      schema_(at_.node->maybeSchema()),
      name_(rule == nullptr ? std::string_view() : rule->name.substr(rule->name.find("::") + 2)),
      into_(into),
      used_(at_.inputs.size(), false) {}

int OpContext::find(std::string_view argument) const {
  if (schema_ == nullptr) return -1;
  const auto& arguments = schema_->arguments();
  for (size_t i = 0; i < std::min(arguments.size(), at_.inputs.size()); ++i) {
    if (arguments[i].name() == argument) return static_cast<int>(i);
  }
  // dropout(input, ...) has a variant dropout_(self, ...).
  return argument == "input" ? find("self") : -1;
}

int OpContext::valueOf(std::string_view argument) const {
  const int input = find(argument);
  return input < 0 ? kNone : at_.inputs[static_cast<size_t>(input)];
}

std::optional<c10::IValue> OpContext::literalOf(std::string_view argument) const {
  const int value = valueOf(argument);
  return value == kNone ? std::nullopt : lowering_.literalOf(value);
}

const ValueRecord* OpContext::recordOf(std::string_view argument) const {
  const int value = valueOf(argument);
  return value == kNone ? nullptr : lowering_.recordOf(value);
}

void OpContext::operand(std::string_view argument) {
  const int input = find(argument);
  if (input < 0) {
    operands.push_back({graph::kNoValue, {}});
    return;
  }
  used_[static_cast<size_t>(input)] = true;
  const auto found = lowering_.operandsOf(node_, static_cast<size_t>(input));
  if (found.size() == 1) {
    operands.push_back(found[0]);
  } else {
    // A list where one tensor was expected: nothing is known of such an op.
    kind = graph::OpKind::Opaque;
    operands.insert(operands.end(), found.begin(), found.end());
  }
}

bool OpContext::operandOf(std::initializer_list<std::string_view> arguments) {
  const auto* found = std::ranges::find_if(arguments, [&](std::string_view argument) { return has(argument); });
  if (found == arguments.end()) return false;
  operand(*found);
  return true;
}

Operand OpContext::take(std::string_view argument) {
  const size_t before = operands.size();
  operand(argument);
  const Operand taken = operands.at(before);
  operands.resize(before);
  return taken;
}

Operand OpContext::part(graph::OpKind partKind, std::string op, const std::vector<Operand>& partOperands,
                        graph::Attributes partAttributes, bool firstOutput) {
  if (firstOutput) ++outputsInParts_;
  return lowering_.addPart(node_, into_, {partKind, std::move(op), std::move(partAttributes), firstOutput},
                           partOperands);
}

void OpContext::standsInModuleOf(std::string_view argument) {
  const int value = valueOf(argument);
  if (value != kNone) module_ = lowering_.moduleHolding(value);
}

void OpContext::operandList(std::string_view argument) {
  const int input = find(argument);
  if (input < 0) return;
  used_[static_cast<size_t>(input)] = true;
  const auto found = lowering_.operandsOf(node_, static_cast<size_t>(input));
  operands.insert(operands.end(), found.begin(), found.end());
  if (!lowering_.listSize(at_.inputs[static_cast<size_t>(input)])) kind = graph::OpKind::Opaque;
}

void OpContext::allOperands(bool numbers) {
  for (size_t i = 0; i < at_.inputs.size(); ++i) {
    const auto type = at_.node->input(i)->type();
    const bool number = type->isSubtypeOf(*c10::NumberType::get()) || type->kind() == c10::TypeKind::BoolType ||
                        type->isSubtypeOf(*c10::ListType::ofInts());
    if ((number && !numbers) || used_[i] || lowering_.literalOf(at_.inputs[i])) continue;
    used_[i] = true;
    for (const Operand& found : lowering_.operandsOf(node_, i)) {
      if (found.value != graph::kNoValue) operands.push_back(found);
    }
  }
}

bool OpContext::isNone(std::string_view argument) const {
  const auto literal = literalOf(argument);
  return !has(argument) || (literal && literal->isNone());
}

std::optional<int64_t> OpContext::intOf(std::string_view argument) const {
  const auto literal = literalOf(argument);
  if (!literal || !literal->isInt()) return std::nullopt;
  return literal->toInt();
}

std::optional<double> OpContext::numberOf(std::string_view argument) const {
  const auto literal = literalOf(argument);
  const bool isNumber = literal && (literal->isInt() || literal->isDouble() || literal->isBool());
  return isNumber ? std::optional(literal->toScalar().toDouble()) : std::nullopt;
}

std::optional<bool> OpContext::boolOf(std::string_view argument) const {
  const auto literal = literalOf(argument);
  if (!literal || !literal->isBool()) return std::nullopt;
  return literal->toBool();
}

std::optional<std::string> OpContext::stringOf(std::string_view argument) const {
  const auto literal = literalOf(argument);
  if (!literal || !literal->isString()) return std::nullopt;
  return literal->toStringRef();
}

std::optional<std::vector<int64_t>> OpContext::intsOf(std::string_view argument) const {
  const auto literal = literalOf(argument);
  return literal ? intsIn(*literal) : std::nullopt;
}

std::optional<std::vector<std::optional<int64_t>>> OpContext::knownIntsOf(std::string_view argument) const {
  if (const auto all = intsOf(argument)) return std::vector<std::optional<int64_t>>(all->begin(), all->end());
  const int list = valueOf(argument);
  const auto size = list == kNone || lowering_.changedList(list) != nullptr ? std::nullopt : lowering_.listSize(list);
  const auto& values = lowering_.program().values;
  const int producer = size ? values[static_cast<size_t>(list)].producer : kNone;
  if (producer == kNone || lowering_.node(producer).inputs.size() != *size) return std::nullopt;
  std::vector<std::optional<int64_t>> numbers;
  for (const int element : lowering_.node(producer).inputs) {
    const auto& known = values[static_cast<size_t>(element)].known;
    numbers.push_back(known && known->isInt() ? std::optional(known->toInt()) : std::nullopt);
  }
  return numbers;
}

std::optional<graph::Shape> OpContext::shapeOf(std::string_view argument) const { return shapeIn(recordOf(argument)); }

graph::DType OpContext::dtypeOfInput(std::string_view argument) const {
  const auto* record = recordOf(argument);
  return record == nullptr ? graph::DType::Unknown : record->dtype;
}

std::optional<graph::Shape> OpContext::outputShape(size_t output) const {
  return output < at_.outputs.size() ? shapeIn(lowering_.recordOf(at_.outputs[output])) : std::nullopt;
}

graph::DType OpContext::outputDtype(size_t output) const {
  const auto* record = output < at_.outputs.size() ? lowering_.recordOf(at_.outputs[output]) : nullptr;
  return record == nullptr ? graph::DType::Unknown : record->dtype;
}

std::optional<int64_t> OpContext::rankOf(std::string_view argument) const {
  const auto shape = shapeOf(argument);
  if (!shape) return std::nullopt;
  return static_cast<int64_t>(shape->size());
}

std::optional<int64_t> OpContext::axisOf(std::string_view argument, std::optional<int64_t> rank) const {
  const auto axis = intOf(argument);
  return axis ? normalised(*axis, rank) : std::nullopt;
}

std::optional<std::vector<int64_t>> OpContext::axesOf(std::string_view argument, std::optional<int64_t> rank) const {
  auto axes = intsOf(argument);
  if (!axes) return std::nullopt;
  for (int64_t& axis : *axes) {
    const auto plain = normalised(axis, rank);
    if (!plain) return std::nullopt;
    axis = *plain;
  }
  return axes;
}

std::vector<graph::Value> OpContext::elementsOf(std::string_view argument) const {
  const auto* record = recordOf(argument);
  std::vector<graph::Value> found;
  if (record == nullptr) return found;
  if (const auto* list = lowering_.changedList(valueOf(argument))) {
    for (const auto& element : list->elements) found.push_back(lowering_.described(element.item));
  } else {
    for (const ValueRecord& element : record->elements) {
      found.emplace_back().dtype = element.dtype;
      found.back().shape = shapeIn(&element);
    }
  }
  return found;
}

std::vector<std::optional<graph::Shape>> OpContext::shapesOfList(std::string_view argument) const {
  std::vector<std::optional<graph::Shape>> shapes;
  for (const graph::Value& element : elementsOf(argument)) shapes.push_back(element.shape);
  return shapes;
}

void OpContext::setAxis(std::string_view argument, std::optional<int64_t> rank) {
  setKnown("axis", axisOf(argument, rank));
}

void OpContext::addRemainingLiterals() {
  if (schema_ == nullptr) return;
  const auto& arguments = schema_->arguments();
  for (size_t i = 0; i < std::min(arguments.size(), at_.inputs.size()); ++i) {
    const std::string& name = arguments[i].name();
    if (used_[i] || std::ranges::any_of(attributes, [&](const auto& entry) { return entry.first == name; })) continue;
    const auto literal = lowering_.literalOf(at_.inputs[i]);
    const auto value = literal ? attributeOf(*literal) : std::nullopt;
    if (value) attributes.emplace_back(name, *value);
  }
}

}  // namespace normlens::formats::torchscript
