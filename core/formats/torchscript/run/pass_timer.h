// Measures how long a pass takes on the device that it runs on. Private to formats/torchscript: includes torch.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <optional>

namespace normlens::formats::torchscript {

// torch makes an event when it is first recorded, which takes longer than to record it: this one is there already.
[[nodiscard]] inline c10::Event eventOn(const c10::Stream& stream) {
  c10::Event event(stream.device_type(), c10::EventFlag::BACKEND_DEFAULT);
  event.record(stream);
  return event;
}

// On the CPU the wall clock. On CUDA two events on the current stream around the pass, the first on a GPU that has
// nothing to do: what starting the kernels took, as far as the GPU waited for it, and what they took themselves.
class PassTimer {
 public:
  explicit PassTimer(c10::Device device) : device_(device) {}

  // Milliseconds. Throws what `pass` throws, and c10::Error.
  template <class Pass>
  double time(Pass&& pass) {
    if (device_.is_cpu()) {
      using Clock = std::chrono::steady_clock;
      const auto start = Clock::now();
      pass();
      return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
    const c10::Stream stream = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
    if (!begin_) begin_.emplace(eventOn(stream));
    if (!end_) end_.emplace(eventOn(stream));
    begin_->record(stream);
    pass();
    end_->record(stream);
    end_->synchronize();
    return begin_->elapsedTime(*end_);
  }

  [[nodiscard]] const char* name() const { return device_.is_cpu() ? "wall clock" : "CUDA events"; }

 private:
  c10::Device device_;
  std::optional<c10::Event> begin_, end_;  // made by the first pass, for all
};

}  // namespace normlens::formats::torchscript
