#include "core/analysis/norms/row_bases.h"

#include <algorithm>
#include <set>

#include "core/analysis/norms/norm_tail.h"
#include "core/analysis/norms/norms.h"
#include "core/analysis/norms/row_sum.h"
#include "core/analysis/norms/written_nodes.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Function;
using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

namespace {

constexpr size_t kMostNodes = 64;  // of one norm, its views included
constexpr size_t kImageRank = 4;   // [batch, channels, height, width]

// Each module that reads a centered stream may compute it anew.
std::ptrdiff_t centeringsOf(const Graph& graph, ValueId x) {
  return std::ranges::count_if(graph.value(x).uses, [&](const graph::Use& use) {
    return use.node != kNone && use.operand == 0 && ops::explicitCentering(graph, graph.node(use.node));
  });
}

// For it alone: what is centered for others, too, is a stream that is centered once for several norms.
bool isOfOwnDifference(const Graph& graph, const Node& rmsNorm) {
  const Node* sub = producerOf(graph, graph::operandAt(rmsNorm, 0));
  return sub != nullptr && sub->kind == OpKind::Sub && !graph::boolAttribute(rmsNorm, "fused") &&
         graph.value(rmsNorm.operands[0]).uses.size() == 1 && centeringsOf(graph, sub->operands[0]) <= 1;
}

// Before the casts that round nothing.
ValueId beforeCasts(const Graph& graph, ValueId value) {
  for (const Node* node = producerOf(graph, value); node != nullptr && isTypeCast(*node);
       node = producerOf(graph, value)) {
    const ValueId source = graph::operandAt(*node, 0);
    if (source == kNoValue || !graph::castIsExact(graph.value(source).dtype, graph.value(value).dtype)) break;
    value = source;
  }
  return value;
}

// The last axes, as many as hold a row; empty: none do.
std::vector<int64_t> axesOfRow(const Shape& shape, int64_t width) {
  std::vector<int64_t> axes;
  int64_t size = 1;
  for (size_t i = shape.size(); i-- > 0 && size < width;) {
    size *= shape[i];
    axes.insert(axes.begin(), static_cast<int64_t>(i));
  }
  return size == width ? axes : std::vector<int64_t>{};
}

class BaseFinder {
 public:
  explicit BaseFinder(const Graph& graph) : graph_(graph) {}

  std::vector<RowBase> before(const Node& root) {
    if (root.kind == OpKind::RmsNorm) {
      const auto axes = graph::intsAttribute(root, "axes");
      if (axes) add({producerOf(graph_, root.operands[0])->operands[0], *axes});
    } else {
      visit(root.operands[0]);
    }
    return std::move(found_);
  }

 private:
  void visit(ValueId value) {
    const Node* node = producerOf(graph_, value);
    if (node == nullptr || seen_.size() >= kMostNodes || !seen_.insert(value).second) return;
    if (const auto sum = rowSum(graph_, *node)) return note(*sum);
    for (const ValueId operand : node->operands) visit(operand);
  }

  // Adds the x of mean(x), mean(x^2) and mean((x - mean)^2), and what it is a view of: that one first, unless the axes
  // are those of a norm as they are.
  void note(const RowSum& sum) {
    const Shape* shape = ops::shapeOf(graph_, sum.data);
    if (shape == nullptr) return;
    std::vector<int64_t> axes = sum.axes;
    std::ranges::sort(axes);
    int64_t width = 1;
    for (const int64_t axis : axes) width *= shape->at(static_cast<size_t>(axis));
    const bool ofChannels = shape->size() == kImageRank && axes == std::vector<int64_t>{1};
    const bool asItIs = ofChannels || areLastAxes(axes, shape->size());
    const Node* made = producerOf(graph_, sum.data);
    ValueId data = sum.data;
    if (const ValueId squared = made == nullptr ? kNoValue : squareBase(graph_, *made); squared != kNoValue) {
      data = squared;
      made = producerOf(graph_, data);
      if (made != nullptr && made->kind == OpKind::Sub) data = made->operands[0];
      if (asItIs && !ofChannels) addSquared(squared, axes);
    }
    if (asItIs) add({data, axes});
    addViews(data, width);
  }

  // Adds what may be the input of an RMSNorm.
  void addSquared(ValueId squared, const std::vector<int64_t>& axes) {
    if (const ValueId source = beforeCasts(graph_, squared); source != squared) add({source, axes, true});
    add({squared, axes});
  }

  void addViews(ValueId data, int64_t width) {
    std::vector<ValueId> views = {data};
    for (const Node* made = producerOf(graph_, data);
         made != nullptr && (isView(*made) || made->kind == OpKind::Permute) && views.size() < kMostNodes;
         made = producerOf(graph_, views.back())) {
      views.push_back(made->operands[0]);
    }
    for (; !views.empty(); views.pop_back()) {
      if (const Shape* shape = ops::shapeOf(graph_, views.back())) add({views.back(), axesOfRow(*shape, width)});
    }
  }

  void add(const RowBase& base) {
    const auto& value = graph_.value(base.value);
    if (!value.shape || !graph::isFloat(value.dtype) || !graph::elementCount(*value.shape) || base.axes.empty() ||
        base.axes.back() >= static_cast<int64_t>(value.shape->size())) {
      return;
    }
    int64_t width = 1;
    for (const int64_t axis : base.axes) width *= value.shape->at(static_cast<size_t>(axis));
    if (width >= 2 && std::ranges::find(found_, base) == found_.end()) found_.push_back(base);
  }

  const Graph& graph_;
  std::set<ValueId> seen_;
  std::vector<RowBase> found_;
};

}  // namespace

bool mayBeRoot(const Graph& graph, const Node& node) {
  if (node.kind == OpKind::RmsNorm) return isOfOwnDifference(graph, node);
  if (node.kind != OpKind::Elementwise || node.operands.empty()) return false;
  const Node* sum = producerOf(graph, node.operands[0]);
  while (sum != nullptr && isView(*sum)) sum = producerOf(graph, sum->operands[0]);
  if (sum == nullptr || sum->kind != OpKind::Add) return false;
  return node.function == Function::SquareRoot || node.function == Function::InverseSquareRoot ||
         node.function == Function::Power;
}

std::vector<RowBase> basesBefore(const Graph& graph, NodeId root) { return BaseFinder(graph).before(graph.node(root)); }

}  // namespace normlens::analysis
