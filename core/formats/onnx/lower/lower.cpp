#include "core/formats/onnx/lower/lower.h"
#include "core/base/printable.h"

#include <algorithm>

#include "core/formats/onnx/lower/lowering.h"
#include "core/formats/onnx/lower/op_rule.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/graph/debug_check.h"
#include "core/graph/repeated_blocks.h"

namespace normlens::formats::onnx {

using graph::BlockId;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Value;
using graph::ValueId;

namespace {

constexpr int64_t kOldestOpset = 7;
const KnownType kUnknown;
constexpr const char* kOverridable = "it is also an input of the model: a caller may give another value";

// Up to IR 3 every initializer had to be listed among the inputs; where only some are, those are meant as inputs.
bool allAreInputs(const std::unordered_set<std::string>& initialised, const GraphProto& graph) {
  return std::ranges::count_if(graph.input(), [&](const auto& input) { return initialised.contains(input.name()); }) ==
         static_cast<std::ptrdiff_t>(initialised.size());
}

// ONNX Runtime refuses an input of other sizes, but takes anything for one that is declared to have no axes.
std::optional<graph::Shape> declaredSizes(const ::ONNX_NAMESPACE::ValueInfoProto& input) {
  auto dims = typeOf(input.type()).dims;
  return dims && dims->empty() ? std::nullopt : dims;
}

const GraphProto* bodyOf(const NodeProto& node, std::string_view name, const Frame& frame) {
  const AttributeProto* attribute = attributeOf(node, name, frame);
  return attribute != nullptr && attribute->has_g() ? &attribute->g() : nullptr;
}

}  // namespace

const AttributeProto* attributeOf(const NodeProto& node, std::string_view name, const Frame& frame) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    const auto bound = frame.bound.find(attribute.ref_attr_name());
    return bound == frame.bound.end() ? nullptr : bound->second;
  }
  return nullptr;
}

Lowering::Lowering(const OnnxSource& source, KnownTypes types) : source_(source), types_(std::move(types)) {
  for (const FunctionProto& function : source.skeleton->functions())
    functions_.emplace(functionKey(function), &function);
}

Lowered Lowering::run() {
  const GraphProto& main = source_.skeleton->graph();
  Frame frame;
  frame.main = true;
  frame.opsets = opsetsOf(source_.skeleton->opset_import());
  reserve(main, frame);
  std::unordered_set<std::string> initialised;
  Overridable overridable;
  for (const TensorProto& tensor : main.initializer()) initialised.insert(tensor.name());
  for (const auto& sparse : main.sparse_initializer()) initialised.insert(sparse.values().name());
  const bool mustBeInputs = source_.skeleton->ir_version() < 4 && allAreInputs(initialised, main);
  for (const auto& input : main.input()) {
    if (initialised.contains(input.name())) {
      if (!mustBeInputs) overridable.emplace(input.name(), declaredSizes(input));
      continue;
    }
    KnownType type = namedType(frame, input.name());
    Value value = describeOutput(frame, input.name(), type);
    value.declared = declaredSizes(input);
    bind(frame, input.name(), out_.graph.addParam(0, std::move(value)), std::move(type));
  }
  lowerInitializers(main, frame, overridable);
  lowerNodes(main.node(), frame, 0);
  for (const auto& output : main.output()) {
    const ValueId value = find(frame, output.name());
    if (value == kNoValue) continue;
    out_.graph.addReturn(0, value);
    out_.graph.outputNames.push_back(printable(output.name()));
  }
  markHelpers();
  placeUnscoped(out_.graph);
  graph::groupRepeatedBlocks(out_.graph);
  return std::move(out_);
}

