// OnnxModel::apply: a FoldPlan carried out on a copy of the file's nodes and tensors.
#include <algorithm>
#include <future>

#include "core/formats/edit_refused.h"
#include "core/formats/onnx/edit/fuse_adds.h"
#include "core/formats/onnx/edit/lift_opset.h"
#include "core/formats/onnx/edit/place_weights.h"
#include "core/formats/onnx/edit/plan_translator.h"
#include "core/formats/onnx/read/onnx_model.h"

namespace normlens::formats::onnx {
namespace {

template <class Wanted, class Action>
void forEach(const fold::FoldPlan& plan, const Action& action) {
  for (const auto& edit : plan.edits) {
    if (const auto* wanted = std::get_if<Wanted>(&edit)) action(*wanted);
  }
}

bool replacesNorms(const fold::FoldPlan& plan) {
  return std::any_of(plan.edits.begin(), plan.edits.end(),
                     [](const fold::Edit& edit) { return std::holds_alternative<fold::ReplaceNorm>(edit); });
}

void editNodes(PlanTranslator& nodes, const fold::FoldPlan& plan) {
  forEach<fold::AbsorbScale>(plan, [&](const auto& edit) { nodes.add(edit); });
  // Those that write out a fused operation come last: the others are told by the inputs of the fused node.
  for (const bool inside : {false, true}) {
    forEach<fold::InsertCentering>(plan, [&](const auto& edit) {
      if (nodes.readsInside(edit) == inside) nodes.add(edit);
    });
    if (!inside) nodes.dropAddends();
  }
  forEach<fold::AbsorbShift>(plan, [&](const auto& edit) { nodes.add(edit); });
  forEach<fold::ReplaceNorm>(plan, [&](const auto& edit) { nodes.add(edit); });
  nodes.checkComplete();
}

}  // namespace

Result<std::unique_ptr<Model>> OnnxModel::apply(const fold::FoldPlan& plan,
                                                const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                                const Task& task) const {
  try {
    EditableModel edited(source_);
    Dialect dialect{flavour, edited.opset(edited.main())};
    // Neither the lift nor the weights need the other, and both take their time.
    std::future<Result<OpsetLift>> lifting;
    const bool wantsStandard = flavour == NormFlavour::Portable || flavour == NormFlavour::Standard;
    if (wantsStandard && replacesNorms(plan) && dialect.opset < kRmsOpset) {
      lifting = std::async(std::launch::async, [&] { return OpsetLift::plan(edited, lowered_, kRmsOpset); });
    }
    const bool fuses = flavour == NormFlavour::Ort || flavour == NormFlavour::Fast;
    const PlainAdds adds = fuses ? findPlainAdds(source_, lowered_, edited) : PlainAdds();
    task.report("centering weights");
    WeightVersions weights(lowered_.graph, [&](graph::ConstantId constant) {
      const auto& held = lowered_.graph.constant(constant);
      if (!held.view.contiguous()) throw EditRefused("'" + held.name + "' is not stored as one piece");
      return false;  // found among the reads in the file, when it is placed
    });
    weights.add(plan);
    std::optional<OpsetLift> lift;
    if (lifting.valid()) {
      auto lifted = lifting.get();
      if (lifted) {
        lift = std::move(*lifted);
        dialect.opset = kRmsOpset;
      } else if (flavour == NormFlavour::Standard) {
        return fail(ErrorCode::Refused, lifted.error().message, "fold with --norm portable or primitives");
      }
    }
    // Before the nodes: the tensors are found through reads that node edits may remove.
    WeightPlacement(lowered_, edited).place(weights);
    if (auto status = task.check(); !status) return tl::unexpected<Error>(status.error());
    task.report("rewriting the graph");
    const auto everyType = source_.float64Twin ? std::optional(graph::DType::Float64) : std::nullopt;
    PlanTranslator nodes(lowered_, edited, plan, norms, dialect, facts_.dtype, everyType);
    editNodes(nodes, plan);
    edited.finishNodes();
    // Norms that stay as they were keep their Adds.
    if (fuses) static_cast<void>(fuseAdds(edited, adds, [&](const NodeProto& norm) { return edited.isNew(norm); }));
    if (lift) lift->apply(edited);
    OnnxSource folded = source_;
    folded.skeleton = edited.finish();
    folded.weights = edited.takeWeights();
    auto model = fromSource(std::move(folded), facts_);
    if (!model) return tl::unexpected<Error>(model.error());
    return std::unique_ptr<Model>(std::move(*model));
  } catch (...) {
    return tl::unexpected(editError("the plan cannot be applied"));
  }
}

}  // namespace normlens::formats::onnx
