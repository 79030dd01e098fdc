// What is done to an opened model: a fold, and norms that are written as one op. Private to formats/torchscript:
// includes torch.
#pragma once

#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/formats/torchscript/edit/apply_variants.h"

namespace normlens::formats::torchscript {

inline constexpr const char* kNotApplied = "the plan cannot be applied";
inline constexpr const char* kNotJoined = "the norms cannot be joined";
inline constexpr const char* kNotFused = "the norms cannot be fused";

// Errors: as Model::apply(), and as NormFuser's functions.
[[nodiscard]] Result<RecordedEdits> recordPlan(const LoweredModel& model, const fold::FoldPlan& plan,
                                               const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                               const Task& task);
[[nodiscard]] Result<RecordedEdits> recordJoins(const LoweredModel& model, const analysis::Norms& norms,
                                                const Task& task);
[[nodiscard]] Result<RecordedEdits> recordFusions(const LoweredModel& model, const analysis::Norms& norms,
                                                  const Task& task);

}  // namespace normlens::formats::torchscript
