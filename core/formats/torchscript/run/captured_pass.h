// A forward pass recorded once as a CUDA graph: replayed, its kernels start without the CPU. Private to
// formats/torchscript: includes torch.
#pragma once

#include <c10/core/Stream.h>

#include <functional>
#include <memory>

#include "core/base/result.h"
#include "core/formats/torchscript/program/program.h"
#include "core/formats/torchscript/run/cuda/cuda_graph.h"
#include "core/formats/torchscript/run/pass_timer.h"

namespace normlens::formats::torchscript {

// A replay finds the memory as the one before it left it. Error: Unsupported for a model that writes what it reads.
[[nodiscard]] Status canReplay(const Program& program);

class CapturedPass {
 public:
  // Runs `pass` a few times on a stream of its own, so that what happens once has happened, then records it. What it
  // reads must stay where it is. CUDA has been loaded. Errors: Unsupported without the library; RunFailed for a pass
  // that waits for the GPU, as one does whose control flow depends on data.
  [[nodiscard]] static Result<std::unique_ptr<CapturedPass>> record(c10::Device device,
                                                                    const std::function<void()>& pass);
  // Milliseconds by `timer`. Throws c10::Error.
  [[nodiscard]] double replayMs(PassTimer& timer);

 private:
  CapturedPass(c10::Stream stream, std::unique_ptr<CudaGraph> graph) : stream_(stream), graph_(std::move(graph)) {}

  c10::Stream stream_;
  std::unique_ptr<CudaGraph> graph_;
};

}  // namespace normlens::formats::torchscript
