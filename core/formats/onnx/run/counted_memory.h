// The most memory that sessions take at a time, as they allocate it. Private to formats/onnx; only where ONNX Runtime
// is there.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/base/result.h"

namespace normlens::formats::onnx {

// While it lives it is the allocator of the CPU's memory of all sessions that use the environment's allocators: those
// that were opened with it (SessionMeasures::memory). They end before it. One at a time in a process. Thread: any.
class CountedMemory : private OrtAllocator {
 public:
  // Errors: Unsupported.
  [[nodiscard]] static Result<std::unique_ptr<CountedMemory>> make();
  ~CountedMemory();
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

  [[nodiscard]] int64_t held() const;  // bytes, now
  [[nodiscard]] int64_t most() const;  // since the last restart()
  void restart();                      // most() becomes held()

 private:
  CountedMemory();
  void* allocate(size_t bytes);
  void release(void* memory);

  std::shared_ptr<Ort::Env> environment_;
  Ort::MemoryInfo info_;
  bool registered_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<void*, int64_t> sizes_;
  int64_t held_ = 0, most_ = 0;
};

}  // namespace normlens::formats::onnx
