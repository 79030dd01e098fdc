#include "core/formats/torchscript/edit/apply_graph_copy.h"

#include <torch/csrc/jit/ir/constants.h>

#include <unordered_set>

#include "core/formats/torchscript/program/hidden_calls.h"

namespace normlens::formats::torchscript {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

GraphCopy::GraphCopy(const std::shared_ptr<torch::jit::Graph>& original) : graph_(original->copy()) {
  pair(original->block(), graph_->block());
}

// Copies keep the order of nodes and blocks.
void GraphCopy::pair(Block* original, Block* copy) {
  auto twin = copy->nodes().begin();
  for (Node* node : original->nodes()) {
    nodes_[node] = *twin;
    for (size_t i = 0; i < node->blocks().size(); ++i) pair(node->blocks()[i], twin->blocks()[i]);
    ++twin;
  }
  nodes_[original->return_node()] = copy->return_node();
}

Node* GraphCopy::at(const Node* original) const {
  const auto found = nodes_.find(original);
  if (found == nodes_.end())
    throw EditRefused("an edit names an operation that is not part of the code it was found in");
  return found->second;
}

Value* GraphCopy::addArgument(const std::string& name) {
  newSignature_ = true;
  Value* argument = graph_->addInput(name);
  argument->setType(c10::TensorType::get());
  return argument;
}

void GraphCopy::addResult(Value* value) {
  newSignature_ = true;
  Node* pair = graph_->createTuple({graph_->outputs()[0], value});
  graph_->block()->appendNode(pair);
  graph_->block()->replaceOutput(0, pair->output());
}

Value* GraphCopy::takeResult(const Node* call) {
  Node* twin = at(call);
  Value* result = twin->output(0);
  result->setType(c10::TupleType::create({result->type(), c10::TensorType::get()}));
  Node* unpack = graph_->createTupleUnpack(result);
  unpack->insertAfter(twin);
  result->replaceAllUsesAfterNodeWith(unpack, unpack->output(0));
  return unpack->output(1);
}

std::string signatureOf(const std::vector<BodyEdit>& edits) {
  std::string all;
  for (const auto& edit : edits) all += edit.signature + ";";
  return all;
}

bool mayMutate(const Node& node) {
  const auto* schema = node.maybeSchema();
  return schema == nullptr ? node.kind().is_aten() : schema->is_mutable();
}

namespace {

void redirect(GraphCopy& copy, const OperandSite& site, Value* to) {
  Node* before = copy.read(site)->node();
  copy.at(site.node)->replaceInput(static_cast<size_t>(site.input), to);
  removeUnused({before});
}

bool removable(const Node& node) {
  const auto kind = node.kind();
  if (kind == c10::prim::Param || kind == c10::prim::Return || !node.blocks().empty()) return false;
  if (runsHiddenCode(node)) return false;
  return !node.hasUses() && !node.hasSideEffects() && !mayMutate(node);
}

}  // namespace

Node* insertPair(torch::jit::Graph& graph, const std::string& op, at::ArrayRef<Value*> inputs) {
  Node* both = graph.insertNode(graph.create(c10::Symbol::fromQualString(op), inputs, 2));
  for (Value* output : both->outputs()) output->setType(c10::TensorType::get());
  return both;
}

void removeUnused(std::vector<Node*> candidates) {
  std::unordered_set<Node*> gone;
  while (!candidates.empty()) {
    Node* node = candidates.back();
    candidates.pop_back();
    if (gone.contains(node) || !removable(*node)) continue;
    for (Value* input : node->inputs()) candidates.push_back(input->node());
    node->destroy();
    gone.insert(node);
  }
}

void removeWithSources(Node* node) {
  std::vector<Node*> sources;
  for (Value* input : node->inputs()) sources.push_back(input->node());
  node->destroy();
  removeUnused(std::move(sources));
}

BodyEdit bypassNode(Node* node, int input, bool stays) {
  return {signature("bypass", node, input, stays),
          [=](GraphCopy& copy) {
            Node* twin = copy.at(node);
            twin->output(0)->replaceAllUsesWith(twin->input(static_cast<size_t>(input)));
            // An in-place op without readers would still write; its effect is the edit's now, so it goes as well.
            if (!stays && !twin->hasUses()) removeWithSources(twin);
          },
          journal::PassOn{node, input, stays}};
}

BodyEdit removeNodes(std::vector<Node*> nodes) {
  std::string all = "remove ";
  for (const Node* node : nodes) all += signature(node);
  return {all,
          [nodes = std::move(nodes)](GraphCopy& copy) {
            std::vector<Node*> twins;
            for (const Node* node : nodes) twins.push_back(copy.at(node));
            removeUnused(std::move(twins));
          },
          journal::Sweep{}};
}

BodyEdit readAttribute(const journal::ReadTensor& read) {
  return {signature("read", read.read.node, read.read.input, read.attribute),
          [site = read.read, attribute = read.attribute](GraphCopy& copy) {
            const torch::jit::WithInsertPoint here(copy.at(site.node));
            // The class gets the attribute when the copy finds its class: the type is known already.
            Node* get = copy.graph()->create(c10::prim::GetAttr, {copy.graph()->inputs()[0]});
            get->s_(c10::attr::name, attribute);
            get->output()->setType(c10::TensorType::get());
            copy.graph()->insertNode(get);
            redirect(copy, site, get->output());
          },
          read};
}

BodyEdit readConstant(OperandSite site, const at::Tensor& tensor) {
  return {signature("read", site.node, site.input, "constant", tensor.unsafeGetTensorImpl()),
          [=](GraphCopy& copy) {
            const torch::jit::WithInsertPoint here(copy.at(site.node));
            redirect(copy, site, copy.graph()->insertConstant(tensor));
          },
          journal::ReadTensor{site, tensor}};
}

BodyEdit setConstant(Node* node, const at::Tensor& tensor) {
  return {signature("set", node, tensor.unsafeGetTensorImpl()),
          [=](GraphCopy& copy) {
            Node* twin = copy.at(node);
            twin->t_(c10::attr::value, tensor);
            twin->output()->inferTypeFrom(tensor);
          },
          journal::SetTensor{node, tensor}};
}

BodyEdit callMethod(Node* call, const std::string& method) {
  return {signature("call", call, method), [=](GraphCopy& copy) { copy.at(call)->s_(c10::attr::name, method); }};
}

BodyEdit callFunction(Node* call, torch::jit::Function* function) {
  return {signature("call", call, function), [=](GraphCopy& copy) {
            Node* twin = copy.at(call);
            Node* before = twin->input(0)->node();
            const torch::jit::WithInsertPoint here(twin);
            Node* constant = copy.graph()->create(c10::prim::Constant);
            constant->s_(c10::attr::name, function->name());
            constant->output()->setType(c10::FunctionType::create(function));
            copy.graph()->insertNode(constant);
            twin->replaceInput(0, constant->output());
            removeUnused({before});
          }};
}

}  // namespace normlens::formats::torchscript
