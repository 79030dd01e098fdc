// Reports of core/run as the protocol's messages. Thread: pure functions.
#pragma once

#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/base/machine.h"
#include "core/protocol/bench_messages.h"
#include "core/run/measure/bench.h"
#include "core/run/measure/norm_work.h"

namespace normlens::service {

// What its ops are measured against: the model's graph, and which of its nodes are norms.
struct SideNames {
  std::string model;
  std::vector<bool> normNodes;  // by node
};

[[nodiscard]] protocol::BenchSide describeSide(const run::SideReport& side, const SideNames& names, int64_t batch);
// Fills what was measured into a point that says already what is varied in it.
void describeMeasured(const run::BenchReport& report, const SideNames& a, const SideNames& b,
                      protocol::BenchPoint& point);
[[nodiscard]] std::vector<protocol::NormWork> describeWork(const std::vector<run::NormWork>& work);
[[nodiscard]] protocol::BenchMachine describeMachine(const MachineFacts& facts, const ClockRates& before,
                                                     const ClockRates& after);

}  // namespace normlens::service
