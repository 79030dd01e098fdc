#include "core/formats/edit/plan_translator.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/formats/edit/edit_refused.h"
#include "core/graph/queries.h"
#include "core/ops/axis_size.h"
#include "core/ops/rules.h"

namespace normlens::formats {
namespace {

using analysis::LayerNorm;
using graph::Graph;
using graph::OpKind;
using graph::ValueId;
using ops::AxisSize;

template <class Wanted, class Action>
void forEach(const fold::FoldPlan& plan, const Action& action) {
  for (const auto& edit : plan.edits) {
    if (const auto* wanted = std::get_if<Wanted>(&edit)) action(*wanted);
  }
}

// In some run the first, broadcast against the second, may be the larger along an axis.
bool mayWiden(const Graph& graph, ValueId broadcast, ValueId value) {
  const auto& from = *graph.value(broadcast).shape;
  const auto& to = *graph.value(value).shape;
  if (from.size() > to.size()) return true;
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t axis = i + to.size() - from.size();
    const AxisSize mine = ops::axisSize(graph, broadcast, i), theirs = ops::axisSize(graph, value, axis);
    const bool single = mine.kind == AxisSize::Kind::Fixed && from[i] == 1;
    const bool wide = theirs.kind == AxisSize::Kind::Fixed && to[axis] > 1;
    const bool same = mine.kind == AxisSize::Kind::Free && mine == theirs;
    if (!single && !wide && !same) return true;
  }
  return false;
}

// The operand of the Add or Sub that its result is, once this read of it is 0; in a run with any sizes. nullopt: the
// result is another one, may have another shape or type, or that operand is in `open`, the reads still to be dropped.
std::optional<size_t> resultWithout(const Graph& graph, const graph::Use& read, const std::set<graph::Use>& open) {
  if (read.node == graph::kNone) return std::nullopt;
  const auto& node = graph.node(read.node);
  const bool adds = node.kind == OpKind::Add || node.kind == OpKind::Sub;
  if (!adds || node.operands.size() != 2 || read.operand > 1) return std::nullopt;
  const int other = 1 - read.operand;
  if (open.contains({read.node, other, graph::kNone})) return std::nullopt;
  if (other == 1 && (node.kind == OpKind::Sub || !ops::plainAlpha(node))) return std::nullopt;
  const ValueId stays = node.operands[static_cast<size_t>(other)];
  const ValueId goes = node.operands[static_cast<size_t>(read.operand)];
  if (stays == graph::kNoValue || goes == graph::kNoValue || !graph.value(goes).shape) return std::nullopt;
  if (!graph::sameTypeAndShape(graph, stays, node.outputs[0]) || mayWiden(graph, goes, stays)) return std::nullopt;
  return static_cast<size_t>(other);
}

class Translator {
 public:
  Translator(const fold::FoldPlan& plan, const graph::Graph& graph, const std::vector<LayerNorm>& norms,
             EditTarget& target)
      : plan_(plan), graph_(graph), norms_(norms), target_(target) {}

  void run() {
    forEach<fold::AbsorbScale>(plan_, [&](const auto& edit) {
      if (!edit.nodeStays) bypass(edit.scaleNode, edit.dataOperand);
    });
    std::vector<fold::RestoreMean> restored;
    forEach<fold::RestoreMean>(plan_, [&](const auto& edit) {
      const size_t parts = edit.linears.size() + edit.constants.size() + edit.values.size() + edit.earlier.size();
      if (edit.uses.empty() || parts == 0) throw EditRefused("a mean without parts, or for no read, is given back");
      restored.push_back(edit);
    });
    if (!restored.empty()) target_.restore(restored);
    // Those that write out an op come last: the others are found by the inputs of that op.
    centerAll(/*inside=*/false);
    dropAddends();
    centerAll(/*inside=*/true);
    for (const bool inside : {false, true}) {
      for (const auto& edit : plan_.streams.reads)
        insert(edit, inside, "narrowed", [&](const auto& shape) { return ReadCode::channels(shape, edit); });
    }
    for (const auto& edit : plan_.streams.sizes) target_.resize(edit);
    forEach<fold::AbsorbShift>(plan_, [&](const auto& edit) { moveShift(edit); });
    forEach<fold::AbsorbGain>(plan_, [&](const auto& edit) {
      if (graph_.node(edit.gainNode).kind == OpKind::Mul) bypass(edit.gainNode, 1 - edit.gainOperand);
      withoutGamma_.insert(edit.gainNode);
    });
    forEach<fold::ReplaceNorm>(plan_, [&](const auto& edit) { replace(edit); });
    if (!withoutBeta_.empty()) throw EditRefused("the plan moves the shift of a norm that it does not replace");
  }

