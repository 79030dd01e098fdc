#include "core/formats/torchscript/run/cuda/cuda_library.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <typeinfo>

#include "core/base/descriptor.h"
#include "core/base/library/own_library.h"
#include "core/base/printable.h"
#include "core/base/run_watch.h"

namespace normlens::formats::torchscript {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kHint = "measure on the CPU, or use the engine of a machine with an NVIDIA GPU";

tl::unexpected<Error> unsupported(std::string message, std::string hint = kHint) {
  return fail(ErrorCode::Unsupported, std::move(message), std::move(hint));
}

// Finds a function of the driver, once it is loaded (developer.nvidia.com/cuda: CUDA Driver API, Initialization and
// Error Handling).
template <class Signature>
Signature* driverFunction(const char* name) {
  return reinterpret_cast<Signature*>(dlsym(dlopen(kDriver, RTLD_NOW | RTLD_NOLOAD), name));
}

// "304 (CUDA_ERROR_OPERATING_SYSTEM)"
std::string driverError(int code) {
  const char* name = nullptr;
  const auto find = driverFunction<int(int, const char**)>("cuGetErrorName");
  const bool known = find != nullptr && find(code, &name) == 0 && name != nullptr;
  constexpr size_t kLongestName = 80;
  return std::to_string(code) + (known ? " (" + printable(std::string(name).substr(0, kLongestName)) + ")" : "");
}

// "13.0" of 13000
std::string cudaVersion(int64_t number) {
  constexpr int64_t kMajor = 1000, kMinor = 10;
  return std::to_string(number / kMajor) + "." + std::to_string(number % kMajor / kMinor);
}

std::string driverFailureHint(int code) {
  constexpr int kNoDevice = 100;
  std::error_code ignored;
  if (code != kNoDevice && !std::filesystem::exists("/dev/nvidia-uvm", ignored)) {
    return "the device /dev/nvidia-uvm is missing: run nvidia-modprobe -c 0 -u once, then try again";
  }
  return "see whether nvidia-smi shows a GPU and what CUDA_VISIBLE_DEVICES names, or measure on the CPU";
}

// Beside the library that holds torch's CPU code.
std::filesystem::path besideTorch(const char* name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &info) == 0 || info.dli_fname == nullptr) return name;
  return std::filesystem::path(info.dli_fname).parent_path() / name;
}

// The driver shows GPUs and torch sees none: it looks through CUDA's runtime, which wants a driver of its own version.
Status whyTorchSeesNoGpu() {
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  if (typeid(hooks) == typeid(at::CUDAHooksInterface)) {  // those of a LibTorch without CUDA, which stay
    return fail(ErrorCode::Internal, "LibTorch was asked for a GPU before its CUDA half was loaded", kHint);
  }
  int driver = 0;
  const auto version = driverFunction<int(int*)>("cuDriverGetVersion");
  if (version != nullptr) static_cast<void>(version(&driver));
  return unsupported("LibTorch finds no GPU, although the NVIDIA driver shows one: LibTorch is built with CUDA " +
                         cudaVersion(hooks.versionCUDART()) + ", and the driver supports CUDA up to " +
                         cudaVersion(driver),
                     "install a newer NVIDIA driver, or measure on the CPU");
}

}  // namespace

Status loadDriver() {
  if (dlopen(kDriver, RTLD_NOW | RTLD_GLOBAL) != nullptr) return {};
  return unsupported("there is no NVIDIA driver that can be loaded: " + loaderError());
}

Status startDriver() {
  const auto start = driverFunction<int(unsigned)>("cuInit");
  const auto count = start == nullptr ? nullptr : driverFunction<int(int*)>("cuDeviceGetCount");
  if (count == nullptr) return unsupported("the NVIDIA driver is not complete: " + loaderError());
  if (const int code = start(0); code != 0) {
    return unsupported("the NVIDIA driver does not start: cuInit returned " + driverError(code),
                       driverFailureHint(code));
  }
  int gpus = 0;
  if (const int code = count(&gpus); code != 0 || gpus <= 0) {
    return unsupported("the NVIDIA driver shows no GPU" + (code == 0 ? "" : ": error " + driverError(code)),
                       "see nvidia-smi and what CUDA_VISIBLE_DEVICES names, or measure on the CPU");
  }
  return {};
}

Status loadTorchCuda() {
  if (dlopen(besideTorch("libtorch_cuda.so").c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return unsupported("LibTorch's CUDA half cannot be loaded: " + loaderError());
  }
  const auto* device = c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)
                           ? c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)
                           : nullptr;
  // The first use settles the hooks, for the whole process: a convolution on the CPU is one.
  if (at::Context::hasCUDA() && device != nullptr && device->deviceCount() > 0) return {};
  return whyTorchSeesNoGpu();
}

Status loadCuda() {
  static std::once_flag once;
  static Status loaded;
  std::call_once(once, [] {
    const RunWatch watch(RunWatch::Kind::Load);  // a driver may hang
    RunWatch::at("cuInit", "NVIDIA's driver");
    loaded = loadDriver().and_then(startDriver).and_then(loadTorchCuda);
  });
  return loaded;
}

Status loadCudaFor(int gpu) {
  RETURN_IF_ERROR(loadCuda());
  if (const c10::DeviceIndex gpus = c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)->deviceCount(); gpu >= gpus) {
    return fail(ErrorCode::Unsupported, "there is no GPU cuda:" + std::to_string(gpu) + ": LibTorch sees " +
                                            std::to_string(gpus) + ", which are counted from 0");
  }
  return {};
}

bool loadCudaIfPermitted(std::initializer_list<const char*> devices) {
  const auto opens = [](const char* device) {
    return static_cast<bool>(Descriptor(::open(device, O_RDWR | O_CLOEXEC)));
  };
  if (std::ranges::none_of(devices, opens)) return false;
  static_cast<void>(loadCuda());  // Missing parts are reported to whoever wants a GPU.
  return true;
}

}  // namespace normlens::formats::torchscript
