// The fields of the messages of bench_messages.h, for the codec (fields.h).
#pragma once

#include "core/protocol/bench_messages.h"
#include "core/protocol/fields.h"

namespace normlens::protocol {

#define NORMLENS_FIELD(name) \
  Field { #name, &M::name }

template <>
struct FieldsOf<BenchParams> {
  using M = BenchParams;
  static constexpr std::tuple list{NORMLENS_FIELD(a),          NORMLENS_FIELD(b),      NORMLENS_FIELD(rounds),
                                   NORMLENS_FIELD(iterations), NORMLENS_FIELD(warmup), NORMLENS_FIELD(sweep),
                                   NORMLENS_FIELD(device),     NORMLENS_FIELD(dtype),  NORMLENS_FIELD(threads),
                                   NORMLENS_FIELD(cuda_graph)};
};

template <>
struct FieldsOf<LatencyStats> {
  using M = LatencyStats;
  static constexpr std::tuple list{NORMLENS_FIELD(median_ms), NORMLENS_FIELD(mean_ms), NORMLENS_FIELD(p5_ms),
                                   NORMLENS_FIELD(p95_ms),    NORMLENS_FIELD(p99_ms),  NORMLENS_FIELD(throughput)};
};

template <>
struct FieldsOf<OpShare> {
  using M = OpShare;
  static constexpr std::tuple list{NORMLENS_FIELD(op), NORMLENS_FIELD(count), NORMLENS_FIELD(ms), NORMLENS_FIELD(norm)};
};

template <>
struct FieldsOf<BenchSide> {
  using M = BenchSide;
  static constexpr std::tuple list{NORMLENS_FIELD(model),      NORMLENS_FIELD(runtime),    NORMLENS_FIELD(latency),
                                   NORMLENS_FIELD(samples_ms), NORMLENS_FIELD(peak_bytes), NORMLENS_FIELD(peak_reason),
                                   NORMLENS_FIELD(ops),        NORMLENS_FIELD(ops_reason), NORMLENS_FIELD(norm_share)};
};

template <>
struct FieldsOf<BenchPoint> {
  using M = BenchPoint;
  static constexpr std::tuple list{
      NORMLENS_FIELD(at),          NORMLENS_FIELD(device),     NORMLENS_FIELD(dtype),     NORMLENS_FIELD(norm),
      NORMLENS_FIELD(clock),       NORMLENS_FIELD(threads),    NORMLENS_FIELD(batch),     NORMLENS_FIELD(a),
      NORMLENS_FIELD(b),           NORMLENS_FIELD(rounds),     NORMLENS_FIELD(speedup),   NORMLENS_FIELD(ci_low),
      NORMLENS_FIELD(ci_high),     NORMLENS_FIELD(noise),      NORMLENS_FIELD(warmed_up), NORMLENS_FIELD(complete),
      NORMLENS_FIELD(fold_ms),     NORMLENS_FIELD(break_even), NORMLENS_FIELD(error),     NORMLENS_FIELD(cuda_graph),
      NORMLENS_FIELD(other_cores), NORMLENS_FIELD(crowded)};
};

template <>
struct FieldsOf<NormWork> {
  using M = NormWork;
  static constexpr std::tuple list{NORMLENS_FIELD(name),  NORMLENS_FIELD(kind),       NORMLENS_FIELD(rows),
                                   NORMLENS_FIELD(width), NORMLENS_FIELD(reductions), NORMLENS_FIELD(flops),
                                   NORMLENS_FIELD(bytes)};
};

template <>
struct FieldsOf<BenchMachine> {
  using M = BenchMachine;
  static constexpr std::tuple list{
      NORMLENS_FIELD(cpu), NORMLENS_FIELD(cores),  NORMLENS_FIELD(mhz_before),     NORMLENS_FIELD(mhz_after),
      NORMLENS_FIELD(gpu), NORMLENS_FIELD(driver), NORMLENS_FIELD(gpu_mhz_before), NORMLENS_FIELD(gpu_mhz_after)};
};

template <>
struct FieldsOf<BenchResult> {
  using M = BenchResult;
  static constexpr std::tuple list{NORMLENS_FIELD(device),  NORMLENS_FIELD(original), NORMLENS_FIELD(folded),
                                   NORMLENS_FIELD(speedup), NORMLENS_FIELD(ci_low),   NORMLENS_FIELD(ci_high),
                                   NORMLENS_FIELD(noise),   NORMLENS_FIELD(points),   NORMLENS_FIELD(work_a),
                                   NORMLENS_FIELD(work_b),  NORMLENS_FIELD(machine),  NORMLENS_FIELD(versions),
                                   NORMLENS_FIELD(taken),   NORMLENS_FIELD(cancelled)};
};

template <>
struct FieldsOf<BenchUpdate> {
  using M = BenchUpdate;
  static constexpr std::tuple list{NORMLENS_FIELD(id), NORMLENS_FIELD(index), NORMLENS_FIELD(points),
                                   NORMLENS_FIELD(now)};
};

#undef NORMLENS_FIELD

}  // namespace normlens::protocol
