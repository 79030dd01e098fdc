#include <numeric>

#include "core/formats/torchscript/apply_new_nodes.h"

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr size_t kInput = 0, kShape = 1, kGamma = 2, kBeta = 3, kEps = 4;

c10::Symbol fastNormSymbol() { return c10::Symbol::fromQualString("normlens::rms_norm"); }

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

Value* portableNorm(Graph& graph, Node& node, const NormReplacement& norm) {
  Value* y = graph.insert(c10::Symbol::fromQualString("aten::rms_norm"),
                          {node.input(kInput), node.input(kShape), node.input(kGamma), node.input(kEps)});
  return norm.beta ? graph.insert(aten::add, {y, asTensor(graph, node.input(kBeta))}) : y;
}

// x / sqrt(mean(x^2) + eps) * gamma + beta, written out.
Value* writtenOutNorm(Graph& graph, Node& node, const NormReplacement& norm) {
  Value* x = node.input(kInput);
  if (norm.computeInFloat32) x = graph.insert(aten::to, {x, static_cast<int64_t>(at::kFloat), false, false});
  Value* square = graph.insert(aten::pow, {x, int64_t{2}});
  Value* shifted = graph.insert(aten::add, {trailingMean(graph, square, norm.axes), node.input(kEps)});
  Value* y = graph.insert(aten::mul, {x, graph.insert(aten::rsqrt, {shifted})});
  if (norm.gamma) y = graph.insert(aten::mul, {y, asTensor(graph, node.input(kGamma))});
  if (norm.beta) y = graph.insert(aten::add, {y, asTensor(graph, node.input(kBeta))});
  return norm.computeInFloat32 ? graph.insert(aten::type_as, {y, node.input(kInput)}) : y;
}

Value* fastNorm(Graph& graph, Node& node, const NormReplacement& norm) {
  Value* beta = norm.beta ? node.input(kBeta) : graph.insertConstant(c10::IValue());
  return graph.insert(fastNormSymbol(), {node.input(kInput), node.input(kGamma), beta, node.input(kEps)});
}

void checkExpressible(const NormReplacement& norm) {
  switch (norm.flavour) {
    case NormFlavour::Portable:
    case NormFlavour::Primitives:
      return;
    case NormFlavour::Fast:
      if (norm.axes != 1) throw EditRefused("the fast norm works over the last axis only; use --norm portable");
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
            Value* y = norm.flavour == NormFlavour::Portable ? portableNorm(graph, *node, norm)
                       : norm.flavour == NormFlavour::Fast   ? fastNorm(graph, *node, norm)
                                                             : writtenOutNorm(graph, *node, norm);
            if (norm.castBack) y = graph.insert(aten::type_as, {y, node->input(kInput)});
            node->output(0)->replaceAllUsesWith(y);
            removeUnused(node);
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
