#include "core/fold/plan.h"

namespace normlens::fold {

int64_t bytesOf(const Edit& edit, const graph::Graph& graph) {
  int64_t sum = 0;
  const auto add = [&](graph::ConstantId constant) { sum += graph::byteCount(graph.constant(constant).view); };
  if (const auto* scale = std::get_if<AbsorbScale>(&edit)) {
    for (const auto& part : scale->parts) add(part.constant);
  } else if (const auto* center = std::get_if<CenterConstant>(&edit)) {
    for (const auto& part : center->parts) add(part.constant);
  } else if (const auto* shift = std::get_if<AbsorbShift>(&edit)) {
    for (const auto& part : shift->parts) add(part.bias);
  } else if (const auto* gain = std::get_if<AbsorbGain>(&edit)) {
    for (const auto& part : gain->parts) add(part.weight);
  }
  return sum;
}

}  // namespace normlens::fold
