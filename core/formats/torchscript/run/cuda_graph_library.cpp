// libnormlens_cuda_graph.so: see cuda_graph.h. Its symbols of LibTorch's CUDA half are found when it is loaded.
#include <ATen/cuda/CUDAGraph.h>

#include "core/formats/torchscript/run/cuda_graph.h"

namespace {

class TorchCudaGraph final : public normlens::formats::torchscript::CudaGraph {
 public:
  void begin() override { graph_.capture_begin(); }
  void end() override { graph_.capture_end(); }
  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] normlens::formats::torchscript::CudaGraph* normlensMakeCudaGraph() {
  return new TorchCudaGraph();
}
