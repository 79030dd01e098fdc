#include "core/formats/torchscript/apply_fused_norm.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <optional>

#include "core/formats/torchscript/norm_inputs.h"

namespace normlens::formats::torchscript {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

size_t epsInput(const Node& norm) { return normInputs(norm)->eps; }

bool isOne(const Value* alpha) {
  const auto value = torch::jit::toIValue(alpha);
  return value && value->isScalar() && value->toScalar().toDouble() == 1.0;
}

bool isTensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

bool isPlainAdd(const Node& node) {
  return node.kind() == c10::aten::add && node.inputs().size() == 3 && isTensor(node.input(0)) &&
         isTensor(node.input(1)) && isOne(node.input(2));
}

bool canFuseNodes(const Node& add, Node* reader) {
  if (!isPlainAdd(add) || add.owningBlock() != reader->owningBlock()) return false;
  for (const auto& use : add.output()->uses()) {
    if (use.user != reader && !use.user->isAfter(reader)) return false;
  }
  const Node* node = add.next();
  while (node != reader && onlyComputes(*node)) node = node->next();
  return node == reader;
}

// Gamma or beta of the norm, as a value beside the add.
Value* constantOf(GraphCopy& copy, const NormSite& site, std::optional<size_t> at, bool given) {
  Graph& graph = *copy.graph();
  if (!given || !at) return graph.insertConstant(c10::IValue());
  const size_t input = *at;
  if (!site.call) return copy.at(site.norm)->input(input);
  Node* get = graph.create(c10::prim::GetAttr, {copy.at(site.call)->input(0)});
  get->s_(c10::attr::name, site.norm->input(input)->node()->s(c10::attr::name));
  get->output()->setType(site.norm->input(input)->type());
  return graph.insertNode(get)->output();
}

Value* epsOf(GraphCopy& copy, const NormSite& site) {
  if (!site.call) return copy.at(site.norm)->input(epsInput(*site.norm));
  return copy.graph()->insertConstant(*torch::jit::toIValue(site.norm->input(epsInput(*site.norm))));
}

void writeFused(GraphCopy& copy, const FusedNorm& fused) {
  Node* reader = copy.at(fused.site.reader());
  Graph& graph = *copy.graph();
  const torch::jit::WithInsertPoint here(reader);
  Value* sum = reader->input(fused.site.sumInput());
  const NormInputs inputs = *normInputs(*fused.site.norm);
  Value* gamma = constantOf(copy, fused.site, inputs.gamma, fused.gamma);
  Value* beta = constantOf(copy, fused.site, inputs.beta, fused.beta);
  Value* eps = epsOf(copy, fused.site);
  Node* add = sum->node();
  Value* y = nullptr;
  if (canFuseNodes(*add, reader)) {
    Node* both =
        graph.create(c10::Symbol::fromQualString(fused.addOp), {add->input(0), add->input(1), gamma, beta, eps}, 2);
    for (Value* output : both->outputs()) output->setType(c10::TensorType::get());
    graph.insertNode(both);
    sum->replaceAllUsesWith(both->output(0));
    y = both->output(1);
  } else {
    y = graph.insert(c10::Symbol::fromQualString(fused.plainOp), {sum, gamma, beta, eps});
  }
  reader->output(0)->replaceAllUsesWith(y);
  std::vector<Node*> sources;
  for (Value* input : reader->inputs()) sources.push_back(input->node());
  reader->destroy();
  if (std::find(sources.begin(), sources.end(), add) == sources.end()) sources.push_back(add);
  for (Node* source : sources) removeUnused(source);
}

}  // namespace

bool onlyComputes(const Node& node) {
  const auto kind = node.kind();
  return node.blocks().empty() && kind != c10::prim::CallMethod && kind != c10::prim::CallFunction &&
         !node.hasSideEffects() && !mayMutate(node);
}

bool isFusableNorm(const Node& node) {
  const auto inputs = normInputs(node);
  if (!inputs || node.kind() == c10::aten::layer_norm) return inputs.has_value();
  const auto eps = torch::jit::toIValue(node.input(inputs->eps));
  return eps && eps->isDouble();
}

bool canFuse(const NormSite& site) {
  Node* reader = site.reader();
  return canFuseNodes(*reader->input(site.sumInput())->node(), reader);
}

bool isNormAlone(const Graph& body, const Node& norm) {
  if (body.inputs().size() != 2 || body.outputs().size() != 1) return false;
  if (body.outputs()[0] != norm.output(0) || norm.input(0) != body.inputs()[1]) return false;
  const auto isOwnAttribute = [&](const Value* value) {
    return value->node()->kind() == c10::prim::GetAttr && value->node()->input(0) == body.inputs()[0];
  };
  for (size_t input = normInputs(norm)->gamma; input < epsInput(norm); ++input) {
    const Value* value = norm.input(input);
    if (!value->mustBeNone() && !isOwnAttribute(value)) return false;
  }
  const auto nodes = body.nodes();
  return torch::jit::toIValue(norm.input(epsInput(norm))).has_value() &&
         std::all_of(nodes.begin(), nodes.end(), [](const Node* node) { return onlyComputes(*node); });
}

BodyEdit fuseNorm(const FusedNorm& fused) {
  const std::string signature = "fuse " + idOf(fused.site.norm) + " " + idOf(fused.site.call) + " " + fused.addOp +
                                (fused.gamma ? "1" : "0") + (fused.beta ? "1" : "0");
  return {signature, [fused](GraphCopy& copy) { writeFused(copy, fused); }};
}

}  // namespace normlens::formats::torchscript
