// How long a pass takes on the device that it runs on. Private to formats/torchscript: includes torch.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>

namespace normlens::formats::torchscript {

// On the CPU the wall clock. On CUDA two events on the current stream around the pass: what its kernels took, waiting
// for them included, from the first one that could start.
class PassTimer {
 public:
  explicit PassTimer(c10::Device device) : device_(device) {}

  // Milliseconds. Throws what `pass` throws, and c10::Error.
  template <class Pass>
  double time(Pass&& pass) const {
    if (device_.is_cpu()) {
      using Clock = std::chrono::steady_clock;
      const auto start = Clock::now();
      pass();
      return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
    const c10::Stream stream = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
    c10::Event begin(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
    c10::Event end(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
    begin.record(stream);
    pass();
    end.record(stream);
    end.synchronize();
    return begin.elapsedTime(end);
  }

  [[nodiscard]] const char* name() const { return device_.is_cpu() ? "wall clock" : "CUDA events"; }

 private:
  c10::Device device_;
};

}  // namespace normlens::formats::torchscript
