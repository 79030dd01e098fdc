// OnnxModel::apply: a FoldPlan carried out on a copy of the file's nodes and tensors.
#include <future>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/edit/plan_translator.h"
#include "core/formats/onnx/edit/fuse_adds.h"
#include "core/formats/onnx/edit/lift_opset.h"
#include "core/formats/onnx/edit/node_edits.h"
#include "core/formats/onnx/edit/place_weights.h"
#include "core/formats/onnx/read/onnx_model.h"

namespace normlens::formats::onnx {

Result<std::unique_ptr<Model>> OnnxModel::apply(const fold::FoldPlan& plan,
                                                const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                                const Task& task) const {
  if (!facts_.cannotRun.empty()) return fail(ErrorCode::Unsupported, facts_.cannotRun);
  if (auto status = computeWeights(task); !status) return tl::unexpected(std::move(status.error()));
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
    WeightVersions weights(lowered_.graph, filesOf(source_), [&](graph::ConstantId constant) {
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
    WeightPlacement(lowered_, edited, weights).place();
    if (auto status = task.check(); !status) return tl::unexpected<Error>(status.error());
    task.report("rewriting the graph");
    const auto everyType = source_.float64Twin ? std::optional(graph::DType::Float64) : std::nullopt;
    NodeEdits nodes(lowered_, edited, dialect, facts_.dtype, everyType);
    translate(plan, lowered_.graph, norms, nodes);
    if (!plan.streams.empty()) edited.forgetShapes();
    edited.finishNodes();
    // Norms that stay as they were keep their Adds.
    if (fuses) static_cast<void>(fuseAdds(edited, adds, [&](const NodeProto& norm) { return edited.isNew(norm); }));
    if (lift) lift->apply(edited);
    OnnxSource folded = source_;
    folded.skeleton = edited.finish();
    folded.weights = edited.takeWeights();
    folded.pending = weights.pending();
    return fromSource(std::move(folded), facts_);
  } catch (...) {
    return tl::unexpected(editError("the plan cannot be applied"));
  }
}

Status OnnxModel::computeWeights(const Task& task) const {
  return source_.pending ? source_.pending->computeAll(task) : Status();
}

}  // namespace normlens::formats::onnx