void Lowering::reserve(const GraphProto& main, Frame& frame) {
  const auto nodes = static_cast<size_t>(main.node_size());
  const size_t values = nodes + static_cast<size_t>(main.initializer_size() + main.input_size());
  out_.graph.nodes.reserve(nodes);
  out_.graph.values.reserve(values);
  out_.graph.constants.reserve(static_cast<size_t>(main.initializer_size()));
  out_.nodePath.reserve(nodes);
  out_.part.reserve(nodes);
  out_.operandSites.reserve(nodes);
  out_.valuePath.reserve(values);
  valueTypes_.reserve(values);
  // Every name that the main graph makes, before any is made: no other value may be called that.
  auto& names = frame.values;
  names.reserve(values);
  for (const auto& input : main.input()) names[input.name()] = kNoValue;
  for (const TensorProto& tensor : main.initializer()) names[tensor.name()] = kNoValue;
  for (const auto& sparse : main.sparse_initializer()) names[sparse.values().name()] = kNoValue;
  for (const NodeProto& node : main.node()) {
    for (const std::string& output : node.output()) names[output] = kNoValue;
  }
  names.erase("");
  main_ = &frame;
}

ValueId Lowering::find(const Frame& frame, const std::string& name) {
  for (const Frame* at = &frame; at != nullptr; at = at->outer) {
    if (const auto found = at->values.find(name); found != at->values.end()) return found->second;
  }
  return kNoValue;
}

const KnownType& Lowering::typeOf(ValueId value) const {
  return value == kNoValue ? kUnknown : valueTypes_[static_cast<size_t>(value)];
}

const KnownType& Lowering::namedType(const Frame& frame, const std::string& name) const {
  if (types_.empty()) return kUnknown;
  const auto found = frame.prefix.empty() ? types_.find(name) : types_.find(frame.prefix + name);
  return found == types_.end() ? kUnknown : found->second;
}

std::optional<std::vector<int64_t>> Lowering::constantInts(ValueId value) const {
  auto ints = knownInts(value);
  if (ints && std::ranges::find(*ints, kNotStatic) != ints->end()) return std::nullopt;
  return ints;
}

std::optional<std::vector<int64_t>> Lowering::knownInts(ValueId value) const {
  while (value != kNoValue) {
    const Value& at = out_.graph.value(value);
    if (at.constant != kNone) {
      const auto& constant = out_.graph.constant(at.constant);
      return constant.volatileReason.empty() ? intsOf(constant.view) : std::nullopt;
    }
    if (at.producer == kNone) return std::nullopt;
    if (out_.graph.node(at.producer).kind != OpKind::Identity) break;
    value = out_.graph.node(at.producer).operands.at(0);
  }
  return foldedInts(value, 0);
}

std::string Lowering::uniqueName(const std::string& name, const Frame& frame) {
  std::string wanted = printable(name);
  const auto& ofMain = main_->values;
  if (frame.main && wanted == name && ofMain.contains(name)) return wanted;
  const auto take = [&](const std::string& free) {
    return !free.empty() && !ofMain.contains(free) && names_.insert(free).second;
  };
  if (take(wanted)) return wanted;
  const std::string path = printable(frame.prefix) + wanted;
  if (take(path)) return path;
  for (size_t& number = numbers_[path];;) {
    std::string numbered = path + "#" + std::to_string(++number);
    if (take(numbered)) return numbered;
  }
}

void Lowering::noteValue(ValueId value, std::string path, KnownType type) {
  const auto size = static_cast<size_t>(value) + 1;
  out_.valuePath.resize(std::max(out_.valuePath.size(), size));
  valueTypes_.resize(std::max(valueTypes_.size(), size));
  out_.valuePath[static_cast<size_t>(value)] = std::move(path);
  valueTypes_[static_cast<size_t>(value)] = std::move(type);
}

ValueId Lowering::bind(Frame& frame, const std::string& name, ValueId value, KnownType type) {
  noteValue(value, frame.prefix + name, std::move(type));
  frame.values[name] = value;
  return value;
}

ValueId Lowering::literal(double number) {
  const ValueId value = out_.graph.addLiteral(number);
  noteValue(value, {}, {graph::DType::Unknown, graph::Shape{}});
  return value;
}

Value Lowering::describeOutput(const Frame& frame, const std::string& name, const KnownType& type) {
  Value value;
  value.name = uniqueName(name.empty() ? "unused" : name, frame);
  value.dtype = type.dtype;
  value.shape = type.shape();
  return value;
}

