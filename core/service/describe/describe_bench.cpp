#include "core/service/describe/describe_bench.h"

#include <algorithm>
#include <map>

namespace normlens::service {
namespace {

constexpr double kMsPerSecond = 1000;

protocol::LatencyStats latency(const run::LatencyStats& stats, int64_t batch) {
  const double perSecond = stats.medianMs > 0 ? kMsPerSecond * static_cast<double>(batch) / stats.medianMs : 0;
  return {stats.medianMs, stats.meanMs, stats.p5Ms, stats.p95Ms, stats.p99Ms, perSecond};
}

bool isNorm(const formats::OpTime& op, const SideNames& names) {
  if (run::isNormOp(op.op)) return true;
  return op.node != graph::kNone && static_cast<size_t>(op.node) < names.normNodes.size() &&
         names.normNodes[static_cast<size_t>(op.node)];
}

void describeOps(const std::vector<formats::OpTime>& ops, const SideNames& names, protocol::BenchSide& out) {
  std::map<std::pair<std::string, bool>, protocol::OpShare> shares;
  double all = 0, norms = 0;
  for (const formats::OpTime& op : ops) {
    const bool norm = isNorm(op, names);
    protocol::OpShare& share = shares[{op.op, norm}];
    share.op = op.op;
    share.norm = norm;
    share.count += 1;
    share.ms += op.ms;
    all += op.ms;
    if (norm) norms += op.ms;
  }
  for (auto& [key, share] : shares) out.ops.push_back(std::move(share));
  std::ranges::stable_sort(out.ops, std::ranges::greater(), &protocol::OpShare::ms);
  if (all > 0) out.norm_share = norms / all;
}

}  // namespace

protocol::BenchSide describeSide(const run::SideReport& side, const SideNames& names, int64_t batch) {
  protocol::BenchSide out;
  out.model = names.model;
  out.runtime = side.runtime;
  out.latency = latency(side.latency, batch);
  out.samples_ms = side.samples;
  out.peak_bytes = side.peakBytes;
  out.peak_reason = side.peakReason;
  out.ops_reason = side.opsReason;
  describeOps(side.ops, names, out);
  return out;
}

void describeMeasured(const run::BenchReport& report, const SideNames& a, const SideNames& b,
                      protocol::BenchPoint& point) {
  point.clock = report.a.clock;
  point.threads = report.a.threads;
  point.a = describeSide(report.a, a, point.batch);
  point.b.reset();
  if (report.b) point.b = describeSide(*report.b, b, point.batch);
  point.rounds.clear();
  for (const run::RoundMedians& round : report.rounds) point.rounds.emplace_back(round.aMs, round.bMs);
  point.warmed_up = report.warmedUp;
  point.other_cores = report.otherCores;
  point.crowded = report.crowded;
  if (!report.b) return;
  point.speedup = report.speedup.median;
  point.ci_low = report.speedup.low;
  point.ci_high = report.speedup.high;
  point.noise = report.speedup.noise;
  const double saved = point.a.latency.median_ms - point.b->latency.median_ms;
  point.break_even.reset();
  if (point.fold_ms && !point.noise && saved > 0) point.break_even = *point.fold_ms / saved;
}

std::vector<protocol::NormWork> describeWork(const std::vector<run::NormWork>& work) {
  std::vector<protocol::NormWork> out;
  for (const run::NormWork& one : work) {
    out.push_back({one.name, std::string(run::normKindName(one.kind)), one.rows, one.width, one.reductions, one.flops,
                   one.bytes});
  }
  return out;
}

protocol::BenchMachine describeMachine(const MachineFacts& facts, const ClockRates& before, const ClockRates& after) {
  return {facts.cpu, facts.cores, before.cpuMhz, after.cpuMhz, facts.gpu, facts.driver, before.gpuMhz, after.gpuMhz};
}

}  // namespace normlens::service
