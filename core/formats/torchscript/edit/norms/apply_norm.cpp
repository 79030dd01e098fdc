#include <algorithm>
#include <numeric>
#include <optional>

#include "core/formats/edit/norm_code.h"
#include "core/formats/torchscript/edit/apply_new_nodes.h"

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

c10::Symbol symbol(const char* name) { return c10::Symbol::fromQualString(name); }

bool is(const Node& node, const char* op) { return node.kind() == symbol(op); }

// Names what a norm reads, whichever op it is.
struct NormParts {
  Value* x = nullptr;
  Value* shape = nullptr;  // list of the sizes that are normalized; null: the last axis
  Value* gamma = nullptr;
  Value* beta = nullptr;
  Value* eps = nullptr;
};

// Proofs find what stands for a norm by its name.
void standFor(Value* old, Value* y) {
  old->replaceAllUsesWith(y);
  if (old->hasDebugName()) y->setDebugName(old->debugName());
}

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
  if (is(node, "aten::layer_norm") || is(node, "aten::native_layer_norm"))
    return {node.input(0), node.input(1), node.input(2), node.input(3), node.input(4)};
  return {node.input(0), nullptr, node.namedInput("weight"), node.namedInput("bias"), node.namedInput("eps")};
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

// normCode's ops.
class NormOps {
 public:
  using Value = torch::jit::Value*;

  NormOps(Graph& graph, const NormParts& parts, const NormReplacement& norm)
      : graph_(graph), parts_(parts), norm_(norm) {}

  Value rmsNorm(Value x, std::optional<Value> /*gamma*/) {  // None where there is none
    if (isByChannel()) return byChannel(x);
    if (norm_.flavour == NormFlavour::Fast) {
      Value beta = norm_.beta ? parts_.beta : graph_.insertConstant(c10::IValue());
      return graph_.insert(symbol("normlens::rms_norm"), {x, parts_.gamma, beta, parts_.eps});
    }
    Value shape = parts_.shape == nullptr ? lastSize(graph_, x) : parts_.shape;
    return graph_.insert(symbol("aten::rms_norm"), {x, shape, parts_.gamma, parts_.eps});
  }
  Value toSumType(Value x) {
    x = cut(x);
    return norm_.computeInFloat32 ? graph_.insert(aten::to, {x, static_cast<int64_t>(at::kFloat), false, false}) : x;
  }
  Value meanSquare(Value x) {
    std::vector<int64_t> axes(static_cast<size_t>(norm_.axes));
    std::iota(axes.begin(), axes.end(), -static_cast<int64_t>(norm_.axes));
    return graph_.insert(aten::mean, {graph_.insert(aten::pow, {x, int64_t{2}}), axes, true});
  }
  Value overRoot(Value x, Value meanSquare) {
    Value shifted = graph_.insert(aten::add, {meanSquare, parts_.eps});
    return graph_.insert(aten::mul, {x, graph_.insert(aten::rsqrt, {shifted})});
  }
  Value toGammaType(Value y) { return joined(y); }
  Value multiply(Value a, Value b) { return graph_.insert(aten::mul, {a, asChannels(b)}); }
  Value add(Value a, Value b) { return graph_.insert(aten::add, {a, asChannels(b)}); }
  Value toResultType(Value y) {
    const bool differs = norm_.flavour == NormFlavour::Primitives ? norm_.computeInFloat32 : norm_.castBack;
    return differs ? graph_.insert(aten::type_as, {y, parts_.x}) : y;
  }

 private:
  [[nodiscard]] bool isByChannel() const { return !norm_.sizes.empty(); }
  Value byChannel(Value x) {  // gamma and beta lie along axis 1
    Value y = plainRmsNorm(cut(x));
    y = joined(y);
    return norm_.gamma ? multiply(y, parts_.gamma) : y;
  }
  Value plainRmsNorm(Value x) {
    Value none = graph_.insertConstant(c10::IValue());
    if (norm_.flavour == NormFlavour::Fast)
      return graph_.insert(symbol("normlens::rms_norm"), {x, none, none, parts_.eps});
    return graph_.insert(symbol("aten::rms_norm"), {x, norm_.sizes, none, parts_.eps});
  }
  Value cut(Value x) {
    if (norm_.groups == 1) return x;
    return graph_.insert(aten::unflatten, {x, int64_t{1}, std::vector<int64_t>{norm_.groups, norm_.sizes.front()}});
  }
  Value joined(Value y) { return norm_.groups == 1 ? y : graph_.insert(aten::flatten, {y, int64_t{1}, int64_t{2}}); }
  Value asChannels(Value held) {
    held = asTensor(graph_, held);
    return norm_.affine.empty() ? held : graph_.insert(aten::unflatten, {held, int64_t{0}, norm_.affine});
  }