ValueId Lowering::addConstant(graph::TensorView view, const std::string& name, const Frame& frame,
                              std::string volatileReason) {
  graph::Constant constant;
  constant.name = uniqueName(name, frame);
  constant.view = std::move(view);
  constant.volatileReason = std::move(volatileReason);
  // A type without bytes of ours (strings, sparse, 4 bits) has a shape but nothing to read.
  if (constant.view.data == nullptr && graph::elementCount(constant.view.shape) != 0)
    constant.view.dtype = graph::DType::Unknown;
  const KnownType type{constant.view.dtype, constant.view.shape};
  const ValueId value = out_.graph.addConstant(std::move(constant));
  const auto id = out_.graph.value(value).constant;
  out_.constantName.resize(out_.graph.constants.size());
  out_.constantName[static_cast<size_t>(id)] = frame.prefix + name;
  noteValue(value, frame.prefix + name, type);
  return value;
}

void Lowering::lowerInitializers(const GraphProto& graph, Frame& frame, const Overridable& overridable) {
  for (const TensorProto& tensor : graph.initializer()) {
    const auto large = frame.main ? source_.weights->find(tensor.name()) : source_.weights->end();
    graph::TensorView view = large != source_.weights->end() ? large->second.view : viewOf(tensor, source_.skeleton);
    const auto input = overridable.find(tensor.name());
    const bool given = input != overridable.end();
    const ValueId made = addConstant(std::move(view), tensor.name(), frame, given ? kOverridable : "");
    if (given) out_.graph.values[static_cast<size_t>(made)].declared = input->second;
    frame.values[tensor.name()] = made;
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    graph::TensorView view;
    view.shape = {sparse.dims().begin(), sparse.dims().end()};
    view.strides = denseStrides(view.shape);
    const std::string& name = sparse.values().name();
    frame.values[name] = addConstant(std::move(view), name, frame, "it is stored as a sparse tensor");
  }
}

Node Lowering::startNode(const NodeProto& node, Frame& frame, BlockId into) {
  Node made;
  const bool plain = isStandardDomain(node.domain()) || isRuntimeDomain(node.domain());
  made.op = printable(plain ? node.op_type() : node.domain() + "::" + node.op_type());
  made.name = printable(node.name());
  for (const Frame* at = &frame; at->caller != nullptr && !made.name.empty(); at = at->caller) {
    if (at->scope == 0 || at->outer != nullptr) continue;
    const std::string call = out_.graph.scope(at->scope).name + "/";
    if (!made.name.starts_with(call)) made.name = call + made.name;  // some exporters write it themselves
  }
  made.scope = scopes_.scopeOf(node, frame.scope, out_.graph).value_or(frame.scope == 0 ? kNone : frame.scope);
  made.block = into;
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() == "pkg.torch.onnx.stack_trace") made.source = entry.value();
  }
  return made;
}

NodeId Lowering::add(Node node, const std::vector<Operand>& operands, std::vector<Output> outputs, Frame& frame,
                     int index, std::string part) {
  std::vector<OperandSite> sites;
  for (const Operand& operand : operands) {
    node.operands.push_back(operand.value);
    sites.push_back({operand.input});
  }
  std::vector<Value> values;
  for (Output& output : outputs) values.push_back(std::move(output.value));
  const NodeId id = out_.graph.addNode(std::move(node), std::move(values));
  sizes_.added(out_.graph.node(id));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId value = out_.graph.node(id).outputs[i];
    if (outputs[i].name == nullptr || outputs[i].name->empty())
      noteValue(value, {}, std::move(outputs[i].type));
    else
      bind(frame, *outputs[i].name, value, std::move(outputs[i].type));
  }
  NodePath path = frame.path;
  path.push_back({index, {}});
  out_.nodePath.push_back(std::move(path));
  out_.part.push_back(std::move(part));
  out_.operandSites.push_back(std::move(sites));
  return id;
}

