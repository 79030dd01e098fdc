#include "core/formats/safetensors/changes.h"

#include <algorithm>

namespace normlens::formats::safetensors {
namespace {

// Axes of the tensor; empty where the mean is taken of parts of one, or where its axes are not the constant's.
std::vector<int64_t> centeredAxes(const ops::Pattern& pattern, const Tensor& tensor, const Equal& equal) {
  const auto& shape = equal.view.shape;
  const auto dims = ops::alignTo(pattern, shape);
  const bool sameAxes = shape.size() == tensor.shape.size() && (!equal.exchanged || shape.size() == 2);
  if (!dims || !sameAxes) return {};
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < dims->size(); ++axis) {
    const auto& factors = (*dims)[axis];
    const bool whole = factors.empty() || (factors.size() == 1 && factors[0].whole());
    if (!whole) return {};
    if (factors.size() == 1 && factors[0].summed)
      axes.push_back(equal.exchanged ? 1 - static_cast<int64_t>(axis) : static_cast<int64_t>(axis));
  }
  return axes;
}

}  // namespace

std::vector<TensorChange> changesOf(const fold::FoldPlan& plan, const std::vector<analysis::LayerNorm>& norms,
                                    const EditedConstant& edited, const graph::Uses& uses) {
  const auto& [constant, equal, tensor] = edited;

  std::vector<TensorChange> changes;
  for (const auto& edit : plan.edits) {
    if (const auto* scale = std::get_if<fold::AbsorbScale>(&edit)) {
      for (const auto& part : scale->parts) {
        if (part.constant == constant) changes.push_back({"scale", {}, {}, {}});
      }
    } else if (const auto* center = std::get_if<fold::CenterConstant>(&edit)) {
      const bool here = !center->split || std::ranges::any_of(uses, [&](const graph::Use& use) {
        return std::ranges::find(center->uses, use) != center->uses.end();
      });
      for (const auto& part : center->parts) {
        if (part.constant == constant && here)
          changes.push_back({"center", centeredAxes(part.pattern, tensor, equal), part.pattern.text(), {}});
      }
    } else if (const auto* shift = std::get_if<fold::AbsorbShift>(&edit)) {
      for (const auto& part : shift->parts) {
        if (part.bias == constant)
          changes.push_back({"shift", {}, {}, norms.at(static_cast<size_t>(shift->norm)).title});
      }
    }
  }
  return changes;
}

}  // namespace normlens::formats::safetensors
