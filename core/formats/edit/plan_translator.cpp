#include "core/formats/edit/plan_translator.h"

#include <algorithm>
#include <set>

#include "core/formats/edit/dropped_reads.h"
#include "core/formats/edit/edit_refused.h"
#include "core/graph/queries.h"

namespace normlens::formats {
namespace {

using analysis::LayerNorm;
using graph::OpKind;

template <class Wanted, class Action>
void forEach(const fold::FoldPlan& plan, const Action& action) {
  for (const auto& edit : plan.edits) {
    if (const auto* wanted = std::get_if<Wanted>(&edit)) action(*wanted);
  }
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
    forEach<fold::ReplaceNorm>(plan_, [&](const auto& edit) { replace(edit); });
    for (const auto& edit : plan_.streams.norms) {
      withoutBeta_.erase(edit.norm);
      target_.replaceOp(norms_.at(static_cast<size_t>(edit.norm)), /*keepsBeta=*/false, edit.channels);
    }
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
    DroppedReads dropped(plan_);
    while (const auto read = dropped.next()) target_.drop(*read, dropped.resultWithout(graph_, *read));
  }

  // A norm of its own op loses its beta when it is replaced.
  void moveShift(const fold::AbsorbShift& edit) {
    if (graph_.node(edit.shiftNode).kind != OpKind::LayerNorm) bypass(edit.shiftNode, 1 - edit.shiftOperand);
    withoutBeta_.insert(edit.norm);
  }

  void replace(const fold::ReplaceNorm& edit) {
    const auto& norm = norms_.at(static_cast<size_t>(edit.norm));
    if (!norm.blockedReason.empty()) throw EditRefused("'" + norm.name + "' cannot be replaced: " + norm.blockedReason);
    const bool keepsBeta = withoutBeta_.erase(edit.norm) == 0;
    if (norm.form == analysis::NormForm::Decomposed) {
      target_.replaceDecomposed(norm);
    } else {
      target_.replaceOp(norm, keepsBeta, {});
    }
  }

  const fold::FoldPlan& plan_;
  const graph::Graph& graph_;
  const std::vector<LayerNorm>& norms_;
  EditTarget& target_;
  std::set<int> withoutBeta_;  // norms whose beta has moved, until they are replaced
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
