// A CUDA graph of LibTorch. at::cuda::CUDAGraph stands in LibTorch's CUDA half, which the engine does not link, and its
// header needs the CUDA toolkit's: so it is behind this interface, in a library of its own (cuda_graph_library.cpp),
// which is built where the toolkit is and loaded when a graph is asked for. Private to formats/torchscript.
#pragma once

namespace normlens::formats::torchscript {

// All throw c10::Error. Work means kernels on the current stream, which must not be the default one.
class CudaGraph {
 public:
  CudaGraph() = default;
  virtual ~CudaGraph() = default;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  virtual void begin() = 0;   // from here on work is recorded and not done
  virtual void end() = 0;     // from here on it is done again
  virtual void replay() = 0;  // does what was recorded
};

// What the library exports: a graph that is the caller's.
using MakeCudaGraph = CudaGraph* (*)();
inline constexpr const char* kMakeCudaGraph = "normlensMakeCudaGraph";

}  // namespace normlens::formats::torchscript