void Lowering::lowerNodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes, Frame& frame, BlockId into) {
  for (int i = 0; i < nodes.size(); ++i) lowerNode(nodes[i], i, frame, into);
}

void Lowering::lowerNode(const NodeProto& node, int index, Frame& frame, BlockId into) {
  if (lowerCall(node, index, frame, into)) return;
  if (isStandardDomain(node.domain())) {
    if (node.op_type() == "Constant") return lowerConstantNode(node, frame);
    if (node.op_type() == "If" && lowerIf(node, index, frame, into)) return;
    if (node.op_type() == "Loop" && lowerLoop(node, index, frame, into)) return;
    if (node.op_type() == "Scan" && lowerScan(node, index, frame, into)) return;
  }
  // Older operators broadcast by other rules, and nothing can be folded where they are.
  const auto opset = frame.opsets.find("");
  const bool tooOld = isStandardDomain(node.domain()) && opset != frame.opsets.end() && opset->second < kOldestOpset;
  const OpRule* rule = tooOld ? nullptr : findOpRule(node.domain(), node.op_type());
  OpContext op(*this, node, index, frame, into, rule);
  if (rule == nullptr)
    op.allOperands();
  else
    rule->fill(op);
  op.finish();
}

void Lowering::lowerConstantNode(const NodeProto& node, Frame& frame) {
  if (node.output_size() != 1 || node.output(0).empty()) return;
  const std::string& name = node.output(0);
  graph::TensorView view;
  const auto owned = [&](graph::DType dtype, graph::Shape shape, const auto& elements) {
    using T = std::decay_t<decltype(*elements.begin())>;
    auto memory = std::make_shared<std::vector<T>>(elements.begin(), elements.end());
    view.dtype = dtype;
    view.shape = std::move(shape);
    view.strides = denseStrides(view.shape);
    view.data = reinterpret_cast<const std::byte*>(memory->data());
    view.owner = std::move(memory);
  };
  std::string reason;
  if (const auto* value = attributeOf(node, "value", frame); value != nullptr && value->has_t()) {
    view = viewOf(value->t(), source_.skeleton);
  } else if (const auto* number = attributeOf(node, "value_float", frame)) {
    owned(graph::DType::Float32, {}, std::vector<float>{number->f()});
  } else if (const auto* numbers = attributeOf(node, "value_floats", frame)) {
    owned(graph::DType::Float32, {numbers->floats_size()}, numbers->floats());
  } else if (const auto* integer = attributeOf(node, "value_int", frame)) {
    owned(graph::DType::Int64, {}, std::vector<int64_t>{integer->i()});
  } else if (const auto* integers = attributeOf(node, "value_ints", frame)) {
    owned(graph::DType::Int64, {integers->ints_size()},
          std::vector<int64_t>(integers->ints().begin(), integers->ints().end()));
  } else {
    reason = "it is not a dense tensor of numbers";
  }
  frame.values[name] = addConstant(std::move(view), name, frame, reason);
}

// Nodes that compute from shapes and integer constants alone are bookkeeping that views hide.
void Lowering::markHelpers() {
  graph::Graph& graph = out_.graph;
  const auto bookkeeping = [&](ValueId id) {
    if (id == kNoValue) return true;
    const Value& value = graph.value(id);
    const bool number = !graph::isFloat(value.dtype) && value.dtype != graph::DType::Unknown;
    if (value.constant != kNone || value.literal) return number || value.literal.has_value();
    return value.producer != kNone && number && graph.node(value.producer).helper;
  };
  for (Node& node : graph.nodes) {
    if (node.kind == OpKind::ShapeQuery) node.helper = true;
    if (node.helper || node.operands.empty() || !node.blocks.empty()) continue;
    node.helper = std::ranges::all_of(node.operands, bookkeeping) &&
                  std::ranges::any_of(node.operands,
                                      [&](ValueId id) { return id != kNoValue && graph.value(id).producer != kNone; });
  }
}

// ---- bodies and calls: If, Loop, Scan, local functions, and operators with bodies that nothing is known of

