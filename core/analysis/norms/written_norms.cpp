#include "core/analysis/norms/written_norms.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/norm_tail.h"
#include "core/analysis/norms/norms.h"
#include "core/analysis/norms/row_sum.h"
#include "core/analysis/norms/row_values.h"
#include "core/analysis/norms/written_nodes.h"
#include "core/graph/queries.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Function;
using Symbol = RowPolynomial::Symbol;

namespace {

// Finds the places of norms that are written out: the roots, and the values that each may be the norm of.
constexpr size_t kMostNodes = 64;  // One norm has no more, its views included.
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

// sqrt(something + something), or the RmsNorm of a difference that nothing else reads.
bool mayBeRoot(const Graph& graph, const Node& node) {
  if (node.kind == OpKind::RmsNorm) return isOfOwnDifference(graph, node);
  if (node.kind != OpKind::Elementwise || node.operands.empty()) return false;
  const Node* sum = producerOf(graph, node.operands[0]);
  while (sum != nullptr && isView(*sum)) sum = producerOf(graph, sum->operands[0]);
  if (sum == nullptr || sum->kind != OpKind::Add) return false;
  return node.function == Function::SquareRoot || node.function == Function::InverseSquareRoot ||
         node.function == Function::Power;
}

// Returns what may be the input of the norm with this root, and its rows: the last values before the statistics. The
// likeliest first.
std::vector<RowBase> basesBefore(const Graph& graph, NodeId root) { return BaseFinder(graph).before(graph.node(root)); }

constexpr size_t kMostWritten = 64;  // from the root of a norm on, its views included
constexpr size_t kMostAround = 256;  // with what these are made of
constexpr double kExactMatch = 1e-12;
constexpr double kNear = 4e-6;  // with a 1/n in float32

// A norm goes on behind such a node.
bool mayGoOn(OpKind kind) {
  switch (kind) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::Neg:
    case OpKind::Elementwise:
    case OpKind::Identity:
    case OpKind::Cast:
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Expand:
      return true;
    default:
      return false;
  }
}

class Matcher {
 public:
  Matcher(const Graph& graph, NodeId root, const RowBase& base)
      : graph_(graph), root_(root), base_(base), shape_(*graph.value(base.value).shape), values_(graph, base, root) {
    followAll();
  }

  [[nodiscard]] std::optional<LayerNorm> layerNorm() {
    if (!values_.root() || values_.root()->ofMeanSquare || base_.throughCasts) return std::nullopt;
    std::optional<LayerNorm> blocked;
    for (const End& end : ends_) {
      auto found = layerNormEndingAt(end);
      if (found && found->blockedReason.empty()) return found;
      if (!blocked) blocked = std::move(found);
    }
    return blocked;
  }

  [[nodiscard]] std::optional<OtherNorm> rmsNorm() {
    if (!values_.root() || !values_.root()->ofMeanSquare || ends_.empty() || ends_[0].beta) return std::nullopt;
    return rmsNormEndingAt(ends_[0]);
  }

 private:
  // Marks a value in which all of a norm has been computed, perhaps with gamma and beta in it.
  struct End {
    ValueId value = kNoValue;
    bool exact = false;
    bool gamma = false, beta = false;
  };

  // Collects the nodes near the root: what goes on from it, and what that is made of. Others may read the base, too.
  [[nodiscard]] std::set<NodeId> nodesAround() const {
    const auto isNear = [&](NodeId id) { return id != kNone && graph_.node(id).block == graph_.node(root_).block; };
    std::vector<NodeId> queue{root_};
    std::set<NodeId> found{root_};
    const auto take = [&](NodeId id) {
      if (isNear(id) && found.insert(id).second) queue.push_back(id);
    };
    for (size_t next = 0; next < queue.size() && queue.size() < kMostWritten; ++next) {
      const Node& node = graph_.node(queue[next]);
      if (!mayGoOn(node.kind) && queue[next] != root_) continue;
      for (const ValueId made : node.outputs) {
        for (const graph::Use& use : graph_.value(made).uses) take(use.node);
      }
    }
    for (size_t next = 0; next < queue.size() && queue.size() < kMostAround; ++next) {
      for (const ValueId operand : graph_.node(queue[next]).operands) {
        if (operand != kNoValue && operand != base_.value) take(graph_.value(operand).producer);
      }
    }
    return found;
  }

  // In execution order, so that what a node reads has been followed before it.
  void followAll() {
    const std::set<NodeId> around = nodesAround();
    std::set<NodeId> waiting;
    const auto readersOf = [&](ValueId value) {
      for (const graph::Use& use : graph_.value(value).uses) {
        if (around.contains(use.node)) waiting.insert(use.node);
      }
    };
    readersOf(base_.value);
    while (!waiting.empty()) {
      const NodeId id = *waiting.begin();
      waiting.erase(waiting.begin());
      if (!values_.follow(id)) continue;
      const ValueId made = graph_.node(id).outputs[0];
      noteEnd(made);
      readersOf(made);
    }
  }

