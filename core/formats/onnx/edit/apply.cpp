// A FoldPlan carried out on a copy of the file's nodes and tensors.
#include <future>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/edit/plan_translator.h"
#include "core/formats/onnx/edit/edits.h"
#include "core/formats/onnx/edit/fuse_adds.h"
#include "core/formats/onnx/edit/lift_opset.h"
#include "core/formats/onnx/edit/node_edits.h"
#include "core/formats/onnx/edit/norms/apply_norm.h"
#include "core/formats/onnx/edit/place_weights.h"

namespace normlens::formats::onnx {

Result<OnnxSource> applyPlan(const OpenedModel& model, const fold::FoldPlan& plan,
                             const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour, graph::DType dtype,
                             const Task& task) {
  const OnnxSource& source = model.source;
  const Lowered& lowered = model.lowered;
  RETURN_IF_ERROR(computeWeights(source, task));
  try {
    EditableModel edited(source);
    Dialect dialect{flavour, edited.opset(edited.main())};
    // Neither the lift nor the weights need the other, and both take their time.
    std::future<Result<OpsetLift>> lifting;
    if (flavour == NormFlavour::Standard && replacesNorms(plan) && dialect.opset < kRmsOpset) {
      lifting = std::async(std::launch::async, [&] { return OpsetLift::plan(edited, lowered, kRmsOpset); });
    }
    const bool fuses = flavour == NormFlavour::Ort || flavour == NormFlavour::Fast;
    const PlainAdds adds = fuses ? findPlainAdds(source, lowered, edited) : PlainAdds();
    task.report("centering weights");
    WeightVersions weights(lowered.graph, filesOf(source), [&](graph::ConstantId constant) {
      const auto& held = lowered.graph.constant(constant);
      if (!held.view.contiguous()) throw EditRefused("'" + held.name + "' is not stored as one piece");
      return false;  // found among the reads in the file, when it is placed
    });
    weights.add(plan);
    std::optional<OpsetLift> lift;
    if (lifting.valid()) {
      auto lifted = lifting.get();
      if (!lifted) return fail(ErrorCode::Refused, lifted.error().message, {"fold", HintKey::PortableNorm});
      lift = std::move(*lifted);
      dialect.opset = kRmsOpset;
    }
    // Before the nodes: the tensors are found through reads that node edits may remove.
    placeWeights(lowered, edited, weights);
    if (auto status = task.check(); !status) return tl::unexpected<Error>(status.error());
    task.report("rewriting the graph");
    const auto everyType = source.float64Twin ? std::optional(graph::DType::Float64) : std::nullopt;
    translate(plan, lowered.graph, norms, *nodeEdits(lowered, edited, dialect, dtype, everyType));
    if (!plan.streams.empty()) edited.forgetShapes();
    edited.finishNodes();
    // Norms that stay as they were keep their Adds.
    if (fuses) static_cast<void>(fuseAdds(edited, adds, [&](const NodeProto& norm) { return edited.isNew(norm); }));
    if (lift) lift->apply(edited);
    OnnxSource folded = source;
    folded.skeleton = edited.finish();
    folded.weights = edited.takeWeights();
    folded.pending = weights.pending();
    return folded;
  } catch (...) {
    return tl::unexpected(editError("the plan cannot be applied"));
  }
}

}  // namespace normlens::formats::onnx
