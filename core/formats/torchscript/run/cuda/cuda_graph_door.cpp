#include <dlfcn.h>

#include "core/base/library/own_library.h"
#include "core/formats/torchscript/run/cuda/cuda_graph.h"

namespace normlens::formats::torchscript {

Result<CudaGraphLibrary> loadCudaGraphLibrary() {
  const auto unavailable = [](const std::string& why) {
    return fail(ErrorCode::Unsupported, "CUDA graphs and times of single ops on a GPU are not available: " + why,
                "build with -DNORMLENS_CUDA=ON and the CUDA toolkit");
  };
  const auto library = loadOwnLibrary("libnormlens_cuda_graph.so");
  if (!library) return unavailable(library.error().message);
  const CudaGraphLibrary found{reinterpret_cast<MakeCudaGraph>(dlsym(*library, kMakeCudaGraph)),
                               reinterpret_cast<QueueCudaWait>(dlsym(*library, kQueueCudaWait))};
  if (found.make != nullptr && found.wait != nullptr) return found;
  return unavailable("libnormlens_cuda_graph.so is of another version");
}

}  // namespace normlens::formats::torchscript
