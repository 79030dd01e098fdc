// Weight and bias of a call as the kernels read them.
#pragma once

#include <array>
#include <optional>

#include "kernels/ops/norm_call.h"

namespace normlens::kernels {

// Contiguous, both in the type of x, or both in that of the sums. Keeps alive what it points to; on a GPU torch reuses
// the memory of a conversion only for what is queued behind the kernel.
class NormConstants {
 public:
  NormConstants(const NormCall& call, Scalar scalar);

  void fill(NormRows& rows) const;

 private:
  [[nodiscard]] bool areAll(torch::headeronly::ScalarType type) const;

  std::array<std::optional<torch::stable::Tensor>, 2> given_;
  ConstantType type_ = ConstantType::OfSums;
};

}  // namespace normlens::kernels
