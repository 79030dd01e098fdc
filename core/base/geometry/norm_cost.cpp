#include "core/base/geometry/norm_cost.h"

namespace normlens::geometry {

NormCost& NormCost::operator+=(const NormCost& other) {
  additions += other.additions;
  multiplications += other.multiplications;
  divisions += other.divisions;
  return *this;
}

std::vector<CostStep> costSteps(CountedNorm norm, const CountedRow& row) {
  const double d = row.width, g = row.groups;
  const bool layerNorm = norm == CountedNorm::LayerNorm, centering = norm == CountedNorm::Centering;
  std::vector<CostStep> steps;
  if (g == 0 || centering) {
    steps.push_back({"mean", layerNorm || centering ? NormCost{d - 1, 0, 1} : NormCost{}});
    if (centering) return {steps[0], {"center", {d, 0, 0}}};
    steps.push_back({"variance", {(layerNorm ? d : 0) + d - 1, d, 1}});
  } else {
    steps.push_back({"first of a group", {0, layerNorm ? 0 : g, 0}});
    steps.push_back({"within groups", layerNorm ? NormCost{4 * (d - g), d - g, d - g} : NormCost{d - g, d - g, 0}});
    steps.push_back({"combining", layerNorm ? NormCost{5 * (g - 1), 4 * (g - 1), g - 1} : NormCost{g - 1, 0, 0}});
  }
  steps.push_back({"center and scale", {layerNorm ? d : 0, d, 0}});
  steps.push_back({"affine", {row.beta ? d : 0, row.gamma ? d : 0, 0}});
  return steps;
}

NormCost costOf(CountedNorm norm, const CountedRow& row) {
  NormCost total;
  for (const CostStep& step : costSteps(norm, row)) total += step.cost;
  return total;
}

}  // namespace normlens::geometry
