#include "core/analysis/norms/algebraic_norm.h"

#include <algorithm>
#include <optional>

#include "core/analysis/norms/row_sum.h"
#include "core/analysis/norms/row_values.h"
#include "core/analysis/norms/written_parts.h"
#include "core/graph/queries.h"
#include "core/ops/index_maps.h"

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

bool isViewOrPermute(const Node& node) { return isView(node) || node.kind == OpKind::Permute; }

// What may be the input of the norm with this root, and the size of its rows: the last values before the statistics.
struct Base {
  ValueId value = kNoValue;
  int64_t width = 0;
};

class BaseFinder {
 public:
  explicit BaseFinder(const Graph& graph) : graph_(graph) {}

  std::vector<Base> before(NodeId root) {
    visit(graph_.node(root).operands[0]);
    return std::move(found_);
  }

 private:
  void visit(ValueId value) {
    const Node* node = producerOf(graph_, value);
    if (node == nullptr || seen_.size() >= kMostNodes || !seen_.insert(value).second) return;
    if (const auto sum = rowSum(graph_, *node)) return note(*sum);
    for (const ValueId operand : node->operands) visit(operand);
  }

  // Of mean(x), mean(x^2) and mean((x - mean)^2) the x, and what it is a view of: that one first.
  void note(const RowSum& sum) {
    ValueId data = sum.data;
    const Shape* shape = ops::shapeOf(graph_, data);
    if (shape == nullptr) return;
    int64_t width = 1;
    for (const int64_t axis : sum.axes) width *= shape->at(static_cast<size_t>(axis));
    const Node* made = producerOf(graph_, data);
    if (const ValueId squared = made == nullptr ? kNoValue : squareBase(graph_, *made); squared != kNoValue) {
      data = squared;
      made = producerOf(graph_, data);
      if (made != nullptr && made->kind == OpKind::Sub) data = made->operands[0];
    }
    std::vector<Base> views = {{data, width}};
    for (made = producerOf(graph_, data); made != nullptr && isViewOrPermute(*made) && views.size() < kMostNodes;
         made = producerOf(graph_, data)) {
      data = made->operands[0];
      views.push_back({data, width});
    }
    for (; !views.empty(); views.pop_back()) {
      const auto known = [&](const Base& base) {
        return base.value == views.back().value && base.width == views.back().width;
      };
      if (std::ranges::none_of(found_, known)) found_.push_back(views.back());
    }
  }

  const Graph& graph_;
  std::set<ValueId> seen_;
  std::vector<Base> found_;
};

class AlgebraicMatcher {
 public:
  AlgebraicMatcher(const Graph& graph, NodeId root, Base base)
      : graph_(graph), root_(root), base_(base), values_(graph, base.value, base.width, root) {}

  // nullopt: there is no such norm. `axes`: of the base, those of a row.
  std::optional<LayerNorm> match(std::vector<int64_t> axes) {
    followAll();
    if (!values_.eps() || ends_.empty()) return std::nullopt;
    std::optional<LayerNorm> blocked;
    for (; !ends_.empty(); ends_.pop_back()) {
      auto found = normEndingAt(ends_.back(), axes);
      if (found && found->blockedReason.empty()) return found;
      if (found) blocked = std::move(found);
    }
    return blocked;
  }

 private:
  // In execution order, so that what a node reads has been followed before it.
  void followAll() {
    const graph::BlockId block = graph_.node(root_).block;
    std::set<NodeId> waiting;
    const auto readersOf = [&](ValueId value) {
      for (const graph::Use& use : graph_.value(value).uses) {
        if (use.node != kNone && graph_.node(use.node).block == block) waiting.insert(use.node);
      }
    };
    readersOf(base_.value);
    const RowLayout whole = contiguousLayout(*graph_.value(base_.value).shape);
    for (size_t followed = 0; !waiting.empty() && followed < kMostNodes;) {
      const NodeId id = *waiting.begin();
      waiting.erase(waiting.begin());
      if (!values_.follow(id)) continue;
      ++followed;
      const ValueId made = graph_.node(id).outputs[0];
      const RowValue& value = *values_.find(made);
      const bool stands = !graph::boolAttribute(graph_.node(id), "inside");
      const bool ends = stands && sameLayout(value.layout, whole) && distance(value.is) < kNear;
      if (ends && graph::sameTypeAndShape(graph_, made, base_.value)) ends_.push_back(made);
      readersOf(made);
    }
  }

