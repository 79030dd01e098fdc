#include "core/formats/torchscript/run/cuda_library.h"

#include <ATen/Context.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>

namespace normlens::formats::torchscript {
namespace {

constexpr const char* kHint = "measure on the CPU, or use the engine of a machine with an NVIDIA GPU";

// Beside the library that holds torch's CPU code.
std::filesystem::path besideTorch(const char* name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &info) == 0 || info.dli_fname == nullptr) return name;
  return std::filesystem::path(info.dli_fname).parent_path() / name;
}

Status load() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return fail(ErrorCode::Unsupported, "there is no NVIDIA driver on this machine, so nothing can run on CUDA", kHint);
  }
  if (dlopen(besideTorch("libtorch_cuda.so").c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return fail(ErrorCode::Unsupported, "this LibTorch has no CUDA half that can be loaded", kHint);
  }
  // Settled by whoever asks first, for the whole process: a convolution on the CPU asks.
  if (!at::Context::hasCUDA()) {
    return fail(ErrorCode::Internal, "LibTorch was asked for a GPU before its CUDA half was loaded", kHint);
  }
  const auto* device = c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)
                           ? c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)
                           : nullptr;
  if (device == nullptr || device->deviceCount() == 0) {
    return fail(ErrorCode::Unsupported, "LibTorch finds no CUDA GPU on this machine", kHint);
  }
  return {};
}

}  // namespace

Status loadCuda() {
  static std::once_flag once;
  static Status loaded;
  std::call_once(once, [] { loaded = load(); });
  return loaded;
}

Status loadCudaFor(int gpu) {
  if (Status there = loadCuda(); !there) return there;
  if (const c10::DeviceIndex gpus = c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)->deviceCount(); gpu >= gpus) {
    return fail(ErrorCode::Unsupported, "there is no GPU cuda:" + std::to_string(gpu) + ": LibTorch sees " +
                                            std::to_string(gpus) + ", which are counted from 0");
  }
  return {};
}

bool loadCudaIfPermitted(const char* device) {
  const int opened = ::open(device, O_RDWR | O_CLOEXEC);
  if (opened < 0) return false;
  ::close(opened);
  static_cast<void>(loadCuda());  // what is missing is told to who asks for a GPU
  return true;
}

}  // namespace normlens::formats::torchscript