  Graph& graph_;
  const NormParts& parts_;
  const NormReplacement& norm_;
};

// With the add that the norm has taken in already.
void fastAddNorm(Graph& graph, Node& node, const NormReplacement& norm) {
  Value* beta = norm.beta ? node.input(3) : graph.insertConstant(c10::IValue());
  Node* both =
      insertPair(graph, "normlens::add_rms_norm", {node.input(0), node.input(1), node.input(2), beta, node.input(4)});
  for (size_t i = 0; i < 2; ++i) standFor(node.output(i), both->output(i));
}

}  // namespace

BodyEdit replaceNorm(const NormReplacement& norm) {
  const auto flavour = norm.flavour;
  if (flavour != NormFlavour::Portable && flavour != NormFlavour::Primitives && flavour != NormFlavour::Fast)
    throw EditRefused("this norm flavor exists for ONNX files only");
  return {signature("norm", norm.node, static_cast<int>(norm.flavour), norm.axes, norm.gamma, norm.beta,
                    norm.computeInFloat32, norm.castBack, norm.narrow, norm.groups, c10::IntArrayRef(norm.sizes),
                    c10::IntArrayRef(norm.affine)),
          [norm](GraphCopy& copy) {
            Node* node = copy.at(norm.node);
            Graph& graph = *copy.graph();
            const torch::jit::WithInsertPoint here(node);
            if (norm.flavour == NormFlavour::Fast && !norm.castBack && norm.narrow == 0 &&
                is(*node, "normlens::add_layer_norm")) {
              fastAddNorm(graph, *node, norm);
              return removeUnused({node});
            }
            NormParts parts = partsOf(graph, *node);
            if (norm.narrow > 0) {
              parts.shape = graph.insertConstant(std::vector<int64_t>{norm.narrow});
              parts.beta = graph.insertConstant(c10::IValue());
            }
            if (!norm.gamma) parts.gamma = graph.insertConstant(c10::IValue());
            NormOps ops(graph, parts, norm);
            const auto given = [](bool is, Value* value) { return is ? std::optional(value) : std::nullopt; };
            const bool addsBeta =
                norm.beta && (norm.flavour != NormFlavour::Fast || !norm.sizes.empty());  // else its op does
            Value* y = normCode(ops, norm.flavour != NormFlavour::Primitives, parts.x, given(norm.gamma, parts.gamma),
                                given(addsBeta, parts.beta));
            // The primitives keep the strides of x, but LayerNorm's result is dense, and a view of it may rely on that.
            if (norm.flavour == NormFlavour::Primitives) y = graph.insert(aten::contiguous, {y});
            standFor(node->output(normOutput(*node)), y);
            removeUnused({node});
          },
          journal::ReplaceNode{norm.node}};
}

bool isLayerNormOp(const Node& node) {
  return node.kind() == aten::group_norm || is(node, "aten::native_group_norm") || node.kind() == aten::instance_norm ||
         node.kind() == aten::layer_norm || node.kind() == aten::native_layer_norm ||
         is(node, "normlens::layer_norm") || is(node, "normlens::add_layer_norm");
}

BodyEdit writeOutAddNorm(Node* fused) {
  return {
      signature("write out", fused),
      [fused](GraphCopy& copy) {
        Node* node = copy.at(fused);
        if (!is(*node, "normlens::add_layer_norm")) return;  // an earlier edit has done it
        Graph& graph = *copy.graph();
        const torch::jit::WithInsertPoint here(node);
        Value* sum = writeOutAdd(graph, *node);
        Value* y = graph.insert(symbol("normlens::layer_norm"), {sum, node->input(2), node->input(3), node->input(4)});
        node->output(1)->replaceAllUsesWith(y);
        copy.substitute(fused, y->node());
        node->destroy();
      },
      journal::ReplaceNode{fused}};
}

BodyEdit varianceToMeanSquare(Node* variance) {
  return {signature("mean square", variance),
          [=](GraphCopy& copy) {
            Node* node = copy.at(variance);
            Graph& graph = *copy.graph();
            const torch::jit::WithInsertPoint here(node);
            Value* square = graph.insert(aten::pow, {node->input(0), int64_t{2}});
            Value* mean = graph.insert(aten::mean, {square, node->namedInput("dim"), node->namedInput("keepdim")});
            node->output(0)->replaceAllUsesWith(mean);
            removeUnused({node});
          },
          journal::ReplaceNode{variance}};
}

}  // namespace normlens::formats::torchscript
