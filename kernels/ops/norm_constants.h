// Weight and bias of a call as the kernels read them.
#pragma once

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
  struct Constant {
    const TensorHandle* given = nullptr;
    std::optional<TensorHandle> converted = std::nullopt;

    [[nodiscard]] bool isOf(Scalar scalar) const { return given == nullptr || given->facts().scalar == scalar; }
    void convertTo(Scalar scalar);
    [[nodiscard]] const void* data() const;
  };

  Constant weight_;
  Constant bias_;
  ConstantType type_;
};

}  // namespace normlens::kernels
