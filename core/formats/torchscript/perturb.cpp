// TorchScriptModel::perturbed: the model with every weight moved by up to half a unit in its last place.
#include <cmath>

#include "core/formats/torchscript/save_edits.h"
#include "core/formats/torchscript/tensor_rewrite.h"
#include "core/formats/torchscript/torchscript_model.h"

namespace normlens::formats::torchscript {
namespace {

// splitmix64 of seed and position: the draw of an element depends on nothing else.
double uniform(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-52 - 1.0;
}

template <class T>
void perturb(T* elements, int64_t count, uint64_t seed, double unit) {
  for (int64_t i = 0; i < count; ++i) {
    const double factor = 1.0 + uniform(seed, static_cast<uint64_t>(i)) * unit;
    elements[i] = static_cast<T>(static_cast<double>(elements[i]) * factor);
  }
}

at::Tensor perturbedCopy(const at::Tensor& dense, uint64_t seed) {
  at::Tensor out = dense.clone();
  const double unit = std::ldexp(1.0, -graph::mantissaBits(dtypeOf(dense.scalar_type())) - 1);
  switch (dense.scalar_type()) {
    case at::kDouble: perturb(out.data_ptr<double>(), out.numel(), seed, unit); break;
    case at::kFloat: perturb(out.data_ptr<float>(), out.numel(), seed, unit); break;
    case at::kHalf: perturb(out.data_ptr<at::Half>(), out.numel(), seed, unit); break;
    case at::kBFloat16: perturb(out.data_ptr<at::BFloat16>(), out.numel(), seed, unit); break;
    default: break;
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Model>> TorchScriptModel::perturbed(uint64_t seed) const {
  try {
    uint64_t drawn = 0;
    RewriteRules rules;
    rules.copyOthers = program_.writesState;
    rules.memory = [&](const at::Tensor& dense) {
      return perturbedCopy(dense, seed * 0x2545f4914f6cdd1dULL + drawn++);
    };
    ModuleSource made{rewriteTensors(source_.module, rules), source_.extraFiles, source_.archive,
                      keepAlive(source_.edits, source_.module)};
    auto model = fromModule(std::move(made), facts_);
    if (!model) return tl::unexpected<Error>(model.error());
    (*model)->adoptProbe(*this);
    TorchScriptModel& moved = **model;
    if (records_ && moved.program_.values.size() == program_.values.size()) {
      moved.records_ = records_;
      moved.lowered_ = lowerProgram(moved.program_, &*moved.records_);
    }
    return std::unique_ptr<Model>(std::move(*model));
  } catch (const c10::Error& error) {
    return fail(ErrorCode::Internal, std::string("the weights cannot be perturbed: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, std::string("the weights cannot be perturbed: ") + error.what());
  }
}

}  // namespace normlens::formats::torchscript