  void noteEnd(ValueId made) {
    const RowValue& value = *values_.find(made);
    const auto& itself = graph_.value(made);
    const bool stands = !graph::boolAttribute(graph_.node(itself.producer), "inside");
    const bool sameType = base_.throughCasts || itself.dtype == graph_.value(base_.value).dtype;
    if (!values_.root() || !stands || !sameType || itself.shape != shape_) return;
    if (!sameLayout(value.layout, rowsOver(shape_, base_.axes))) return;
    const auto x = values_.root()->ofMeanSquare ? RowPolynomial(Symbol::Element) : RowPolynomial::centered();
    const auto plain = *x.times(RowPolynomial(Symbol::Scale));
    for (const bool gamma : {false, true}) {
      for (const bool beta : {false, true}) {
        auto wanted = gamma ? *plain.times(RowPolynomial(Symbol::Gamma)) : plain;
        if (beta) wanted = *wanted.plus(RowPolynomial(Symbol::Beta));
        const double distance = value.is.distanceTo(wanted);
        if (distance < kNear) ends_.push_back({made, distance <= kExactMatch, gamma, beta});
      }
    }
  }

  // Nodes between the base and `value`.
  std::set<NodeId> membersOf(ValueId value) const {
    std::set<NodeId> members;
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (id == kNoValue || id == base_.value || values_.find(id) == nullptr) continue;
      const NodeId producer = graph_.value(id).producer;
      if (!members.insert(producer).second) continue;
      const auto& operands = graph_.node(producer).operands;
      open.insert(open.end(), operands.begin(), operands.end());
    }
    return members;
  }

  // Every element stays in its place, and means are reductions.
  [[nodiscard]] bool staysInPlace(const std::set<NodeId>& members) const {
    return std::ranges::all_of(members, [&](NodeId member) {
      const Node& node = graph_.node(member);
      switch (node.kind) {
        case OpKind::MatMul:
        case OpKind::Linear:
        case OpKind::Einsum:
        case OpKind::Permute:
          return false;
        case OpKind::Reshape:
          return !values_.find(node.outputs[0])->is.has(Symbol::Element);
        default:
          return true;
      }
    });
  }

  std::optional<LayerNorm> layerNormEndingAt(const End& end) const {
    const std::set<NodeId> members = membersOf(end.value);
    if (!members.contains(root_)) return std::nullopt;
    LayerNorm norm;
    norm.form = NormForm::Decomposed;
    norm.node = graph_.value(end.value).producer;
    norm.members.assign(members.begin(), members.end());
    norm.input = base_.value;
    norm.output = end.value;
    norm.anew = !staysInPlace(members);
    norm.axes = base_.axes;
    for (const int64_t axis : norm.axes) norm.normalizedShape.push_back(shape_.at(static_cast<size_t>(axis)));
    norm.eps = values_.root()->eps;
    if (end.gamma) norm.innerGamma = values_.gamma();
    if (end.beta) norm.innerBeta = values_.beta();
    if (values_.rounded() || !end.exact)
      norm.blockedReason = "it takes its means with a rounded 1/" + std::to_string(values_.width());
    if (!leaveOutMeans(norm)) norm.blockedReason = "its mean cannot be taken out of it";
    norm.asOne = isSeenAsOne(norm);
    if (const auto reason = writtenInBetween(graph_, norm.members, norm.input, norm.output); !reason.empty())
      norm.blockedReason = reason;
    if (norm.asOne && !isClosed(graph_, norm.members, norm.output, keepingTheirShape(norm)))
      norm.blockedReason = "its mean or deviation is used elsewhere";
    return norm;
  }

  // Sums one side of which is nothing but the mean's share. Subtractions from the input are known as such.
  bool leaveOutMeans(LayerNorm& norm) const {
    for (const NodeId member : norm.members) {
      const Node& node = graph_.node(member);
      if (node.kind != OpKind::Add && node.kind != OpKind::Sub) continue;
      if (!norm.anew && node.kind == OpKind::Sub && node.operands[0] == norm.input) continue;
      const auto isShare = [&](size_t side) {
        const RowValue* value = values_.find(node.operands[side]);
        return value != nullptr && value->is.vanishesWithoutMean();
      };
      const bool first = isShare(0), second = isShare(1);
      if (first == second) continue;
      const size_t stays = first ? 1 : 0;
      if ((first && node.kind == OpKind::Sub) || !mayStandFor(node.operands[stays], node.outputs[0])) return false;
      norm.leftOut.push_back({member, stays});
    }
    return true;
  }

  // It has the same shape, or those that read the other have theirs from something else.
  [[nodiscard]] bool mayStandFor(ValueId value, ValueId other) const {
    return graph::sameTypeAndShape(graph_, value, other) ||
           std::ranges::all_of(graph_.value(other).uses, [&](const graph::Use& use) {
             if (use.node == kNone || graph_.node(use.node).kind == OpKind::ShapeQuery) return true;  // see isClosed()
             const Node& reader = graph_.node(use.node);
             return std::ranges::any_of(reader.operands, [&](ValueId beside) {
               return beside != kNoValue && beside != other &&
                      graph::sameTypeAndShape(graph_, beside, reader.outputs[0]);
             });
           });
  }

  // Those of the members whose sizes folding leaves as they are.
  [[nodiscard]] std::vector<NodeId> keepingTheirShape(const LayerNorm& norm) const {
    std::vector<NodeId> keeping = norm.members;
    for (const auto& [node, stays] : norm.leftOut) {
      const Node& sum = graph_.node(node);
      if (!graph::sameTypeAndShape(graph_, sum.operands[stays], sum.outputs[0])) std::erase(keeping, node);
    }
    return keeping;
  }

  // Not what the rules of its single ops show not to notice a shift of x: statistics of x, and x less its mean.
  [[nodiscard]] bool isSeenAsOne(const LayerNorm& norm) const {
    const bool gammaInside = norm.innerGamma != kNoValue && graph_.node(root_).kind != OpKind::RmsNorm;
    if (norm.anew || !norm.leftOut.empty() || gammaInside || norm.innerBeta != kNoValue) return true;
    return std::ranges::any_of(norm.members, [&](NodeId member) {
      const Node& node = graph_.node(member);
      const bool readsInput = std::ranges::find(node.operands, norm.input) != node.operands.end();
      return readsInput && node.kind != OpKind::Reduce && !ops::explicitCentering(graph_, node);
    });
  }

  std::optional<OtherNorm> rmsNormEndingAt(const End& end) {
    std::set<NodeId> members = membersOf(end.value);
    if (!members.contains(root_) || !staysInPlace(members)) return std::nullopt;
    OtherNorm norm;
    norm.kind = OtherNormKind::RmsNorm;
    norm.form = NormForm::Decomposed;
    norm.input = base_.value;
    if (end.gamma) norm.gamma = values_.gamma();
    const graph::Shape row(shape_.end() - static_cast<std::ptrdiff_t>(base_.axes.size()), shape_.end());
    const NormTail tail = tailOf(graph_, end.value, row, graph_.value(norm.input).dtype,
                                 {.gamma = norm.gamma == kNoValue, .beta = false});
    members.insert(tail.nodes.begin(), tail.nodes.end());
    if (tail.gamma != kNoValue) norm.gamma = tail.gamma;
    norm.output = tail.output;
    dropSharedCasts(members);
    addMakers(norm.gamma, members);
    norm.node = graph_.value(norm.output).producer;
    norm.members.assign(members.begin(), members.end());
    if (!writtenInBetween(graph_, norm.members, norm.input, norm.output).empty()) return std::nullopt;
    norm.axes = base_.axes;
    norm.eps = values_.root()->eps;
    norm.exactMeans = !values_.rounded() && end.exact;
    return norm;
  }

  [[nodiscard]] bool isReadByThemAlone(ValueId value, const std::set<NodeId>& members) const {
    return std::ranges::all_of(graph_.value(value).uses,
                               [&](const graph::Use& use) { return members.contains(use.node); });
  }

  // Casts of x, and what makes 1 + gamma, belong to the norm unless somebody else reads them, too.
  void dropSharedCasts(std::set<NodeId>& members) const {
    const std::vector<NodeId> all(members.rbegin(), members.rend());
    for (const NodeId member : all) {
      const Node& node = graph_.node(member);
      const RowValue* value = values_.find(node.outputs[0]);
      const bool castsInput = isTypeCast(node) && value != nullptr && !value->is.has(Symbol::Scale);
      if (castsInput && !isReadByThemAlone(node.outputs[0], members)) members.erase(member);
    }
  }
  void addMakers(ValueId value, std::set<NodeId>& members) const {
    const Node* node = producerOf(graph_, value);
    if (node == nullptr || node->outputs.size() != 1 || !isReadByThemAlone(value, members)) return;
    members.insert(graph_.value(value).producer);
    for (const ValueId operand : node->operands) addMakers(operand, members);
  }

  const Graph& graph_;
  NodeId root_;
  RowBase base_;
  const graph::Shape& shape_;
  RowValues values_;
  std::vector<End> ends_;
};

}  // namespace

Norms writtenNorms(const Graph& graph) {
  Norms out;
  std::set<ValueId> ends;
  for (const NodeId id : graph.executionOrder()) {
    if (!mayBeRoot(graph, graph.node(id))) continue;
    std::optional<LayerNorm> layerNorm;
    std::optional<OtherNorm> rmsNorm;
    for (const RowBase& base : basesBefore(graph, id)) {
      Matcher matcher(graph, id, base);
      auto found = matcher.layerNorm();
      const bool whole = found && found->blockedReason.empty();
      if (whole || !layerNorm) layerNorm = std::move(found);
      if (whole) break;
      if (!rmsNorm) rmsNorm = matcher.rmsNorm();
    }
    if (layerNorm) {
      if (ends.insert(layerNorm->output).second) out.layerNorms.push_back(std::move(*layerNorm));
    } else if (rmsNorm && ends.insert(rmsNorm->output).second) {
      out.others.push_back(std::move(*rmsNorm));
    }
  }
  return out;
}

}  // namespace normlens::analysis
