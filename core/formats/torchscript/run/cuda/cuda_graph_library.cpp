// libnormlens_cuda_graph.so: see cuda_graph.h. Its symbols of LibTorch's CUDA half are found when it is loaded.
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/Sleep.h>

#include <exception>
#include <optional>

#include "core/formats/torchscript/run/cuda/cuda_graph.h"

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

template <class Do>
void attempt(const Do& act) noexcept {
  try {
    act();
  } catch (const std::exception&) {  // Nothing had been done that was to be undone.
  }
}

class TorchCudaGraph final : public normlens::formats::torchscript::CudaGraph {
 public:
  TorchCudaGraph() : device_(c10::cuda::current_device()), pool_(at::cuda::graph_pool_handle()) { graph_.emplace(); }

  void begin() override { graph_->capture_begin(pool_); }
  void end() override { graph_->capture_end(); }
  void replay() override { graph_->replay(); }

  // capture_end() of a recording that was spoilt throws before it has notified the allocator, or after: that depends on
  // the version of LibTorch.
  void abandon() noexcept override {
    attempt([&] { graph_->capture_end(); });
    attempt([&] { allocator::endAllocateToPool(device_, pool_); });
    graph_.reset();
    attempt([&] {
      if (allocator::getPoolUseCount(device_, pool_) > 0) allocator::releasePool(device_, pool_);
    });
  }

 private:
  c10::DeviceIndex device_;
  at::cuda::MempoolId_t pool_;
  std::optional<at::cuda::CUDAGraph> graph_;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] normlens::formats::torchscript::CudaGraph* normlensMakeCudaGraph() {
  return new TorchCudaGraph();
}

extern "C" [[gnu::visibility("default")]] void normlensQueueCudaWait(int64_t cycles) { at::cuda::sleep(cycles); }
