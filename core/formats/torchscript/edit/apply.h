// What is done to an opened model: a fold, and norms that are written as one op. Private to formats/torchscript:
// includes torch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

// See Model::apply.
[[nodiscard]] Result<LoweredModel> applyPlan(const LoweredModel& model, const fold::FoldPlan& plan,
                                             const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                             const Task& task);

struct FusedNorms {
  std::optional<LoweredModel> model;  // nullopt where nothing was done
  std::vector<std::string> names;     // of the norms that it was done to
};

// See NormFuser.
[[nodiscard]] Result<FusedNorms> joinNorms(const LoweredModel& model, const analysis::Norms& norms, const Task& task);
[[nodiscard]] Result<FusedNorms> fuseNorms(const LoweredModel& model, const analysis::Norms& norms, const Task& task);

}  // namespace normlens::formats::torchscript
