#include "core/formats/torchscript/inputs/input_guess.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace normlens::formats::torchscript {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

// Sizes that we choose: pairwise different, none of them a usual channel count.
constexpr int64_t kBatch = 2;
constexpr int64_t kLength = 7;

std::optional<Shape> constantShape(const Graph& graph, const Node& node, size_t operand) {
  if (operand >= node.operands.size() || node.operands[operand] == kNoValue) return std::nullopt;
  const graph::Value& value = graph.value(node.operands[operand]);
  if (value.constant == graph::kNone) return std::nullopt;
  return graph.constant(value.constant).view.shape;
}

const std::string& constantName(const Graph& graph, const Node& node, size_t operand) {
  return graph.constant(graph.value(node.operands[operand]).constant).name;
}

// Shapes [batch, length, ..., trailing].
std::vector<Shape> withTrailing(const Shape& trailing) {
  std::vector<Shape> shapes;
  for (const Shape& lead : {Shape{kBatch, kLength}, Shape{kBatch}, Shape{kBatch, 16}, Shape{kBatch, 12},
                            Shape{kBatch, 3}, Shape{kBatch, kLength, 5}, Shape{kBatch, 5, 3, 4}}) {
    Shape shape = lead;
    shape.insert(shape.end(), trailing.begin(), trailing.end());
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// Sides that position embeddings need: [1, N, D] with N = (side / kernel)^2, with up to two extra tokens.
std::vector<int64_t> sidesOfPositionTables(const Graph& graph, int64_t kernel) {
  std::vector<int64_t> sides;
  for (const graph::Constant& constant : graph.constants) {
    const Shape& shape = constant.view.shape;
    const bool table = (shape.size() == 3 && shape[0] == 1) || shape.size() == 2;
    if (!table) continue;
    const int64_t rows = shape[shape.size() - 2];
    for (int64_t extra = 0; extra <= 2; ++extra) {
      const auto root =
          static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(std::max<int64_t>(0, rows - extra)))));
      if (root < 2 || root * root != rows - extra) continue;
      const int64_t side = root * kernel;
      if (side <= 1024 && std::ranges::find(sides, side) == sides.end()) sides.push_back(side);
    }
  }
  return sides;
}

class Guesser {
 public:
  Guesser(const Graph& graph, ValueId input) : graph_(graph) { open_.insert(input); }

  InputGuess run() {
    std::set<ValueId> seen;
    while (!open_.empty()) {
      const ValueId value = *open_.begin();
      open_.erase(open_.begin());
      if (!seen.insert(value).second) continue;
      auto uses = graph_.value(value).uses;
      std::ranges::sort(uses, {}, &graph::Use::node);
      for (const graph::Use& use : uses) {
        if (use.node != graph::kNone) read(graph_.node(use.node), static_cast<size_t>(use.operand));
      }
    }
    return std::move(guess_);
  }

 private:
  void read(const Node& node, size_t operand) {
    switch (node.kind) {
      case OpKind::Gather:
        if (operand == 1) index(node);
        return;
      case OpKind::Linear:
        if (const auto weight = constantShape(graph_, node, 1); weight && operand == 0)
          demand(withTrailing({weight->back()}), "the width of " + constantName(graph_, node, 1));
        return;
      case OpKind::MatMul:
      case OpKind::AddMatMul:
        matmul(node, operand);
        return;
      case OpKind::Conv:
        if (operand == 0) convolution(node);
        return;
      case OpKind::LayerNorm:
      case OpKind::RmsNorm:
        if (const auto weight = constantShape(graph_, node, 1); weight && operand == 0)
          demand(withTrailing(*weight), "the normalized shape of " + constantName(graph_, node, 1));
        return;
      case OpKind::BatchNorm:
        if (const auto mean = constantShape(graph_, node, 3); mean && mean->size() == 1)
          demand({{kBatch, (*mean)[0], 16, 16}, {kBatch, (*mean)[0], 9}, {kBatch, (*mean)[0]}},
                 "the channels of a batch norm");
        return;
      case OpKind::Recurrent:
        recurrent(node, operand);
        return;
      default:
        follow(node, operand);
    }
  }

