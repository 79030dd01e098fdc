#include "core/service/plans/narrow_streams.h"

#include "core/base/stopwatch.h"
#include "core/run/measure/bench.h"
#include "core/service/describe/describe.h"
#include "core/service/plans/plan_maker.h"
#include "core/service/plans/stream_work.h"

namespace normlens::service {
namespace {

Status prove(const NarrowSource& source, const fold::FoldPlan& plan, const NarrowOptions& options,
             const run::VerifyOptions& how, Narrowing& out, const Task& task) {
  const auto& norms = source.analysis.norms.layerNorms;
  const auto again = [&](const formats::Model& twin) { return twin.apply(plan, norms, options.flavour, task); };
  const auto verification = run::verifyChange({source.model, *out.model, again, norms}, source.inputs, how, task);
  if (!verification) return tl::unexpected(verification.error());
  out.verify = describeVerification(*verification);
  out.ok = verification->exact.value_or(false);
  if (!out.ok) out.reason = whyNotProved(*verification, "narrow");
  return {};
}

Result<TimedPair> timed(const formats::Model& a, const formats::Model& b, const formats::Tensors& inputs,
                        const formats::RunSettings& settings, const Task& task) {
  run::BenchOptions options;
  options.settings = settings;
  options.extras = false;
  return run::benchModels(a, &b, inputs, options, task).map([](const run::BenchReport& report) {
    return TimedPair{report.a.latency.medianMs, report.b->latency.medianMs, report.speedup};
  });
}

Result<StreamTimes> measure(const NarrowSource& source, const formats::Model& result, const analysis::Plan& plan,
                            const NarrowOptions& options, const Task& task) {
  const auto fold = source.model.apply(toFoldPlan(plan), source.analysis.norms.layerNorms, options.flavour, task);
  if (!fold) return tl::unexpected(fold.error());
  task.report("measuring the fold");
  const auto ofFold = timed(source.model, **fold, source.inputs, *options.measureOn, task);
  if (!ofFold) return tl::unexpected(ofFold.error());
  task.report("measuring the narrow model");
  const auto ofResult = timed(source.model, result, source.inputs, *options.measureOn, task);
  if (!ofResult) return tl::unexpected(ofResult.error());
  const auto overFold = timed(**fold, result, source.inputs, *options.measureOn, task);
  if (!overFold) return tl::unexpected(overFold.error());
  return StreamTimes{*ofFold, *ofResult, *overFold};
}

}  // namespace

PlannedStreams planNarrowing(const analysis::Analysis& analysis, const analysis::Plan& plan,
                             analysis::StreamPadding padding) {
  PlannedStreams out;
  auto planned = analysis::planStreams(analysis, plan, padding);
  out.streams = std::move(planned.streams);
  out.refused = std::move(planned.refused);
  if (!out.refused.empty()) return out;
  out.edits = analysis::narrowed(plan, std::move(planned.edits));
  out.work = streamWork(analysis, plan, out.streams, out.edits.streams);
  return out;
}

Result<Narrowing> narrowStreams(const NarrowSource& source, analysis::Plan plan, const NarrowOptions& options,
                                const run::VerifyOptions& verify, const Task& task) {
  const Stopwatch watch;
  Narrowing out;
  auto planned = planNarrowing(source.analysis, plan, options.padding);
  out.streams = std::move(planned.streams);
  out.reason = std::move(planned.refused);
  out.plan = std::move(plan);
  if (!out.reason.empty()) return out;
  const auto& edits = planned.edits;
  out.work = planned.work;
  task.report("narrowing streams");
  auto made = source.model.apply(edits, source.analysis.norms.layerNorms, options.flavour, task);
  if (!made && made.error().code == ErrorCode::Refused) {
    out.reason = made.error().message;
    return out;
  }
  if (!made) return tl::unexpected(made.error());
  out.model = std::move(*made);
  out.ms = watch.ms();
  out.ok = true;
  if (options.verify) {
    if (const Status proved = prove(source, edits, options, verify, out, task); !proved)
      return tl::unexpected(proved.error());
  }
  if (options.measureOn && out.ok) {
    auto times = measure(source, *out.model, out.plan, options, task);
    if (!times) return tl::unexpected(times.error());
    out.times = *times;
  }
  return out;
}

}  // namespace normlens::service
