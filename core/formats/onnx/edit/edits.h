// Everything that edits a model: each makes the source of a new one. Private to formats/onnx.
//
// Errors: Unsupported and Refused where it cannot be done, those of computeWeights().
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/fold/plan.h"
#include "core/formats/model.h"
#include "core/formats/onnx/lower/lower.h"

namespace normlens::formats::onnx {

// A plan carried out on a copy of the file's nodes and tensors. dtype: the model's own.
[[nodiscard]] Result<OnnxSource> applyPlan(const OpenedModel& model, const fold::FoldPlan& plan,
                                           const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour,
                                           graph::DType dtype, const Task& task);

struct EditedNorms {
  OnnxSource source;               // without a skeleton where there was nothing to do
  std::vector<std::string> fused;  // names of the norms that were edited
};
// Norms that are written out as several nodes become one operator each.
[[nodiscard]] Result<EditedNorms> joinNorms(const OpenedModel& model, const analysis::Norms& norms, const Task& task);
// Residual adds and their norms become one operator.
[[nodiscard]] Result<EditedNorms> fuseNorms(const OpenedModel& model, const analysis::Norms& norms, const Task& task);
// See Model::singleNorm.
[[nodiscard]] OnnxSource singleNorm(int64_t rows, int64_t width, graph::DType dtype);

[[nodiscard]] Result<std::vector<std::vector<std::string>>> sectionsAt(const GraphProto& graph,
                                                                       const std::vector<Cut>& cuts);
// The nodes behind some values, back to where the model is cut. begins: cuts to begin with; those that it reads are
// added to them.
[[nodiscard]] Result<OnnxSource> section(const OnnxSource& source, const std::vector<Cut>& cuts,
                                         const std::vector<std::string>& outputs, std::set<size_t>& begins,
                                         const Task& task);

}  // namespace normlens::formats::onnx
