#include "core/service/narrow_streams.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/stopwatch.h"
#include "core/run/measure/bench.h"
#include "core/service/describe/describe.h"
#include "core/service/plans/plan_maker.h"

namespace normlens::service {
using graph::Graph;
using graph::OpKind;

namespace {

// Computes what narrow streams save, from the shapes in the graph.

enum Of : uint8_t { OfOriginal, OfFold, OfNarrow };

double elementsIn(const Graph& graph, graph::ValueId value) {
  const auto& shape = graph.value(value).shape;
  return shape ? static_cast<double>(graph::elementCount(*shape).value_or(0)) : 0;
}

// Multiplications and additions of the linear that this read of a weight, or of a transposed one, leads to.
double flopsOf(const Graph& graph, const graph::Use& use, const graph::Shape& weight) {
  if (use.node == graph::kNone) return 0;
  const auto& node = graph.node(use.node);
  const double made = 2 * elementsIn(graph, node.outputs[0]);
  const auto summed = [&](size_t operand) {
    const auto& shape = graph.value(node.operands[operand]).shape;
    return shape && !shape->empty() ? made * static_cast<double>(shape->back()) : 0.0;
  };
  switch (node.kind) {
    case OpKind::Permute: {
      const auto& uses = graph.value(node.outputs[0]).uses;
      return uses.empty() ? 0 : flopsOf(graph, uses[0], weight);
    }
    case OpKind::Linear:
    case OpKind::MatMul:
      return weight.size() < 2 ? 0 : summed(0);
    case OpKind::AddMatMul:
      return weight.size() < 2 ? 0 : summed(1);
    case OpKind::Conv:
      return weight.size() < 2 ? 0
                               : made * static_cast<double>(graph::elementCount(weight).value_or(0)) /
                                     static_cast<double>(std::max<int64_t>(weight[0], 1));
    default:
      return 0;
  }
}

class Work {
 public:
  Work(const analysis::Analysis& analysis, const analysis::Plan& plan)
      : analysis_(analysis), graph_(analysis.scales.graph()) {
    for (const auto& constant : graph_.constants) {
      for (auto& bytes : out_.weightBytes) bytes += graph::byteCount(constant.view);
    }
    out_.weightBytes[OfFold] += plan.bytesGrown;
    out_.weightBytes[OfNarrow] += plan.bytesGrown;
  }

  void addStream(const analysis::Stream& stream, const fold::StreamEdits& edits) {
    for (const int index : stream.norms) {
      const auto& norm = analysis_.norms.layerNorms[static_cast<size_t>(index)];
      const double elements = elementsIn(graph_, norm.input);
      const double rows = elements / static_cast<double>(stream.channels.full);
      const bool narrow = std::ranges::find(edits.norms, index, &fold::NarrowNorm::norm) != edits.norms.end();
      const int affine = (norm.gamma != graph::kNoValue ? 1 : 0) + (norm.beta != graph::kNoValue ? 1 : 0);
      const double rms = elements * (3 + (norm.gamma != graph::kNoValue ? 1 : 0));
      out_.normFlops[OfOriginal] += elements * (5 + affine);
      out_.normFlops[OfFold] += rms;
      out_.normFlops[OfNarrow] += narrow ? rows * 3 * static_cast<double>(stream.channels.width) : rms + 3 * elements;
      const auto bytes = static_cast<double>(graph::dtypeBytes(graph_.value(norm.input).dtype));
      out_.streamBytes[OfOriginal] += static_cast<int64_t>(elements * bytes);
      out_.streamBytes[OfFold] += static_cast<int64_t>(elements * bytes);
      out_.streamBytes[OfNarrow] += static_cast<int64_t>(rows * bytes * static_cast<double>(stream.channels.width));
    }
  }

  void addWeight(graph::ConstantId constant, const graph::Uses& uses, const fold::Channels& channels) {
    const auto& view = graph_.constant(constant).view;
    const double share = static_cast<double>(channels.width) / static_cast<double>(channels.full);
    out_.weightBytes[OfNarrow] -= static_cast<int64_t>((1 - share) * static_cast<double>(graph::byteCount(view)));
    double& left = shares_.try_emplace(constant, 1.0).first->second;
    for (const auto& use : uses) {
      const double flops = flopsOf(graph_, use, view.shape);
      if (left == 1) {
        out_.linearFlops[OfOriginal] += flops;
        out_.linearFlops[OfFold] += flops;
        out_.linearFlops[OfNarrow] += flops;
      }
      out_.linearFlops[OfNarrow] -= flops * left * (1 - share);
    }
    left *= share;
  }

  [[nodiscard]] StreamWork take() const { return out_; }

 private:
  const analysis::Analysis& analysis_;
  const Graph& graph_;
  std::map<graph::ConstantId, double>
      shares_;  // Shares of elements that are left: a weight may write and read a stream.
  StreamWork out_;
};

StreamWork streamWork(const analysis::Analysis& analysis, const analysis::Plan& plan,
                      const std::vector<analysis::Stream>& streams, const fold::StreamEdits& edits) {
  Work work(analysis, plan);
  for (const auto& stream : streams) {
    if (stream.refused.empty()) work.addStream(stream, edits);
  }
  for (const auto& edit : edits.constants) work.addWeight(edit.constant, edit.uses, edit.channels);
  return work.take();
}

Status prove(const NarrowSource& source, const fold::FoldPlan& plan, const NarrowOptions& options,
             const run::VerifyOptions& how, Narrowing& out, const Task& task) {
  const auto& norms = source.analysis.norms.layerNorms;
  const auto again = [&](const formats::Model& twin) { return twin.apply(plan, norms, options.flavour, task); };
  ASSIGN_OR_RETURN(const auto verification,
                   run::verifyChange({source.model, *out.model, again, norms}, source.inputs, how, task));
  out.verify = describeVerification(verification);
  out.ok = verification.exact.value_or(false);
  if (!out.ok) out.reason = whyNotProved(verification, "narrow");
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
  ASSIGN_OR_RETURN(const auto ofFold, timed(source.model, **fold, source.inputs, *options.measureOn, task));
  task.report("measuring the narrow model");
  ASSIGN_OR_RETURN(const auto ofResult, timed(source.model, result, source.inputs, *options.measureOn, task));
  ASSIGN_OR_RETURN(const auto overFold, timed(**fold, result, source.inputs, *options.measureOn, task));
  return StreamTimes{ofFold, ofResult, overFold};
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
    RETURN_IF_ERROR(prove(source, edits, options, verify, out, task));
  }
  if (options.measureOn && out.ok) {
    ASSIGN_OR_RETURN(auto times, measure(source, *out.model, out.plan, options, task));
    out.times = times;
  }
  return out;
}

}  // namespace normlens::service
