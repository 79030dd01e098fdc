// Defines what libnormlens_torchscript.so exports to the program that loads it.
#include "core/formats/torchscript/library/library.h"
#include "core/formats/torchscript/model/open.h"
#include "core/formats/torchscript/run/cuda/cuda_library.h"
#include "core/formats/torchscript/run/gpu_check.h"

namespace normlens::formats::torchscript {
namespace {

Result<std::unique_ptr<Model>> open(const std::filesystem::path& path, const Task& task, const OpenChoice& choice) {
  loadCudaIfPermitted();
  return openTorchScript(path, task, choice.strict);
}

}  // namespace
}  // namespace normlens::formats::torchscript

extern "C" const normlens::formats::torchscript::LibraryDoor* normlensTorchScript() {
  static constexpr normlens::formats::torchscript::LibraryDoor kDoor{&normlens::formats::torchscript::open};
  return &kDoor;
}

extern "C" const normlens::formats::torchscript::GpuDoor* normlensGpu() {
  static constexpr normlens::formats::torchscript::GpuDoor kDoor{&normlens::formats::torchscript::checkGpu};
  return &kDoor;
}