  static double distance(const RowPolynomial& value) { return value.distanceTo(RowPolynomial::normalized()); }

  std::optional<LayerNorm> normEndingAt(ValueId end, const std::vector<int64_t>& axes) {
    members_.clear();
    collect(end);
    if (!members_.contains(root_)) return std::nullopt;
    LayerNorm norm;
    norm.form = NormForm::Decomposed;
    norm.node = graph_.value(end).producer;
    norm.members.assign(members_.begin(), members_.end());
    norm.input = base_.value;
    norm.output = end;
    norm.asOne = norm.anew = true;
    norm.axes = axes;
    for (const int64_t axis : axes)
      norm.normalizedShape.push_back(graph_.value(base_.value).shape->at(static_cast<size_t>(axis)));
    norm.eps = *values_.eps();
    if (values_.rounded() || distance(values_.find(end)->is) > kExact)
      norm.blockedReason = "it takes its means with a rounded 1/" + std::to_string(base_.width);
    if (!leaveOutMeans(norm)) norm.blockedReason = "its mean cannot be taken out of it";
    if (!isClosed(graph_, norm.members, norm.output, norm.members))
      norm.blockedReason = "its mean or deviation is used elsewhere";
    return norm;
  }

  // Nodes between the base and `value`.
  void collect(ValueId value) {
    if (value == base_.value || values_.find(value) == nullptr) return;
    const NodeId producer = graph_.value(value).producer;
    if (!members_.insert(producer).second) return;
    for (const ValueId operand : graph_.node(producer).operands) {
      if (operand != kNoValue) collect(operand);
    }
  }

  // Sums one side of which is nothing but the mean's share.
  bool leaveOutMeans(LayerNorm& norm) const {
    for (const NodeId member : norm.members) {
      const Node& node = graph_.node(member);
      if (node.kind != OpKind::Add && node.kind != OpKind::Sub) continue;
      const auto isShare = [&](size_t side) {
        const RowValue* value = values_.find(node.operands[side]);
        return value != nullptr && value->is.vanishesWithoutMean();
      };
      const bool first = isShare(0), second = isShare(1);
      if (first == second) continue;
      const size_t stays = first ? 1 : 0;
      if ((first && node.kind == OpKind::Sub) ||
          !graph::sameTypeAndShape(graph_, node.operands[stays], node.outputs[0]))
        return false;
      norm.leftOut.push_back({member, stays});
    }
    return true;
  }

  static constexpr double kExact = 1e-12;
  static constexpr double kNear = 4e-6;  // with a 1/n in float32

  const Graph& graph_;
  NodeId root_;
  Base base_;
  RowValues values_;
  std::vector<ValueId> ends_;
  std::set<NodeId> members_;
};

// sqrt(something + something)
bool mayBeRoot(const Graph& graph, const Node& node) {
  if (node.kind != OpKind::Elementwise || node.operands.empty()) return false;
  const Node* sum = producerOf(graph, node.operands[0]);
  while (sum != nullptr && isView(*sum)) sum = producerOf(graph, sum->operands[0]);
  if (sum == nullptr || sum->kind != OpKind::Add) return false;
  return node.function == Function::SquareRoot || node.function == Function::InverseSquareRoot ||
         node.function == Function::Power;
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

std::optional<LayerNorm> matchAt(const Graph& graph, NodeId root) {
  std::optional<LayerNorm> blocked;
  for (const Base& base : BaseFinder(graph).before(root)) {
    const auto& value = graph.value(base.value);
    if (!value.shape || base.width < 2 || !graph::isFloat(value.dtype) || !value.opaqueReason.empty() ||
        !graph::elementCount(*value.shape)) {
      continue;
    }
    auto axes = axesOfRow(*value.shape, base.width);
    if (axes.empty()) continue;
    auto found = AlgebraicMatcher(graph, root, base).match(std::move(axes));
    if (found && found->blockedReason.empty()) return found;
    if (!blocked) blocked = std::move(found);
  }
  return blocked;
}

}  // namespace

std::vector<LayerNorm> algebraicNorms(const Graph& graph, const std::set<NodeId>& taken) {
  std::vector<LayerNorm> out;
  std::set<ValueId> ends;
  for (const NodeId id : graph.executionOrder()) {
    if (!mayBeRoot(graph, graph.node(id)) || taken.contains(id)) continue;
    auto norm = matchAt(graph, id);
    if (norm && ends.insert(norm->output).second) out.push_back(std::move(*norm));
  }
  return out;
}

}  // namespace normlens::analysis
