#include <dlfcn.h>

#include <filesystem>

#include "core/formats/torchscript/run/cuda_graph.h"

namespace normlens::formats::torchscript {

// Beside the program, or in lib/ beside its folder.
Result<CudaGraphLibrary> loadCudaGraphLibrary() {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const char* name = "libnormlens_cuda_graph.so";
  for (const auto& place : {folder / name, folder.parent_path() / "lib" / name, std::filesystem::path(name)}) {
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    const CudaGraphLibrary found{reinterpret_cast<MakeCudaGraph>(dlsym(library, kMakeCudaGraph)),
                                 reinterpret_cast<QueueCudaWait>(dlsym(library, kQueueCudaWait))};
    if (found.make != nullptr && found.wait != nullptr) return found;
  }
  return fail(ErrorCode::Unsupported,
              "CUDA graphs and times of single ops on a GPU need libnormlens_cuda_graph.so, "
              "which is not here",
              "build with -DNORMLENS_CUDA=ON and the CUDA toolkit");
}

}  // namespace normlens::formats::torchscript
