#include "core/formats/torchscript/run/node_times.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace normlens::formats::torchscript {

using Clock = std::chrono::steady_clock;

NodeTimes::NodeTimes(const Program& program, int passes, c10::Device device)
    : program_(program), device_(device), passes_(static_cast<size_t>(passes)) {}

ValueHook NodeTimes::hook(int pass) {
  last_ = Clock::now();
  return [this, pass](int value, const c10::IValue&) {
    const ProgramValue& made = program_.values[static_cast<size_t>(value)];
    const int node = made.known ? kNone : made.producer;
    if (!device_.is_cpu()) return markOnDevice(node);
    if (node != kNone) {
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - last_).count();
      passes_.add(static_cast<size_t>(node), static_cast<size_t>(pass), ms);
    }
    last_ = Clock::now();
  };
}

void NodeTimes::markOnDevice(int node) {
  Mark mark{node, c10::Event(device_.type(), c10::EventFlag::BACKEND_DEFAULT)};
  mark.event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  marks_.push_back(std::move(mark));
}

void NodeTimes::endPass(int pass) {
  if (marks_.empty()) return;
  marks_.back().event.synchronize();
  for (size_t i = 1; i < marks_.size(); ++i) {
    if (marks_[i].node == kNone) continue;
    passes_.add(static_cast<size_t>(marks_[i].node), static_cast<size_t>(pass),
                marks_[i - 1].event.elapsedTime(marks_[i].event));
  }
  marks_.clear();
}

}  // namespace normlens::formats::torchscript
