#include "core/formats/torchscript/edit/apply_new_nodes.h"

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
using torch::jit::Graph;
using torch::jit::NamedValue;
using torch::jit::Node;
using torch::jit::Value;

enum Input : uint8_t { Self, First, Second, Factor };

std::string_view nameOf(const Node& node) { return node.kind().toQualString(); }

Value* product(Graph& graph, const Node& node) {
  const bool divides = nameOf(node).starts_with("aten::addcdiv");
  return graph.insert(divides ? aten::div : aten::mul, {node.input(First), node.input(Second)});
}

// In place where the op was: others may hold the same memory.
Value* sum(Graph& graph, const Node& node, Value* addend) {
  const auto add = nameOf(node).ends_with('_') ? aten::add_ : aten::add;
  return graph.insert(add, {node.input(Self), addend}, {NamedValue("alpha", node.input(Factor))});
}

BodyEdit rewrite(const std::string& what, Node* original, const std::function<Value*(Graph&, const Node&)>& make) {
  return {signature(what, original),
          [original, make](GraphCopy& copy) {
            Node* node = copy.at(original);
            if (!addsProduct(*node)) return;  // an earlier edit has left the sum
            const torch::jit::WithInsertPoint here(node);
            Value* made = make(*copy.graph(), *node);
            node->output(0)->replaceAllUsesWith(made);
            copy.substitute(original, made->node());
            removeWithSources(node);
          },
          journal::ReplaceNode{original}};
}

}  // namespace

bool addsProduct(const Node& node) {
  const auto name = nameOf(node);
  return name == "aten::addcmul" || name == "aten::addcmul_" || name == "aten::addcdiv" || name == "aten::addcdiv_";
}

BodyEdit writeOutProduct(Node* node) {
  return rewrite("write out", node,
                 [](Graph& graph, const Node& from) { return sum(graph, from, product(graph, from)); });
}

BodyEdit addWithoutFactor(Node* node, int input) {
  return rewrite("without factor " + std::to_string(input), node, [input](Graph& graph, const Node& from) {
    return sum(graph, from, from.input(static_cast<size_t>(input)));
  });
}

BodyEdit productAlone(Node* node) { return rewrite("product alone", node, product); }

}  // namespace normlens::formats::torchscript
