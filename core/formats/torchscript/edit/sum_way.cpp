#include "core/formats/torchscript/edit/sum_way.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <iterator>

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
namespace prim = c10::prim;
using torch::jit::Node;
using torch::jit::Value;

bool isOne(const Value* alpha) {
  const auto value = torch::jit::toIValue(alpha);
  return value && value->isScalar() && value->toScalar().toDouble() == 1.0;
}

bool isTensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

bool isPlainAdd(const Node& node) {
  return node.kind() == aten::add && node.inputs().size() == 3 && isTensor(node.input(0)) && isTensor(node.input(1)) &&
         isOne(node.input(2));
}

// Returns its input, whatever mode the module is in.
bool isIdentity(const Node& node) {
  if (node.kind() != aten::dropout && node.kind() != aten::feature_dropout) return false;
  const auto train = torch::jit::toIValue(node.input(2));
  return train && train->isBool() && !train->toBool();
}

bool isView(const Node& node) {
  return node.kind() == aten::flatten || ((node.kind() == aten::view || node.kind() == aten::reshape) &&
                                          node.input(1)->type()->isSubtypeOf(*c10::ListType::ofInts()));
}

}  // namespace

struct SumTracer::Origin {
  std::vector<BodyOnWay> made;       // from the add's body to the callee that returns the sum
  BodyOnWay body;                    // the one to trace from; its `to` is open
  const Value* parameter = nullptr;  // of that body; nullptr: the add was found
  std::vector<int> passed;
};

bool isPlainCall(const Frame& body) {
  return body.call != nullptr && (body.call->kind() == prim::CallMethod || body.call->kind() == prim::CallFunction);
}

bool mayRename(const Frame& body) {
  return isPlainCall(body) && body.call->input(0)->type()->kind() != c10::TypeKind::InterfaceType;
}

OperandSite argumentFor(const Frame& body, const Value& parameter) {
  const int shift = body.call->kind() == prim::CallFunction ? 1 : 0;
  return {body.parent, body.call, static_cast<int>(parameter.offset()) + shift};
}

SumTracer::SumTracer(const LoweredModel& model) : model_(model) {
  const auto& program = model.program;
  for (size_t n = 0; n < program.nodes.size(); ++n) {
    nodes_[{program.nodes[n].frame, program.nodes[n].node}] = static_cast<int>(n);
  }
  for (size_t f = 1; f < program.frames.size(); ++f) {
    const Frame& frame = program.frames[f];
    if (mayRename(frame)) bodies_[{frame.parent, frame.call}] = static_cast<int>(f);
  }
}

int SumTracer::programNode(int frame, const Node& node) const {
  const auto found = nodes_.find({frame, &node});
  return found == nodes_.end() ? kNone : found->second;
}

// By the probe: the last axis stays, so the rows do.
bool SumTracer::keepsRows(int frame, const Node& view) const {
  const int at = programNode(frame, view);
  if (at == kNone) return false;
  const ProgramNode& node = model_.program.node(at);
  const auto shapeOf = [&](int value) -> std::optional<graph::Shape> {
    const graph::ValueId id = model_.lowered.graphValue[static_cast<size_t>(value)];
    return id == graph::kNoValue ? std::nullopt : model_.graph().value(id).shape;
  };
  const auto before = shapeOf(node.inputs[0]), after = shapeOf(node.outputs[0]);
  return before && after && !before->empty() && !after->empty() && before->back() == after->back();
}

// Over a node that hands the value on: takes it from a tuple, puts it into one, or returns it.
bool SumTracer::passBack(int frame, Value*& value, Elements& elements, Origin& origin) const {
  Node* node = value->node();
  if (node->kind() == prim::TupleUnpack) {
    elements.push_back(value->offset());
    value = node->input();
    return true;
  }
  if (node->kind() == prim::TupleConstruct && !elements.empty()) {
    value = node->input(elements.back());
    elements.pop_back();
    return true;
  }
  const bool view = isView(*node) && keepsRows(frame, *node);
  if (!elements.empty() || (!view && !isIdentity(*node))) return false;
  if (view) origin.body.views.push_back(node);
  origin.passed.push_back(programNode(frame, *node));
  value = node->input(0);
  return true;
}

// Over a call: into the body that makes the value, or past one that hands its argument back.
bool SumTracer::passCall(int body, Value*& value, Elements& elements, Origin& origin) const {
  const Frame& callee = model_.program.frame(body);
  auto inner = originOf(body, callee.graph->outputs()[0], elements);
  if (!inner) return false;
  std::copy(inner->passed.begin(), inner->passed.end(), std::back_inserter(origin.passed));
  if (inner->parameter == nullptr) {
    origin.made = std::move(inner->made);
    origin.made.push_back(std::move(inner->body));
    origin.body.from = callee.call;
    return true;
  }
  // The views of such a body would have to be applied outside of it.
  if (!inner->body.views.empty()) return false;
  value = callee.call->input(static_cast<size_t>(argumentFor(callee, *inner->parameter).input));
  return true;
}

std::optional<SumTracer::Origin> SumTracer::originOf(int frame, Value* value, Elements& elements) const {
  const auto& graph = *model_.program.frame(frame).graph;
  Origin origin;
  origin.body.frame = frame;
  while (origin.body.from == nullptr && origin.parameter == nullptr) {
    Node* node = value->node();
    const auto call = bodies_.find({frame, node});
    if (node == graph.param_node()) {
      origin.parameter = value;
    } else if (elements.empty() && isPlainAdd(*node)) {
      origin.passed.push_back(programNode(frame, *node));
      origin.body.from = node;
    } else {
      const bool passed = call != bodies_.end() ? passCall(call->second, value, elements, origin)
                                                : passBack(frame, value, elements, origin);
      if (!passed) return std::nullopt;
    }
  }
  std::reverse(origin.body.views.begin(), origin.body.views.end());
  return origin;
}

std::optional<SumWay> SumTracer::wayTo(const OperandSite& reader) const {
  SumWay way;
  std::vector<BodyOnWay> below;  // from the reader's body upwards
  Elements elements;
  OperandSite read = reader;
  for (;;) {
    auto origin = originOf(read.frame, read.node->input(static_cast<size_t>(read.input)), elements);
    if (!origin) return std::nullopt;
    origin->body.to = read.node;
    std::copy(origin->passed.begin(), origin->passed.end(), std::back_inserter(way.passed));
    const Frame& frame = model_.program.frame(read.frame);
    if (origin->parameter == nullptr) {
      way.bodies = std::move(origin->made);
      way.common = way.bodies.size();
      way.bodies.push_back(std::move(origin->body));
      break;
    }
    if (!mayRename(frame)) return std::nullopt;
    read = argumentFor(frame, *origin->parameter);
    below.push_back(std::move(origin->body));
  }
  std::move(below.rbegin(), below.rend(), std::back_inserter(way.bodies));
  return way;
}

}  // namespace normlens::formats::torchscript
