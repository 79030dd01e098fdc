// Bodies and calls: If, Loop, local functions, and operators with bodies that nothing is known of.
#include <algorithm>

#include "core/base/printable.h"
#include "core/formats/onnx/lower/lowering.h"
#include "core/formats/onnx/lower/op_rule.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"

namespace normlens::formats::onnx {

using graph::BlockId;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Value;
using graph::ValueId;

namespace {

const GraphProto* bodyOf(const NodeProto& node, std::string_view name, const Frame& frame) {
  const AttributeProto* attribute = attributeOf(node, name, frame);
  return attribute != nullptr && attribute->has_g() ? &attribute->g() : nullptr;
}

}  // namespace

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

}  // namespace normlens::formats::onnx