void Lowering::captured(const NodeProto& node, const Frame& frame, std::vector<Operand>& into) {
  std::unordered_set<std::string_view> seen;
  const auto capture = [&](const std::string& name) {
    const ValueId value = seen.insert(name).second ? find(frame, name) : kNoValue;
    if (value != kNoValue) into.push_back({value, -1});
  };
  eachBody(node, [&](const GraphProto& body) { eachRead(body, capture); });
}

Frame Lowering::bodyFrame(Frame& outer, int index, const std::string& attribute) {
  Frame frame;
  frame.outer = &outer;
  frame.caller = outer.caller;
  frame.path = outer.path;
  frame.path.push_back({index, attribute});
  frame.prefix = outer.prefix + std::to_string(index) + "/" + attribute + "/";
  frame.scope = outer.scope;
  frame.bound = outer.bound;
  frame.opsets = outer.opsets;
  return frame;
}

void Lowering::lowerBranch(const GraphProto& body, const char* name, int index, Frame& frame, NodeId owner) {
  Frame inner = bodyFrame(frame, index, name);
  const BlockId block = out_.graph.addBlock(owner);
  lowerInitializers(body, inner, {});
  lowerNodes(body.node(), inner, block);
  for (const auto& output : body.output()) {
    ValueId value = find(inner, output.name());
    out_.graph.addReturn(block, value == kNoValue ? literal(0) : value);
  }
}

// A node with bodies. Its outputs have no names yet: a body that reads such a name means an outer value.
NodeId Lowering::addOwner(const NodeProto& node, Node made, const std::vector<Operand>& operands, Frame& frame,
                          int index) {
  std::vector<Output> outputs;
  for (const std::string& name : node.output()) {
    const KnownType type = name.empty() ? KnownType{} : namedType(frame, name);
    outputs.push_back({describeOutput(frame, name, type), type});
  }
  return add(std::move(made), operands, std::move(outputs), frame, index, {});
}

void Lowering::bindOutputs(const NodeProto& node, NodeId id, Frame& frame) {
  for (int i = 0; i < node.output_size(); ++i) {
    const ValueId value = out_.graph.node(id).outputs[static_cast<size_t>(i)];
    if (!node.output(i).empty()) bind(frame, node.output(i), value, typeOf(value));
  }
}

bool Lowering::lowerIf(const NodeProto& node, int index, Frame& frame, BlockId into) {
  const GraphProto* yes = bodyOf(node, "then_branch", frame);
  const GraphProto* no = bodyOf(node, "else_branch", frame);
  if (yes == nullptr || no == nullptr || node.input_size() != 1) return false;
  if (yes->output_size() != node.output_size() || no->output_size() != node.output_size()) return false;
  Node made = startNode(node, frame, into);
  made.kind = OpKind::If;
  const NodeId id = addOwner(node, std::move(made), {{find(frame, node.input(0)), 0}}, frame, index);
  lowerBranch(*yes, "then_branch", index, frame, id);
  lowerBranch(*no, "else_branch", index, frame, id);
  bindOutputs(node, id, frame);
  return true;
}

// A body parameter, under the name that the body gives it.
void Lowering::addParam(const std::string& name, KnownType type, Frame& inner, BlockId block) {
  Value value = describeOutput(inner, name, type);
  bind(inner, name, out_.graph.addParam(block, std::move(value)), std::move(type));
}

// The end of a repeated body: what it returns to the next pass, and what it adds to outputs that grow with each pass
// and of which nothing is known.
void Lowering::endRepeated(const NodeProto& node, const GraphProto& body, Repeated parts, Frame& inner, Frame& frame) {
  const NodeId id = out_.graph.block(parts.block).owner;
  const auto bodyOutput = [&](int i) { return find(inner, body.output(i).name()); };
  for (int i = parts.firstScanned; i < body.output_size(); ++i) {
    Node scan;
    scan.op = node.op_type() + " output";
    scan.name = printable(node.name());
    scan.scope = out_.graph.node(id).scope;
    scan.block = parts.block;
    add(std::move(scan), {{bodyOutput(i), -1}}, {{describeOutput(inner, "", {}), {}}}, frame, parts.index, "scan");
  }
  if (!parts.returnsCondition) out_.graph.addReturn(parts.block, literal(1));
  for (int i = 0; i < parts.firstScanned; ++i) {
    const ValueId value = bodyOutput(i);
    out_.graph.addReturn(parts.block, value == kNoValue ? literal(0) : value);
  }
  bindOutputs(node, id, frame);
}

