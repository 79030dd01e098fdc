#include "core/formats/torchscript/run/node_times.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/formats/torchscript/run/pass_timer.h"

namespace normlens::formats::torchscript {

using Clock = std::chrono::steady_clock;

namespace {

constexpr double kShortestWaitMs = 1;
constexpr double kLongestWaitMs = 500;

double msSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

NodeTimes::NodeTimes(const Program& program, int passes, c10::Device device, QueueWait wait)
    : program_(program), device_(device), wait_(std::move(wait)), passes_(static_cast<size_t>(passes)) {}

ValueHook NodeTimes::hook(int pass) {
  if (!device_.is_cpu()) startOnDevice();
  last_ = Clock::now();
  return [this, pass](int value, const c10::IValue& content) {
    const ProgramValue& made = program_.values[static_cast<size_t>(value)];
    const int node = made.known ? kNone : made.producer;
    // Nothing is launched for a constant or a number, and each event takes a place in the GPU's queue.
    if (!device_.is_cpu()) return !made.known && content.isTensor() ? markOnDevice(node) : void();
    if (node != kNone && pass != kWarmUp)
      passes_.add(static_cast<size_t>(node), static_cast<size_t>(pass), msSince(last_));
    last_ = Clock::now();
  };
}

void NodeTimes::startOnDevice() {
  count_ = 0;
  if (wait_ && waitMs_ > 0) wait_(waitMs_);
  markOnDevice(kNone);
}

void NodeTimes::markOnDevice(int node) {
  const c10::Stream stream = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  const bool late = count_ > 0 && marks_[count_ - 1].event.query();
  if (count_ == marks_.size()) marks_.push_back({node, eventOn(stream)});
  Mark& mark = marks_[count_++];
  mark.node = node;
  mark.late = late;
  mark.event.record(stream);
}

bool NodeTimes::waitLonger() {
  if (!wait_ || waitMs_ >= kLongestWaitMs) return false;
  waitMs_ = std::min(2 * waitMs_, kLongestWaitMs);
  return true;
}

bool NodeTimes::endPass(int pass) {
  if (device_.is_cpu()) return true;
  const double hostMs = msSince(last_);
  marks_[count_ - 1].event.synchronize();
  if (pass == kWarmUp) {
    waitMs_ = std::clamp(2 * hostMs, kShortestWaitMs, kLongestWaitMs);
    return true;
  }
  const auto ofPass = std::span(marks_).first(count_);
  if (std::ranges::any_of(ofPass, &Mark::late) && waitLonger()) return false;
  for (size_t i = 1; i < count_; ++i) {
    if (marks_[i].node == kNone) continue;
    if (marks_[i].late) lateNodes_.insert(marks_[i].node);
    passes_.add(static_cast<size_t>(marks_[i].node), static_cast<size_t>(pass),
                marks_[i - 1].event.elapsedTime(marks_[i].event));
  }
  return true;
}

}  // namespace normlens::formats::torchscript
