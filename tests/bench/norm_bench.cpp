// normlens::rms_norm and add_rms_norm against a copy of the same tensor and against torch's layer_norm.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <malloc.h>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "tests/bench/timing.h"

namespace normlens::bench {
namespace {

constexpr double kEps = 1e-5;
using Optional = std::optional<at::Tensor>;
using RmsNorm = at::Tensor(const at::Tensor&, const Optional&, const Optional&, double);
using AddRmsNorm = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const Optional&,
                                                      const Optional&, double);

template <class Signature>
auto findOp(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

void benchWidth(int64_t width) {
  const at::Tensor x = at::randn({2048, width});
  const at::Tensor residual = at::randn({2048, width});
  const at::Tensor target = at::empty_like(x);
  const Optional weight = at::randn({width});
  const Optional bias = at::randn({width});
  const auto rmsNorm = findOp<RmsNorm>("normlens::rms_norm");
  const auto addRmsNorm = findOp<AddRmsNorm>("normlens::add_rms_norm");
  const auto repeat = [](auto work) {
    return [work] {
      for (int i = 0; i < 4; ++i) work();
    };
  };
  const auto ms = interleavedMs(
      25, {{"copy", repeat([&] { x.clone(); })},
           {"layer_norm", repeat([&] { at::layer_norm(x, {width}, *weight, *bias, kEps); })},
           {"rms_norm", repeat([&] { rmsNorm.call(x, weight, bias, kEps); })},
           {"add, layer_norm", repeat([&] { at::layer_norm(x + residual, {width}, *weight, *bias, kEps); })},
           {"add_rms_norm", repeat([&] { addRmsNorm.call(x, residual, weight, bias, kEps); })},
           {"copy into place", repeat([&] { target.copy_(x); })}});
  std::printf("  %5ld  %d  %9.3f %12.2f %12.2f %15.2f %12.2f %15.2f\n", static_cast<long>(width), at::get_num_threads(),
              ms[0] / 4, ms[1] / ms[0], ms[2] / ms[0], ms[3] / ms[0], ms[4] / ms[0], ms[5] / ms[0]);
}

}  // namespace

void benchNorms(const std::string& opsLibrary) {
  if (!dlopen(opsLibrary.c_str(), RTLD_NOW | RTLD_GLOBAL)) throw std::runtime_error(dlerror());
  // Results go to memory that the process already has: else page faults, which depend on what was freed before, are
  // measured.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const c10::InferenceMode inference;
  std::printf("Norms, 2048 rows, float32, weight and bias: time / time of a copy (clone) of the tensor\n");
  std::printf("  width  threads  copy ms   layer_norm     rms_norm  add,layer_norm  add_rms_norm copy into place\n");
  const int all = at::get_num_threads();
  for (const int threads : {1, all}) {
    at::set_num_threads(threads);
    for (const int64_t width : {768, 1024, 4096}) benchWidth(width);
    if (all == 1) break;
  }
  at::set_num_threads(all);
}

}  // namespace normlens::bench