// Body inputs: iteration, condition, carried...; outputs: condition, carried..., scanned... .
bool Lowering::lowerLoop(const NodeProto& node, int index, Frame& frame, BlockId into) {
  const GraphProto* body = bodyOf(node, "body", frame);
  if (body == nullptr || node.input_size() < 2) return false;
  const int carried = node.input_size() - 2;
  const int scanned = node.output_size() - carried;
  if (body->input_size() != carried + 2 || scanned < 0 || body->output_size() != 1 + carried + scanned) return false;
  Node made = startNode(node, frame, into);
  made.kind = OpKind::Loop;
  std::vector<Operand> operands;
  for (int i = 0; i < node.input_size(); ++i)
    operands.push_back({node.input(i).empty() ? kNoValue : find(frame, node.input(i)), i});
  for (int i = 0; i < carried; ++i) {
    if (operands[static_cast<size_t>(i) + 2].value == kNoValue) return false;
  }
  const NodeId id = addOwner(node, std::move(made), operands, frame, index);
  Frame inner = bodyFrame(frame, index, "body");
  const BlockId block = out_.graph.addBlock(id);
  for (int i = 0; i < body->input_size(); ++i) {
    const std::string& name = body->input(i).name();
    if (i == 1) {  // the body only runs where the condition holds
      inner.values[name] = literal(1);
      continue;
    }
    addParam(name, namedType(inner, name), inner, block);
  }
  lowerInitializers(*body, inner, {});
  lowerNodes(body->node(), inner, block);
  endRepeated(node, *body, {block, index, 1 + carried, true}, inner, frame);
  return true;
}

// Reads one slice of a scan input, as a lookup by the number of the pass.
void Lowering::addSlice(const std::string& name, Operand whole, int64_t axis, ValueId pass, Frame& inner, Frame& frame,
                        NodeId scan, BlockId block, int index) {
  KnownType type = namedType(inner, name);
  const auto& around = typeOf(whole.value).dims;
  if (!type.dims && around) {
    const auto rank = static_cast<int64_t>(around->size());
    if (axis < 0) axis += rank;
    type = typeOf(whole.value);
    if (axis >= 0 && axis < rank) type.dims->erase(type.dims->begin() + axis);
  }
  Node slice;
  slice.kind = OpKind::Gather;
  slice.op = "Scan input";
  slice.name = printable(out_.graph.node(scan).name);
  slice.scope = out_.graph.node(scan).scope;
  slice.block = block;
  slice.attributes.emplace_back("axis", axis);
  const NodeId id = add(std::move(slice), {whole, {pass, -1}}, {{describeOutput(inner, name, type), type}}, frame,
                        index, "input " + std::to_string(whole.input));
  bind(inner, name, out_.graph.node(id).outputs.front(), std::move(type));
}