 private:
  void bypass(graph::NodeId id, int operand) {
    const auto& node = graph_.node(id);
    const auto kept = static_cast<size_t>(operand);
    if (!graph::sameTypeAndShape(graph_, node.operands.at(kept), node.outputs.at(0))) {
      throw EditRefused("'" + node.name + "' changes its operand's shape or type and cannot be left out");
    }
    target_.bypass(id, kept);
  }

  void centerAll(bool inside) {
    forEach<fold::InsertCentering>(plan_, [&](const auto& edit) {
      insert(edit, inside, "centered", [&](const auto& shape) { return ReadCode::centering(shape, edit.pattern); });
    });
  }

  template <class Edit, class CodeFor>
  void insert(const Edit& edit, bool inside, const char* what, const CodeFor& codeFor) {
    const bool any = std::ranges::any_of(edit.uses, [&](const auto& use) { return target_.isInside(use); });
    if (any != inside) return;
    const auto& value = graph_.value(edit.value);
    if (!value.shape) throw EditRefused("the shape of '" + value.name + "', which is to be " + what + ", is not known");
    target_.insert(edit.value, edit.uses, codeFor(*value.shape));
  }

  void dropAddends() {
    std::set<graph::Use> open;  // each once
    forEach<fold::DropAddend>(plan_, [&](const auto& edit) {
      // A plan file may name a block of a node's read, too.
      for (const auto& use : edit.uses)
        open.insert({use.node, use.operand, use.node == graph::kNone ? use.block : graph::kNone});
    });
    while (!open.empty()) {
      const graph::Use read = *open.begin();
      open.erase(open.begin());
      target_.drop(read, resultWithout(graph_, read, open));
    }
  }

  // A norm of its own op loses its beta when it is replaced.
  void moveShift(const fold::AbsorbShift& edit) {
    if (graph_.node(edit.shiftNode).kind != OpKind::LayerNorm) bypass(edit.shiftNode, 1 - edit.shiftOperand);
    withoutBeta_.insert(edit.norm);
  }

  void replace(const fold::ReplaceNorm& edit) {
    const auto& norm = norms_.at(static_cast<size_t>(edit.norm));
    if (!norm.blockedReason.empty()) throw EditRefused("'" + norm.name + "' cannot be replaced: " + norm.blockedReason);
    const bool keepsBeta = withoutBeta_.erase(edit.norm) == 0 && edit.narrow == 0;
    const auto hasLost = [&](graph::NodeId node) { return withoutGamma_.contains(node); };
    if (norm.form == analysis::NormForm::Decomposed) {
      const auto& behind = graph_.value(norm.output).uses;
      target_.replaceDecomposed(norm, {std::ranges::none_of(behind, hasLost, &graph::Use::node), keepsBeta});
    } else {
      target_.replaceOp(norm, {!hasLost(norm.node) && edit.narrow == 0, keepsBeta}, edit.narrow);
    }
  }

  const fold::FoldPlan& plan_;
  const graph::Graph& graph_;
  const std::vector<LayerNorm>& norms_;
  EditTarget& target_;
  std::set<int> withoutBeta_;             // norms whose beta has moved, until they are replaced
  std::set<graph::NodeId> withoutGamma_;  // what applied a gamma that has moved
};

}  // namespace

void translate(const fold::FoldPlan& plan, const graph::Graph& graph, const std::vector<LayerNorm>& norms,
               EditTarget& target) {
  Translator(plan, graph, norms, target).run();
}

bool replacesNorms(const fold::FoldPlan& plan) {
  return std::ranges::any_of(plan.edits,
                             [](const auto& edit) { return std::holds_alternative<fold::ReplaceNorm>(edit); });
}

}  // namespace normlens::formats
