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

struct CallTimes {
  double ms = 0;  // of all calls
  double hostMs = 0;
};

double msSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

CallTimes onCpu(const NormOp& op, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) op.call(i);
  return {msSince(start), 0};
}

class GpuClock {
 public:
  GpuClock(at::Device device, int64_t sets)
      : guard_(c10::impl::getDeviceGuardImpl(device.type())),
        device_(device),
        backlog_(at::zeros({kBacklogBytes}, at::TensorOptions().device(device).dtype(at::kByte))),
        kept_(static_cast<size_t>(sets)) {}

  // The GPU is still at the backlog while the host queues the calls: that takes the host's own time.
  CallTimes operator()(const NormOp& op, int calls) {
    const int copies = calls < kFewCalls ? 3 : 8;  // some 1 and 3 ms on an H100
    for (int i = 0; i < copies; ++i) backlog_.add_(1);
    const c10::Stream stream = guard_->getStream(device_);
    before_.record(stream);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i, ++time_) kept_[static_cast<size_t>(time_) % kept_.size()] = op.call(time_);
    const double hostMs = msSince(start);
    after_.record(stream);
    after_.synchronize();
    return {before_.elapsedTime(after_), hostMs};
  }

 private:
  static constexpr int kFewCalls = 50;

  const c10::impl::DeviceGuardImplInterface* guard_;
  at::Device device_;
  c10::Event before_{device_.type(), c10::EventFlag::BACKEND_DEFAULT};
  c10::Event after_{device_.type(), c10::EventFlag::BACKEND_DEFAULT};
  at::Tensor backlog_;
  std::vector<Outputs> kept_;  // else each result would lie where the last one lay, in a cache
  int64_t time_ = 0;           // goes on from measurement to measurement: each finds what was touched longest ago
};

double medianOf(std::vector<double>& times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

OpTime summarize(const NormOp& op, std::vector<double> times, std::vector<double> hostTimes, int64_t calls) {
  const double median = medianOf(times);
  const double spread = (times[times.size() * 3 / 4] - times[times.size() / 4]) / median;
  return {op.name, median, medianOf(hostTimes), spread, op.bytes, calls};
}

// Enough calls for the clock: a quarter of a millisecond on the CPU; as many as the backlog of a GPU covers.
int callsFor(double msOfOne, bool gpu) {
  const double wanted = gpu ? 2.0 : 0.25;
  return std::clamp(static_cast<int>(wanted / std::max(msOfOne, 1e-4)), 1, gpu ? 100 : 1000);
}

template <class Clock>
std::vector<OpTime> timeOps(const std::vector<NormOp>& ops, int rounds, bool gpu, Clock&& clock) {
  std::vector<int> calls;
  for (const NormOp& op : ops) {
    clock(op, 1);
    calls.push_back(callsFor(clock(op, 1).ms, gpu));
  }
  std::vector<std::vector<double>> times(ops.size()), hostTimes(ops.size());
  for (int round = -1; round < rounds; ++round) {  // the first one does not count
    for (size_t i = 0; i < ops.size(); ++i) {
      const CallTimes took = clock(ops[i], calls[i]);
      if (round < 0) continue;
      times[i].push_back(took.ms / calls[i]);
      hostTimes[i].push_back(took.hostMs / calls[i]);
    }
  }
  std::vector<OpTime> result;
  for (size_t i = 0; i < ops.size(); ++i) {
    result.push_back(
        summarize(ops[i], std::move(times[i]), std::move(hostTimes[i]), static_cast<int64_t>(rounds) * calls[i]));
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
    result.ops = timeOps(ops, rounds, true, GpuClock(point.device, setsOf(point)));
  } else {
    result.ops = timeOps(ops, rounds, false, &onCpu);
  }
  result.after = clocks.read();
  return result;
}

}  // namespace normlens::bench
