#include <numeric>

#include "core/formats/torchscript/edit/apply_new_nodes.h"

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

c10::Symbol symbol(const char* name) { return c10::Symbol::fromQualString(name); }

bool is(const Node& node, const char* op) { return node.kind() == symbol(op); }

// What a norm reads, whichever op it is.
struct NormParts {
  Value* x = nullptr;
  Value* shape = nullptr;  // list of the sizes that are normalised; null: the last axis
  Value* gamma = nullptr;
  Value* beta = nullptr;
  Value* eps = nullptr;
};

// An add in front of the norm becomes an op of its own.
Value* writeOutAdd(Graph& graph, Node& node) {
  Value* sum = graph.insert(aten::add, {node.input(0), node.input(1)});
  node.output(0)->replaceAllUsesWith(sum);
  return sum;
}

NormParts partsOf(Graph& graph, Node& node) {
  if (is(node, "normlens::add_layer_norm"))
    return {writeOutAdd(graph, node), nullptr, node.input(2), node.input(3), node.input(4)};
  if (is(node, "normlens::layer_norm")) return {node.input(0), nullptr, node.input(1), node.input(2), node.input(3)};
  return {node.input(0), node.input(1), node.input(2), node.input(3), node.input(4)};
}

// The last output is the norm's own; in front of it there may be the sum.
size_t normOutput(const Node& node) { return is(node, "normlens::add_layer_norm") ? 1 : 0; }

Value* lastSize(Graph& graph, Value* x) {
  Value* size = graph.insert(aten::size, {x, int64_t{-1}});
  return graph.insertNode(graph.createList(c10::IntType::get(), {size}))->output();
}

// A parameter that the file declares optional and that is known to be there.
Value* asTensor(Graph& graph, Value* value) {
  return value->type()->isSubtypeOf(*c10::TensorType::get()) ? value
                                                             : graph.insertUncheckedCast(value, c10::TensorType::get());
}

Value* trailingMean(Graph& graph, Value* x, int axes) {
  std::vector<int64_t> dims(static_cast<size_t>(axes));
  std::iota(dims.begin(), dims.end(), -static_cast<int64_t>(axes));
  return graph.insert(aten::mean, {x, dims, true});
}

Value* portableNorm(Graph& graph, const NormParts& parts, const NormReplacement& norm) {
  Value* shape = parts.shape == nullptr ? lastSize(graph, parts.x) : parts.shape;
  Value* y = graph.insert(symbol("aten::rms_norm"), {parts.x, shape, parts.gamma, parts.eps});
  return norm.beta ? graph.insert(aten::add, {y, asTensor(graph, parts.beta)}) : y;
}

// x / sqrt(mean(x^2) + eps) * gamma + beta, written out.
Value* writtenOutNorm(Graph& graph, const NormParts& parts, const NormReplacement& norm) {
  Value* x = parts.x;
  if (norm.computeInFloat32) x = graph.insert(aten::to, {x, static_cast<int64_t>(at::kFloat), false, false});
  Value* square = graph.insert(aten::pow, {x, int64_t{2}});
  Value* shifted = graph.insert(aten::add, {trailingMean(graph, square, norm.axes), parts.eps});
  Value* y = graph.insert(aten::mul, {x, graph.insert(aten::rsqrt, {shifted})});
  if (norm.gamma) y = graph.insert(aten::mul, {y, asTensor(graph, parts.gamma)});
  if (norm.beta) y = graph.insert(aten::add, {y, asTensor(graph, parts.beta)});
  return norm.computeInFloat32 ? graph.insert(aten::type_as, {y, parts.x}) : y;
}

Value* fastNorm(Graph& graph, const NormParts& parts, const NormReplacement& norm) {
  Value* beta = norm.beta ? parts.beta : graph.insertConstant(c10::IValue());
  return graph.insert(symbol("normlens::rms_norm"), {parts.x, parts.gamma, beta, parts.eps});
}

// With the add that the norm has taken in already.
void fastAddNorm(Graph& graph, Node& node, const NormReplacement& norm) {
  Value* beta = norm.beta ? node.input(3) : graph.insertConstant(c10::IValue());
  Node* both = graph.create(symbol("normlens::add_rms_norm"),
                            {node.input(0), node.input(1), node.input(2), beta, node.input(4)}, 2);
  graph.insertNode(both);
  for (size_t i = 0; i < 2; ++i) {
    both->output(i)->setType(c10::TensorType::get());
    node.output(i)->replaceAllUsesWith(both->output(i));
  }
}

void checkExpressible(const NormReplacement& norm) {
  switch (norm.flavour) {
    case NormFlavour::Portable:
    case NormFlavour::Primitives:
    case NormFlavour::Fast:
      return;
    default:
      throw EditRefused("this norm flavour exists for ONNX files only");
  }
}

}  // namespace

BodyEdit replaceNorm(const NormReplacement& norm) {
  checkExpressible(norm);
  const auto flag = [](bool value) { return value ? "1" : "0"; };
  const std::string signature = "norm " + idOf(norm.node) + " " + std::to_string(static_cast<int>(norm.flavour)) + " " +
                                std::to_string(norm.axes) + flag(norm.gamma) + flag(norm.beta) +
                                flag(norm.computeInFloat32) + flag(norm.castBack);
  return {signature, [norm](GraphCopy& copy) {
            Node* node = copy.at(norm.node);
            Graph& graph = *copy.graph();
            const torch::jit::WithInsertPoint here(node);
            if (norm.flavour == NormFlavour::Fast && !norm.castBack && is(*node, "normlens::add_layer_norm")) {
              fastAddNorm(graph, *node, norm);
              return removeUnused(node);
            }
            const NormParts parts = partsOf(graph, *node);
            Value* y = norm.flavour == NormFlavour::Portable ? portableNorm(graph, parts, norm)
                       : norm.flavour == NormFlavour::Fast   ? fastNorm(graph, parts, norm)
                                                             : writtenOutNorm(graph, parts, norm);
            if (norm.castBack) y = graph.insert(aten::type_as, {y, parts.x});
            node->output(normOutput(*node))->replaceAllUsesWith(y);
            removeUnused(node);
          }};
}

bool isLayerNormOp(const Node& node) {
  return node.kind() == aten::layer_norm || node.kind() == aten::native_layer_norm ||
         is(node, "normlens::layer_norm") || is(node, "normlens::add_layer_norm");
}

BodyEdit writeOutAddNorm(Node* fused) {
  return {
      "write out " + idOf(fused), [fused](GraphCopy& copy) {
        Node* node = copy.at(fused);
        Graph& graph = *copy.graph();
        const torch::jit::WithInsertPoint here(node);
        Value* sum = writeOutAdd(graph, *node);
        Value* y = graph.insert(symbol("normlens::layer_norm"), {sum, node->input(2), node->input(3), node->input(4)});
        node->output(1)->replaceAllUsesWith(y);
        copy.substitute(fused, y->node());
        node->destroy();
      }};
}

BodyEdit varianceToMeanSquare(Node* variance) {
  return {"mean square " + idOf(variance), [=](GraphCopy& copy) {
            Node* node = copy.at(variance);
            Graph& graph = *copy.graph();
            const torch::jit::WithInsertPoint here(node);
            Value* square = graph.insert(aten::pow, {node->input(0), int64_t{2}});
            Value* mean = graph.insert(aten::mean, {square, node->namedInput("dim"), node->namedInput("keepdim")});
            node->output(0)->replaceAllUsesWith(mean);
            removeUnused(node);
          }};
}

}  // namespace normlens::formats::torchscript