// Since opset 9. Inputs: carried..., scanned over...; body inputs: carried..., one slice of each; outputs: carried...,
// scanned... .
bool Lowering::lowerScan(const NodeProto& node, int index, Frame& frame, BlockId into) {
  const GraphProto* body = bodyOf(node, "body", frame);
  const AttributeProto* count = attributeOf(node, "num_scan_inputs", frame);
  if (body == nullptr || count == nullptr || count->i() < 1 || count->i() > node.input_size()) return false;
  const int carried = node.input_size() - static_cast<int>(count->i());
  if (body->input_size() != node.input_size() || body->output_size() != node.output_size()) return false;
  if (node.output_size() < carried) return false;
  std::vector<Operand> inputs;
  for (int i = 0; i < node.input_size(); ++i) {
    inputs.push_back({find(frame, node.input(i)), i});
    if (inputs.back().value == kNoValue) return false;
  }
  Node made = startNode(node, frame, into);
  made.kind = OpKind::Loop;
  std::vector<Operand> operands{{literal(1), -1}, {literal(1), -1}};  // how often: the length of what is scanned over
  operands.insert(operands.end(), inputs.begin(), inputs.begin() + carried);
  const NodeId id = addOwner(node, std::move(made), operands, frame, index);
  Frame inner = bodyFrame(frame, index, "body");
  const BlockId block = out_.graph.addBlock(id);
  const KnownType passType{graph::DType::Int64, graph::Shape{}};
  const ValueId pass = out_.graph.addParam(block, describeOutput(inner, "", passType));
  noteValue(pass, {}, passType);
  for (int i = 0; i < carried; ++i)
    addParam(body->input(i).name(), namedType(inner, body->input(i).name()), inner, block);
  const AttributeProto* axes = attributeOf(node, "scan_input_axes", frame);
  for (int i = carried; i < node.input_size(); ++i) {
    const bool given = axes != nullptr && i - carried < axes->ints_size();
    addSlice(body->input(i).name(), inputs[static_cast<size_t>(i)], given ? axes->ints(i - carried) : 0, pass, inner,
             frame, id, block, index);
  }
  lowerInitializers(*body, inner, {});
  lowerNodes(body->node(), inner, block);
  endRepeated(node, *body, {block, index, carried, false}, inner, frame);
  return true;
}

bool Lowering::lowerCall(const NodeProto& node, int index, Frame& frame, BlockId into) {
  if (functions_.empty()) return false;
  const auto found = functions_.find(functionKey(node));
  if (found == functions_.end() || isRuntimeOp(node, frame.opsets)) return false;
  const FunctionProto& function = *found->second;
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) return false;
  Frame inner;
  inner.caller = &frame;
  inner.path = frame.path;
  inner.path.push_back({index, {}});
  inner.prefix = frame.prefix + std::to_string(index) + "//";
  inner.opsets = opsetsOf(function.opset_import());
  for (const std::string& name : function.attribute()) {
    if (const AttributeProto* given = attributeOf(node, name, frame)) inner.bound[name] = given;
  }
  for (const AttributeProto& usual : function.attribute_proto()) {
    const AttributeProto* given = attributeOf(node, usual.name(), frame);
    inner.bound[usual.name()] = given != nullptr ? given : &usual;
  }
  for (int i = 0; i < function.input_size(); ++i) {
    const bool given = i < node.input_size() && !node.input(i).empty();
    inner.values[function.input(i)] = given ? find(frame, node.input(i)) : kNoValue;
  }
  const graph::ScopeId around = scopes_.scopeOf(node, frame.scope, out_.graph).value_or(frame.scope);
  const std::string name = node.name().empty() ? function.name() + "_" + std::to_string(index) : node.name();
  inner.scope = scopes_.child(around,
                              {printable(name.substr(name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1)),
                               printable(function.name())},
                              out_.graph);
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty())
      types_.try_emplace(inner.prefix + function.output(i), namedType(frame, node.output(i)));
  }
  lowerNodes(function.node(), inner, into);
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const ValueId value = find(inner, function.output(i));
    frame.values[node.output(i)] = value;
    if (value == kNoValue) continue;
    // The caller's name is the one by which a run shows it.
    std::string& path = out_.valuePath[static_cast<size_t>(value)];
    if (path == inner.prefix + function.output(i)) path = frame.prefix + node.output(i);
  }
  return true;
}

Lowered lowerModel(const OnnxSource& source, const ProbeShapes* shapes, Inference inference) {
  Lowered lowered = Lowering(source, knownTypes(source, shapes, inference)).run();
  graph::requireSound(lowered.graph, "the reader of ONNX");
  return lowered;
}

}  // namespace normlens::formats::onnx
