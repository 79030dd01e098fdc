#include "core/formats/torchscript/edit/norms/apply_fused_norm.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>

#include "core/formats/torchscript/program/hidden_calls.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool isReadAnywhere(const Node& node) {
  return node.kind() == prim::GetAttr || node.kind() == prim::Constant || node.kind() == prim::unchecked_cast;
}

bool isThere(const Value& value, const Node& place) {
  return value.node()->kind() == prim::Param || value.node()->isBefore(&place);
}

// Makes the edits of one body on the way.
class BodyFusion {
 public:
  BodyFusion(const FusedNorm& fused, size_t body, std::string op)
      : fused_(fused), body_(fused.way.bodies[body]), index_(body), op_(std::move(op)) {}

  void operator()(GraphCopy& copy) const {
    Value* y = normalised(copy);
    for (const Node* view : viewsOfResult(body_)) y = viewed(copy, *view, y);
    if (body_.to == nullptr) {
      copy.addResult(y);
    } else if (index_ + 1 < fused_.way.bodies.size()) {
      copy.at(body_.to)->addInput(y);
    } else {
      replaceReader(copy, y);
    }
  }

 private:
  [[nodiscard]] std::array<const std::optional<FusedNumber>*, 2> numbers() const {
    return {&fused_.gamma, &fused_.beta};
  }

  // Made here, returned by a call, or handed in.
  Value* normalised(GraphCopy& copy) const {
    if (index_ == 0) return fuse(copy);
    if (body_.from == nullptr) return copy.addArgument("normalised");
    if (fused_.holder && index_ <= *fused_.holder) {
      Node* call = copy.at(body_.from);
      for (const auto* number : numbers()) {
        if (*number) call->addInput(valueOf(copy, **number, call));
      }
    }
    return copy.takeResult(body_.from);
  }

  Value* fuse(GraphCopy& copy) const {
    Node* add = copy.at(body_.from);
    Graph& graph = *copy.graph();
    std::vector<Value*> inputs = {add->input(0), add->input(1)};
    for (const auto* number : numbers()) {
      const torch::jit::WithInsertPoint here(add);
      inputs.push_back(*number ? valueOf(copy, **number, add) : graph.insertConstant(c10::IValue()));
    }
    const torch::jit::WithInsertPoint here(add);
    inputs.push_back(graph.insertConstant(fused_.eps));
    Node* both = insertPair(graph, op_, inputs);
    both->setSourceRange(add->sourceRange());
    add->output()->replaceAllUsesWith(both->output(0));
    removeUnused({add});
    return both->output(1);
  }

  // Gamma or beta, at this place.
  Value* valueOf(GraphCopy& copy, const FusedNumber& number, Node* place) const {
    Graph& graph = *copy.graph();
    const torch::jit::WithInsertPoint here(place);
    if (!fused_.holder) return readBefore(graph, copy.at(fused_.norm)->input(number.input), *place);
    if (index_ < *fused_.holder) return copy.addArgument(number.names.back());
    Value* value = graph.inputs()[0];
    for (const auto& name : number.names) value = graph.insertGetAttr(value, name);
    return value;
  }

  // At the insertion point, which is `place`.
  static Value* readBefore(Graph& graph, Value* value, const Node& place) {
    if (isThere(*value, place)) return value;
    Node* read = graph.createClone(value->node(), [&](Value* input) { return readBefore(graph, input, place); });
    return graph.insertNode(read)->output();
  }

  static Value* viewed(GraphCopy& copy, const Node& view, Value* y) {
    Node* twin = copy.at(&view);
    Node* same = copy.graph()->createClone(twin, [](Value* input) { return input; });
    for (const auto name : same->attributeNames()) same->removeAttribute(name);  // which node of its file the twin is
    same->replaceInput(0, y);
    same->insertAfter(twin);
    return same->output();
  }

  void replaceReader(GraphCopy& copy, Value* y) const {
    Node* reader = copy.at(body_.to);
    reader->output(0)->replaceAllUsesWith(y);
    removeWithSources(reader);
  }

  FusedNorm fused_;
  BodyOnWay body_;
  size_t index_;
  std::string op_;
};

// Names all that decides what the body's edit does.
std::string signatureOf(const FusedNorm& fused, size_t body, const std::string& op) {
  const BodyOnWay& at = fused.way.bodies[body];
  std::string text = signature("fuse", op, body, fused.way.bodies.size(), std::bit_cast<uint64_t>(fused.eps),
                               fused.norm, at.from, at.to);
  for (const Node* view : at.views) text += signature(view);
  text += fused.holder ? signature("holder", *fused.holder) : "beside ";
  for (const auto& number : {fused.gamma, fused.beta}) {
    text += number ? signature("/", number->input) : "/ ";
    for (const auto& name : number ? number->names : std::vector<std::string>()) text += signature(name);
  }
  return text;
}

}  // namespace

std::span<Node* const> viewsOfResult(const BodyOnWay& body) {
  const auto names = [](const Node* view) { return view->kind() != c10::aten::flatten; };
  const auto last = std::find_if(body.views.rbegin(), body.views.rend(), names);
  return last == body.views.rend() ? std::span(body.views) : std::span(std::prev(last.base()), body.views.end());
}

bool onlyComputes(const Node& node) {
  return !runsHiddenCode(node) && !node.hasAttribute(c10::attr::Subgraph) && !node.hasSideEffects() && !mayMutate(node);
}

bool isReaderAlone(const Graph& body, const Node& reader, size_t input) {
  if (body.outputs().size() != 1 || reader.outputs().size() != 1 || body.outputs()[0] != reader.output(0)) return false;
  if (reader.input(input)->node() != body.param_node()) return false;
  const auto nodes = body.nodes();
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    return node == &reader || (node->blocks().empty() && onlyComputes(*node));
  });
}

bool canReadBefore(const Value& value, const Node& place) {
  if (isThere(value, place)) return true;
  const auto inputs = value.node()->inputs();
  return isReadAnywhere(*value.node()) &&
         std::all_of(inputs.begin(), inputs.end(), [&](const Value* input) { return canReadBefore(*input, place); });
}

void fuseNorm(const FusedNorm& fused, const std::string& op, FrameEdits& frames) {
  const auto& bodies = fused.way.bodies;
  for (size_t body = 0; body < bodies.size(); ++body) {
    const BodyUse use = fused.crossesBodies() ? BodyUse::Together : BodyUse::Any;
    journal::Record record;
    if (!fused.crossesBodies()) record = journal::FuseNorm{std::make_shared<const FusedNorm>(fused), op};
    frames[static_cast<size_t>(bodies[body].frame)].push_back(
        {signatureOf(fused, body, op), BodyFusion(fused, body, op), std::move(record), use, body != fused.way.common});
  }
}

}  // namespace normlens::formats::torchscript
