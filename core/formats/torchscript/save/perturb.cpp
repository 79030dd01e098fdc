// perturbed(): the model with every weight moved by up to half a unit in its last place.
#include <ATen/Dispatch.h>

#include <algorithm>

#include "core/base/parallel.h"
#include "core/formats/rounding_noise.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/tensor_convert.h"
#include "core/formats/torchscript/save/save.h"
#include "core/formats/torchscript/save/tensor_rewrite.h"

namespace normlens::formats::torchscript {
namespace {

constexpr int64_t kElementsPerPiece = int64_t{1} << 18;

template <class T>
void perturb(const at::Tensor& from, const at::Tensor& to, uint64_t seed) {
  const RoundingNoise noise(dtypeOf(from.scalar_type()), seed);
  const T* in = from.const_data_ptr<T>();
  T* out = to.mutable_data_ptr<T>();
  const int64_t count = from.numel();
  const int threads = hardwareThreads();
  parallelFor(threads, (count + kElementsPerPiece - 1) / kElementsPerPiece, [&](int64_t piece) {
    const int64_t end = std::min(count, (piece + 1) * kElementsPerPiece);
    for (int64_t i = piece * kElementsPerPiece; i < end; ++i) {
      out[i] = static_cast<T>(static_cast<double>(in[i]) * noise.factor(i));
    }
  });
}

at::Tensor perturbedCopy(const at::Tensor& dense, uint64_t seed) {
  const auto type = dense.scalar_type();
  if (!graph::isFloat(dtypeOf(type))) return dense.clone();  // It has eight bits.
  at::Tensor out = at::empty_like(dense);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, type, "perturb",
                                  [&] { perturb<scalar_t>(dense, out, seed); });
  return out;
}

}  // namespace

Result<LoweredModel> perturbed(const LoweredModel& model, uint64_t seed) {
  RETURN_IF_ERROR(model.source.computeWeights({}));
  try {
    uint64_t drawn = 0;
    RewriteRules rules;
    rules.copyOthers = model.program.writesState;
    rules.memory = [&](const at::Tensor& dense) { return perturbedCopy(dense, scrambled(seed) + drawn++); };
    auto made = lowered(model.source.with(rewriteTensors(model.source.module, rules)), model.facts);
    if (made) made->adoptProbe(model);
    return made;
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, "the weights cannot be perturbed: " + shortText(error));
  }
}

}  // namespace normlens::formats::torchscript
