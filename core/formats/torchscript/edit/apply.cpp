// TorchScriptModel::apply: a FoldPlan carried out on a copy of the module.
#include <algorithm>

#include "core/formats/edit/plan_translator.h"
#include "core/formats/torchscript/edit/code_edits.h"
#include "core/formats/torchscript/edit/norms/fast_norm.h"
#include "core/formats/torchscript/edit/place_weights.h"
#include "core/formats/torchscript/edit/rebuild.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {
namespace {

// Who reads a constant besides forward's nodes.
WeightVersions::ReadElsewhere readByOthers(const TorchScriptModel& model, const OtherEntries& others) {
  return [&](graph::ConstantId constant) {
    const int known = model.lowered().programConstant[static_cast<size_t>(constant)];
    const auto& sites = model.program().constants[static_cast<size_t>(known)].sites;
    return std::any_of(sites.begin(), sites.end(), [&](const TensorSite& site) {
      return site.owner && others.attributes.contains({site.owner.get(), site.attribute});
    });
  };
}

}  // namespace

Result<std::unique_ptr<Model>> TorchScriptModel::apply(const fold::FoldPlan& plan,
                                                       const std::vector<analysis::LayerNorm>& norms,
                                                       NormFlavour flavour, const Task& task) const {
  if (flavour == NormFlavour::Fast && replacesNorms(plan) && !fastNormAvailable()) {
    return fail(ErrorCode::Unsupported, "the operator normlens::rms_norm of libnormlens_ops.so is not available here",
                "build NormLens with its kernels, or fold with --norm portable");
  }
  try {
    const c10::InferenceMode noGradients(false);
    const OtherEntries& others = program_.others;
    task.report("centering weights");
    WeightVersions weights(graph(), readByOthers(*this, others));
    weights.add(plan);
    if (auto status = task.check(); !status) return tl::unexpected<Error>(status.error());

    // Reads are redirected first: the code edits may remove the nodes that read.
    FrameEdits frames(program_.frames.size());
    EditsByInstance instances;
    WeightPlacement(*this, others).place(weights, frames, instances);
    auto ofCode = codeEdits(*this, plan, norms, flavour, frames);
    for (size_t f = 0; f < frames.size(); ++f) {
      std::move(ofCode[f].begin(), ofCode[f].end(), std::back_inserter(frames[f]));
    }
    task.report("rewriting the code");
    auto model = rebuild(*this, frames, others, std::move(instances));
    if (!model) return tl::unexpected<Error>(model.error());
    return std::unique_ptr<Model>(std::move(*model));
  } catch (...) {
    return tl::unexpected(torchEditError("the plan cannot be applied"));
  }
}

}  // namespace normlens::formats::torchscript
