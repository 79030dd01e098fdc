#include "tests/bench/norms/norm_times.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/Event.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "tests/bench/norms/gpu_memory.h"

namespace normlens::bench {
namespace {

double wallMs(const NormOp& op, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) op.call(i);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

class GpuClock {
 public:
  GpuClock(at::Device device, int sets)
      : guard_(c10::impl::getDeviceGuardImpl(device.type())),
        device_(device),
        backlog_(at::zeros({kBacklogBytes}, at::TensorOptions().device(device).dtype(at::kByte))),
        kept_(static_cast<size_t>(sets)) {}

  double ms(const NormOp& op, int calls) {
    for (int i = 0; i < 8; ++i) backlog_.add_(1);
    const c10::Stream stream = guard_->getStream(device_);
    c10::Event before(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
    c10::Event after(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
    before.record(stream);
    for (int i = 0; i < calls; ++i) kept_[static_cast<size_t>(i) % kept_.size()] = op.call(i);
    after.record(stream);
    after.synchronize();
    return before.elapsedTime(after);
  }

 private:
  const c10::impl::DeviceGuardImplInterface* guard_;
  at::Device device_;
  at::Tensor backlog_;
  std::vector<Outputs> kept_;  // else each result would lie where the last one lay, in a cache
};

OpTime summarize(const NormOp& op, std::vector<double> times, int64_t calls) {
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  const double spread = (times[times.size() * 3 / 4] - times[times.size() / 4]) / median;
  return {op.name, median, spread, op.bytes, calls};
}

// Enough calls for the clock: a quarter of a millisecond on the CPU; as many as the backlog of a GPU covers.
int callsFor(double msOfOne, bool gpu) {
  const double wanted = gpu ? 2.0 : 0.25;
  return std::clamp(static_cast<int>(wanted / std::max(msOfOne, 1e-4)), 1, gpu ? 100 : 1000);
}

template <class Clock>
std::vector<OpTime> timeOps(const std::vector<NormOp>& ops, int rounds, bool gpu, const Clock& clock) {
  std::vector<int> calls;
  for (const NormOp& op : ops) {
    clock(op, 1);
    calls.push_back(callsFor(clock(op, 1), gpu));
  }
  std::vector<std::vector<double>> times(ops.size());
  for (int round = -1; round < rounds; ++round) {  // the first one does not count
    for (size_t i = 0; i < ops.size(); ++i) {
      const double ms = clock(ops[i], calls[i]) / calls[i];
      if (round >= 0) times[i].push_back(ms);
    }
  }
  std::vector<OpTime> result;
  for (size_t i = 0; i < ops.size(); ++i) {
    result.push_back(summarize(ops[i], std::move(times[i]), static_cast<int64_t>(rounds) * calls[i]));
  }
  return result;
}

}  // namespace

const OpTime& PointTimes::of(const std::string& op) const {
  const auto found = std::ranges::find(ops, op, &OpTime::op);
  if (found == ops.end()) throw std::runtime_error("not measured: " + op);
  return *found;
}

bool PointTimes::unsteady() const {
  constexpr double kMost = 0.2;
  return of(kCopy).spread > kMost;
}

PointTimes timePoint(const NormPoint& point, int rounds, const ClockReader& clocks) {
  const bool gpu = point.device.is_cuda();
  PointTimes result{point, gpu ? 0 : at::get_num_threads(), {}, {}, {}};
  const std::vector<NormOp> ops = normOps(point);
  result.before = clocks.read();
  if (gpu) {
    GpuClock clock(point.device, setsOf(point));
    result.ops = timeOps(ops, rounds, true, [&](const NormOp& op, int calls) { return clock.ms(op, calls); });
  } else {
    result.ops = timeOps(ops, rounds, false, [](const NormOp& op, int calls) { return wallMs(op, calls); });
  }
  result.after = clocks.read();
  return result;
}

}  // namespace normlens::bench
