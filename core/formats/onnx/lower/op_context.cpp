#include <algorithm>
#include <unordered_map>

#include "core/formats/onnx/lower/op_rule.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {

using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::Shape;

namespace {

struct Tables {
  std::unordered_map<std::string_view, const OpRule*> standard, runtime;
};

Tables joinRules() {
  Tables tables;
  for (const auto* family : {&shapeRules(), &arithmeticRules(), &normRules()}) {
    for (const OpRule& rule : *family) {
      if (rule.domain != Domain::Runtime) tables.standard.emplace(rule.name, &rule);
      if (rule.domain != Domain::Standard) tables.runtime.emplace(rule.name, &rule);
    }
  }
  return tables;
}

}  // namespace

const OpRule* findOpRule(const std::string& domain, const std::string& name) {
  static const Tables kTables = joinRules();
  if (!isStandardDomain(domain) && domain != "com.microsoft") return nullptr;
  const auto& table = isStandardDomain(domain) ? kTables.standard : kTables.runtime;
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

OpContext::OpContext(Lowering& lowering, const NodeProto& node, int index, Frame& frame, graph::BlockId into,
                     const OpRule* rule)
    : kind(rule == nullptr ? OpKind::Opaque : rule->kind),
      function(rule == nullptr ? graph::Function::Other : rule->function),
      lowering_(lowering),
      node_(node),
      index_(index),
      frame_(frame),
      into_(into),
      taken_(static_cast<size_t>(node.output_size()), false) {}

int64_t OpContext::version() const {
  const auto found = frame_.opsets.find(isStandardDomain(node_.domain()) ? "" : node_.domain());
  return found == frame_.opsets.end() ? 1 : found->second;
}

bool OpContext::has(int input) const {
  return input < node_.input_size() && !node_.input(input).empty() &&
         Lowering::find(frame_, node_.input(input)) != kNoValue;
}

bool OpContext::hasOutput(int output) const {
  return output >= 0 && output < node_.output_size() && !node_.output(output).empty();
}

Operand OpContext::in(int input) const {
  if (input < 0 || input >= node_.input_size() || node_.input(input).empty()) return {kNoValue, -1};
  return {Lowering::find(frame_, node_.input(input)), input};
}

void OpContext::allOperands() {
  for (int i = 0; i < node_.input_size(); ++i) operand(i);
  Lowering::captured(node_, frame_, operands);
}

void OpContext::computed(int input) {
  if (has(input) && !isConstant(input)) operand(input);
}

bool OpContext::isConstant(int input) const {
  const auto value = in(input).value;
  return value != kNoValue && lowering_.graph().value(value).constant != graph::kNone;
}

std::optional<std::vector<int64_t>> OpContext::constantInts(int input) const {
  return lowering_.constantInts(in(input).value);
}

bool OpContext::isComputed(int input) const {
  const auto& graph = lowering_.graph();
  auto value = in(input).value;
  while (value != kNoValue && graph.value(value).producer != graph::kNone) {
    const auto& node = graph.node(graph.value(value).producer);
    const bool copies = node.kind == graph::OpKind::Identity || node.kind == graph::OpKind::Reshape ||
                        node.kind == graph::OpKind::Permute || node.kind == graph::OpKind::Cast;
    if (!copies) return true;
    value = node.operands[0];
  }
  return false;
}

Operand OpContext::maskOfPositions(int input) const {
  const auto& graph = lowering_.graph();
  const auto producer = [&](graph::ValueId value) -> const Node* {
    const bool made = value != kNoValue && graph.value(value).producer != graph::kNone;
    return made ? &graph.node(graph.value(value).producer) : nullptr;
  };
  const Node* turned = producer(in(input).value);
  if (turned == nullptr || graph::intsAttribute(*turned, "perm") != std::vector<int64_t>{1, 0}) return {kNoValue, -1};
  const Node* positions = producer(turned->operands[0]);
  return {positions == nullptr || positions->op != "NonZero" ? kNoValue : graph::operandAt(*positions, 0), -1};
}

std::optional<std::vector<std::optional<int64_t>>> OpContext::knownInts(int input) const {
  const auto ints = lowering_.knownInts(in(input).value);
  if (!ints) return std::nullopt;
  std::vector<std::optional<int64_t>> known;
  for (const int64_t number : *ints) {
    known.push_back(number == Lowering::kNotStatic ? std::nullopt : std::optional(number));
  }
  return known;
}

std::optional<std::vector<double>> OpContext::constantNumbers(int input) const {
  const auto value = in(input).value;
  if (value == kNoValue || lowering_.graph().value(value).constant == graph::kNone) return std::nullopt;
  const auto& constant = lowering_.graph().constant(lowering_.graph().value(value).constant);
  constexpr int64_t kSmall = 4096;
  if (!constant.volatileReason.empty() || graph::elementCount(constant.view.shape).value_or(kSmall + 1) > kSmall)
    return std::nullopt;
  return graph::toDoubles(constant.view);
}

std::optional<double> OpContext::constantNumber(int input) const {
  const auto numbers = constantNumbers(input);
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

bool OpContext::hasAttribute(std::string_view name) const { return attributeOf(node_, name, frame_) != nullptr; }

int64_t OpContext::intOf(std::string_view name, int64_t otherwise) const {
  const AttributeProto* attribute = attributeOf(node_, name, frame_);
  return attribute != nullptr && attribute->has_i() ? attribute->i() : otherwise;
}

double OpContext::floatOf(std::string_view name, double otherwise) const {
  const AttributeProto* attribute = attributeOf(node_, name, frame_);
  return attribute != nullptr && attribute->has_f() ? static_cast<double>(attribute->f()) : otherwise;
}

std::optional<double> OpContext::numberOf(std::string_view name) const {
  const AttributeProto* attribute = attributeOf(node_, name, frame_);
  if (attribute == nullptr || !attribute->has_t() || !checkTensor(attribute->t())) return std::nullopt;
  const auto view = viewOf(attribute->t(), nullptr);
  if (view.data == nullptr || graph::elementCount(view.shape) != 1) return std::nullopt;
  const auto numbers = graph::toDoubles(view);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

std::string OpContext::stringOf(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* attribute = attributeOf(node_, name, frame_);
  return attribute != nullptr && attribute->has_s() ? attribute->s() : std::string(otherwise);
}

std::optional<std::vector<int64_t>> OpContext::intsOf(std::string_view name) const {
  const AttributeProto* attribute = attributeOf(node_, name, frame_);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<int64_t>> OpContext::intsOf(std::string_view name, int input) const {
  if (has(input)) return constantInts(input);
  return intsOf(name);
}

const KnownType& OpContext::type(const Operand& operand) const { return lowering_.typeOf(operand.value); }

KnownType OpContext::outputTypeAt(int output) const {
  return hasOutput(output) ? lowering_.namedType(frame_, node_.output(output)) : KnownType{};
}

std::optional<int64_t> OpContext::normalised(int64_t axis, std::optional<int64_t> rank) {
  if (axis < 0 && !rank) return std::nullopt;
  const int64_t at = axis < 0 ? axis + *rank : axis;
  if (at < 0 || (rank && at >= *rank)) return std::nullopt;
  return at;
}

void OpContext::setAxis(int64_t axis, std::optional<int64_t> rank) {
  if (const auto at = normalised(axis, rank))
    set("axis", *at);
  else if (rank)
    opaque();  // no such axis
}

void OpContext::setAxes(const std::vector<int64_t>& axes, std::optional<int64_t> rank) {
  if (axes.size() > static_cast<size_t>(kMostAxes)) return opaque();
  std::vector<int64_t> all;
  for (const int64_t axis : axes) {
    const auto at = normalised(axis, rank);
    if (!at || std::ranges::find(all, *at) != all.end()) {
      if (rank) opaque();
      return;
    }
    all.push_back(*at);
  }
  std::ranges::sort(all);
  set("axes", std::move(all));
}

namespace {

// The rank of what a node makes of an operand of this rank; nullopt: any.
std::optional<int64_t> rankMade(const Node& node, int64_t rank) {
  switch (node.kind) {
    case OpKind::Identity:
    case OpKind::Cast:
    case OpKind::Neg:
    case OpKind::Permute:
    case OpKind::Slice:
    case OpKind::Split:
    case OpKind::Concat:
    case OpKind::Roll:
    case OpKind::Pad:
    case OpKind::Mix:
    case OpKind::Conv:
    case OpKind::LayerNorm:
    case OpKind::GroupNorm:
    case OpKind::InstanceNorm:
    case OpKind::BatchNorm:
    case OpKind::RmsNorm:
    case OpKind::Softmax:
      return rank;
    case OpKind::Select:
      return rank - 1;
    case OpKind::Reduce: {
      const auto axes = graph::intsAttribute(node, "axes");
      if (graph::boolAttribute(node, "keepdim")) return rank;
      return axes ? std::optional(rank - static_cast<int64_t>(axes->size())) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// Without a run, shapes are what the file claims: one of a rank that the node cannot make of its first operand is taken
// away, so that the analysis may index it.
void dropStrayRank(const Node& node, const KnownType& operand, KnownType& made) {
  const auto rank = operand.dims ? rankMade(node, *operand.rank()) : std::nullopt;
  if (rank && made.dims && made.rank() != rank) made.dims.reset();
}

// Every operator that is understood computes from its first input; a file may leave it out.
OpKind kindWith(OpKind kind, const std::vector<Operand>& operands) {
  return !operands.empty() && operands.front().value == kNoValue ? OpKind::Opaque : kind;
}

}  // namespace

Operand OpContext::part(std::string name, OpKind partKind, std::string_view op, std::vector<Operand> of,
                        graph::Attributes with, KnownType made, int output) {
  Node node = lowering_.startNode(node_, frame_, into_);
  node.kind = kindWith(partKind, of);
  node.op = op;
  if (const OpRule* rule = findOpRule({}, node.op)) node.function = rule->function;
  node.attributes = std::move(with);
  const std::string* outputName = nullptr;
  if (hasOutput(output)) {
    outputName = &node_.output(output);
    taken_[static_cast<size_t>(output)] = true;
    if (KnownType known = outputTypeAt(output); known.shape() || !made.dims) made = std::move(known);
    if (!of.empty()) dropStrayRank(node, type(of[0]), made);
  } else {
    node.attributes.emplace_back("inside", true);
  }
  auto value = lowering_.describeOutput(frame_, outputName == nullptr ? node_.name() + "." + name : *outputName, made);
  const auto id = lowering_.add(std::move(node), of, {{std::move(value), std::move(made), outputName}}, frame_, index_,
                                std::move(name));
  return {lowering_.graph().node(id).outputs[0], -1};
}

Operand OpContext::addPart(std::string name, const Operand& a, const Operand& b, int output) {
  KnownType made{type(a).dtype, broadcast(type(a).dims, type(b).dims)};
  return part(std::move(name), OpKind::Add, "Add", {a, b}, {}, std::move(made), output);
}

void OpContext::finish() {
  markOnes();
  Node node = lowering_.startNode(node_, frame_, into_);
  node.kind = kindWith(kind, operands);
  node.function = function;
  node.attributes = std::move(attributes);
  if (outputs.empty()) {
    for (int i = 0; i < node_.output_size(); ++i) {
      if (!taken_[static_cast<size_t>(i)]) outputs.push_back(i);
    }
  }
  while (outputs.size() > 1 && !hasOutput(outputs.back())) outputs.pop_back();
  if (outputs.empty()) outputs.push_back(-1);  // every node makes something
  std::vector<Output> made;
  for (const int output : outputs) {
    KnownType known = outputTypeAt(output);
    if (made.empty()) {
      if (!known.shape() && outputType.shape()) known.dims = outputType.dims;
      if (known.dtype == graph::DType::Unknown) known.dtype = outputType.dtype;
    }
    if (!operands.empty() && (made.empty() || node.kind == OpKind::Split))
      dropStrayRank(node, type(operands[0]), known);
    const std::string* name = hasOutput(output) ? &node_.output(output) : nullptr;
    auto value = lowering_.describeOutput(frame_, name == nullptr ? std::string() : *name, known);
    made.push_back({std::move(value), std::move(known), name});
  }
  lowering_.add(std::move(node), operands, std::move(made), frame_, index_, {});
}

std::optional<Shape> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::nullopt;
  Shape out(std::max(a->size(), b->size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t left = i < a->size() ? (*a)[a->size() - 1 - i] : 1;
    const int64_t right = i < b->size() ? (*b)[b->size() - 1 - i] : 1;
    int64_t& size = out[out.size() - 1 - i];
    if (left == right || right == 1)
      size = left;
    else if (left == 1)
      size = right;
    else if (left == -1 || right == -1)
      size = std::max(left, right) > 1 ? std::max(left, right) : -1;
    else
      return std::nullopt;
  }
  return out;
}

}  // namespace normlens::formats::onnx
