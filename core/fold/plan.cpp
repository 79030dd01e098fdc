#include "core/fold/plan.h"

namespace normlens::fold {

int64_t bytesOf(const Edit& edit, const graph::Graph& graph) {
  struct Visitor {
    const graph::Graph& graph;
    [[nodiscard]] int64_t of(graph::ConstantId constant) const {
      return graph::byteCount(graph.constant(constant).view);
    }
    int64_t operator()(const AbsorbScale& scale) const {
      int64_t sum = 0;
      for (const auto& part : scale.parts) sum += of(part.constant);
      return sum;
    }
    int64_t operator()(const CenterConstant& center) const {
      int64_t sum = 0;
      for (const auto& part : center.parts) sum += of(part.constant);
      return sum;
    }
    int64_t operator()(const AbsorbShift& shift) const {
      int64_t sum = 0;
      for (const auto& part : shift.parts) sum += of(part.bias);
      return sum;
    }
    int64_t operator()(const InsertCentering& /*edit*/) const { return 0; }
    int64_t operator()(const DropAddend& /*edit*/) const { return 0; }
    int64_t operator()(const ReplaceNorm& /*edit*/) const { return 0; }
  };
  return std::visit(Visitor{graph}, edit);
}

}  // namespace normlens::fold
