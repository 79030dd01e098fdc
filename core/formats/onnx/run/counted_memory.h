// The most memory that sessions take at a time, as they ask for it. Private to formats/onnx; only where ONNX Runtime
// is there.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"

namespace normlens::formats::onnx {

// While it lives it is the allocator of the CPU's memory of all sessions that use the environment's allocators: those
// that were opened with it (SessionMeasures::memory). They end before it. One at a time in a process. Thread: any.
class CountedMemory {
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
  struct Impl;
  explicit CountedMemory(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace normlens::formats::onnx
