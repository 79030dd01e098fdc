// The most memory that tensors take at a time, as torch's allocators report it. Private to formats/torchscript.
#pragma once

#include <c10/core/Allocator.h>

#include <algorithm>
#include <mutex>

namespace normlens::formats::torchscript {

// While a c10::DebugInfoGuard has set it, it records every allocation and release of its thread and of the threads
// that ops hand parts of their work to. What was allocated before is not heard of. Thread: any.
class PeakMemory final : public c10::MemoryReportingInfoBase {
 public:
  explicit PeakMemory(c10::DeviceType device) : device_(device) {}

  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device device) override {
    if (device.type() != device_) return;
    const std::lock_guard lock(mutex_);
    held_ += bytes;
    most_ = std::max(most_, held_);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  [[nodiscard]] int64_t most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  c10::DeviceType device_;
  mutable std::mutex mutex_;
  int64_t held_ = 0, most_ = 0;
};

}  // namespace normlens::formats::torchscript
