// Gives the engine what it needs of LibTorch's CUDA half beside its devices: CUDA graphs, and a wait on the GPU. It
// does not link that half, whose headers need the CUDA toolkit's: so they are behind this interface, in a library of
// its own (cuda_graph_library.cpp), which is built where the toolkit is and loaded when one of them is needed. Private
// to formats/torchscript.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/result.h"

namespace normlens::formats::torchscript {

// All but abandon() throw c10::Error. Work means kernels on the current stream, which must not be the default one.
class CudaGraph {
 public:
  CudaGraph() = default;
  virtual ~CudaGraph() = default;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  virtual void begin() = 0;   // from here on work is recorded and not done
  virtual void end() = 0;     // from here on it is done again
  virtual void replay() = 0;  // does what was recorded
  // In place of end(), or after begin() or end() threw: nothing is recorded any more, and torch's allocator goes on
  // as before. The graph is of no further use.
  virtual void abandon() noexcept = 0;
};

// Records `pass`. Throws what it throws, and c10::Error; the recording is abandoned then.
inline void recordInto(CudaGraph& graph, const std::function<void()>& pass) {
  try {
    graph.begin();
    pass();
    graph.end();
  } catch (...) {
    graph.abandon();
    throw;
  }
}

// The library exports these: a graph that is the caller's, and a kernel on the current stream that does nothing for so
// many cycles of the GPU's clock.
using MakeCudaGraph = CudaGraph* (*)();
using QueueCudaWait = void (*)(int64_t cycles);
inline constexpr const char* kMakeCudaGraph = "normlensMakeCudaGraph";
inline constexpr const char* kQueueCudaWait = "normlensQueueCudaWait";

struct CudaGraphLibrary {
  MakeCudaGraph make = nullptr;
  QueueCudaWait wait = nullptr;
};
// After loadCuda(). Error: Unsupported where the library is not there or of another version.
[[nodiscard]] Result<CudaGraphLibrary> loadCudaGraphLibrary();

}  // namespace normlens::formats::torchscript