  // Ops behind which the elements are still the input's.
  void follow(const Node& node, size_t operand) {
    switch (node.kind) {
      case OpKind::Identity:
      case OpKind::Cast:
      case OpKind::Neg:
      case OpKind::Add:
      case OpKind::Sub:
      case OpKind::Mul:
      case OpKind::Div:
      case OpKind::Elementwise:
      case OpKind::MaskedFill:
      case OpKind::Where:
      case OpKind::Reshape:
      case OpKind::Permute:
      case OpKind::Rearrange:
      case OpKind::Expand:
      case OpKind::Slice:
      case OpKind::Select:
      case OpKind::Concat:
      case OpKind::Stack:
      case OpKind::Split:
      case OpKind::Unbind:
      case OpKind::Roll:
      case OpKind::Pad:
        break;
      default:
        // copy_ moves elements too; other opaque ops show nothing.
        if (node.op != "aten::copy_" || operand != 1) return;
    }
    for (const ValueId output : node.outputs) open_.insert(output);
  }

  void index(const Node& node) {
    const auto table = constantShape(graph_, node, 0);
    if (!table || table->empty()) return;
    const int64_t highest = table->front() - 1;
    guess_.dtype = graph::DType::Int64;
    if (guess_.highest && *guess_.highest <= highest) return;
    guess_.highest = highest;
    guess_.reason = "indices below the " + std::to_string(table->front()) + " rows of " + constantName(graph_, node, 0);
    if (guess_.shapes.empty())
      guess_.shapes = {{kBatch, kLength}, {kBatch, 16}, {kBatch, 12}, {kLength}, {kBatch, 32}, {kBatch}};
  }

  void matmul(const Node& node, size_t operand) {
    const size_t left = node.kind == OpKind::MatMul ? 0 : 1;
    const auto weight = constantShape(graph_, node, left + 1);
    if (operand != left || !weight || weight->empty()) return;
    const int64_t width = weight->size() == 1 ? weight->front() : (*weight)[weight->size() - 2];
    auto shapes = withTrailing({width});
    if (node.kind == OpKind::AddMatMul)
      std::ranges::stable_partition(shapes, [](const Shape& s) { return s.size() == 2; });
    demand(std::move(shapes), "the rows of " + constantName(graph_, node, left + 1));
  }

  void convolution(const Node& node) {
    const auto weight = constantShape(graph_, node, 1);
    if (!weight || weight->size() < 3) return;
    const bool transposed = graph::boolAttribute(node, "transposed");
    const int64_t groups = graph::intAttribute(node, "groups").value_or(1);
    const int64_t channels = transposed ? weight->front() : (*weight)[1] * groups;
    const size_t spatial = weight->size() - 2;
    std::vector<int64_t> sides = spatial == 2 ? sidesOfPositionTables(graph_, weight->back()) : std::vector<int64_t>{};
    for (const int64_t side : {32, 64, 224, 256, 28, 16, 96, 128, 10, 400}) sides.push_back(side);
    std::vector<Shape> shapes;
    for (const int64_t side : sides) {
      Shape shape = {kBatch, channels};
      shape.insert(shape.end(), spatial, spatial == 3 ? std::min<int64_t>(side, 32) : side);
      shapes.push_back(std::move(shape));
    }
    // A channel that is added on the way, or channels that are last.
    if (channels == 1) {
      Shape without(1 + spatial, sides.front());
      without.front() = kBatch;
      shapes.push_back(std::move(without));
    }
    Shape last(spatial + 2, sides.front());
    last.front() = kBatch;
    last.back() = channels;
    shapes.push_back(std::move(last));
    demand(std::move(shapes), "the channels of " + constantName(graph_, node, 1));
  }

  void recurrent(const Node& node, size_t operand) {
    if (operand != 0) return;
    // The first weight of rank 2 multiplies the input.
    for (size_t i = 1; i < node.operands.size(); ++i) {
      const auto weight = constantShape(graph_, node, i);
      if (weight && weight->size() == 2)
        return demand(withTrailing({weight->back()}), "the width of a recurrent layer");
    }
  }

  // The first demand in execution order counts.
  void demand(std::vector<Shape> shapes, std::string reason) {
    if (!guess_.shapes.empty()) return;
    guess_.shapes = std::move(shapes);
    guess_.reason = std::move(reason);
  }

  const Graph& graph_;
  std::set<ValueId> open_;
  InputGuess guess_;
};

}  // namespace

InputGuess guessInput(const Graph& graph, ValueId input) { return Guesser(graph, input).run(); }

}  // namespace normlens::formats::torchscript
