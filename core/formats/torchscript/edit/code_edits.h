// A plan's edits, told in graph ids, turned into edits of the module's code. Private to formats/torchscript.
#pragma once

#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/fold/plan.h"
#include "core/formats/torchscript/edit/apply_variants.h"
#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {

// placed: edits of the weights, which run before these. Throws EditRefused.
[[nodiscard]] FrameEdits codeEdits(const TorchScriptModel& model, const fold::FoldPlan& plan,
                                   const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                   const FrameEdits& placed);

}  // namespace normlens::formats::torchscript
