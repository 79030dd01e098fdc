#include "core/formats/torchscript/run/gpu_check.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/script.h>

#include <functional>
#include <optional>
#include <string>

#include "core/base/formatted.h"
#include "core/base/library/own_library.h"
#include "core/base/run_watch.h"
#include "core/base/stopwatch.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/fast_norm.h"
#include "core/formats/torchscript/run/captured_pass.h"
#include "core/formats/torchscript/run/cuda/cuda_library.h"

namespace normlens::formats::torchscript {
namespace {

constexpr int64_t kRows = 64, kWidth = 768;
constexpr double kEps = 1e-5;
// Relative to the largest number. A float32 sum of 768 squares is right to about 1e-6, a wrong kernel is not near it.
constexpr double kMostError = 1e-5;

class Steps {
 public:
  // False: it failed, and no other step is tried.
  bool add(GpuStep step, const std::function<Status()>& act) {
    RunWatch::at(gpuStepName(step), "the check of the GPU");
    const Stopwatch watch;
    Status outcome = attempt(act);
    results_.push_back({step, watch.ms(), outcome});
    return outcome.has_value();
  }
  [[nodiscard]] GpuCheck take() { return std::move(results_); }

 private:
  static Status attempt(const std::function<Status()>& act) {
    try {
      return act();
    } catch (const std::exception& error) {
      return fail(ErrorCode::RunFailed, shortText(error));
    }
  }

  GpuCheck results_;
};

// [kRows, kWidth] of float32 on the CPU, with a mean and no two rows alike.
at::Tensor numbers(double phase) {
  return at::sin(at::arange(kRows * kWidth, at::kDouble) * phase).add(phase).to(at::kFloat).reshape({kRows, kWidth});
}

at::Tensor rmsNorm(const at::Tensor& x) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("normlens::rms_norm", "");
  torch::jit::Stack stack{x, c10::IValue(), c10::IValue(), kEps};
  op.callBoxed(stack);
  return stack.back().toTensor();
}

at::Tensor rmsNormInDouble(const at::Tensor& x) {
  const at::Tensor wide = x.to(at::kCPU, at::kDouble);
  return wide * at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + kEps);
}

Status near(const at::Tensor& computed, const at::Tensor& reference, const char* what) {
  const at::Tensor difference = (computed.to(at::kCPU, at::kDouble) - reference).abs().max();
  const double error = difference.item<double>() / reference.abs().max().item<double>();
  if (error <= kMostError) return {};  // not where it is NaN
  return fail(ErrorCode::Refused, what + formatted(" differs from float64 by %.2g of the largest number", error),
              "please report this: no number that this GPU computes can be trusted");
}

Status checkGraph(c10::Device device) {
  const at::Tensor x = numbers(0.1).to(device), other = numbers(0.7);
  at::Tensor y;
  ASSIGN_OR_RETURN(const auto pass, CapturedPass::record(device, [&] { y = rmsNorm(x); }));
  x.copy_(other);
  PassTimer timer(device);
  static_cast<void>(pass->replayMs(timer));
  return near(y, rmsNormInDouble(other), "a replayed CUDA graph");
}

void addDeviceSteps(Steps& steps, c10::Device device) {
  const c10::InferenceMode noGradients(true);
  const at::Tensor x = numbers(0.1);
  const auto memory = [&] { return near(x.to(device), x.to(at::kDouble), "what was written to its memory"); };
  const auto own = [&]() -> Status {
    if (!fastNormAvailable()) return loadOwnLibrary(kOpsLibrary, /*global=*/true).map([](void*) {});
    return near(rmsNorm(x.to(device)), rmsNormInDouble(x), "normlens::rms_norm");
  };
  const auto torch = [&] {
    const at::Tensor y = at::layer_norm(x.to(device), {kWidth}, {}, {}, kEps);
    return near(y, at::layer_norm(x.to(at::kDouble), {kWidth}, {}, {}, kEps), "torch's layer_norm");
  };
  static_cast<void>(steps.add(GpuStep::Memory, memory) && steps.add(GpuStep::OwnKernel, own) &&
                    steps.add(GpuStep::TorchKernel, torch) &&
                    steps.add(GpuStep::Graph, [&] { return checkGraph(device); }));
}

}  // namespace

GpuCheck checkDevice(const std::string& device) {
  Steps steps;
  addDeviceSteps(steps, c10::Device(device));
  return steps.take();
}

GpuCheck checkGpu() {
  Steps steps;
  if (steps.add(GpuStep::Driver, loadDriver) && steps.add(GpuStep::Start, startDriver) &&
      steps.add(GpuStep::Torch, loadCuda)) {
    addDeviceSteps(steps, c10::Device(c10::DeviceType::CUDA, 0));
  }
  return steps.take();
}

}  // namespace normlens::formats::torchscript
