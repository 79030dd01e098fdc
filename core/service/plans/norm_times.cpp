#include "core/service/plans/norm_times.h"

#include <algorithm>

#include "core/analysis/norms/norms.h"
#include "core/run/inputs/draw.h"
#include "core/run/measure/bench.h"

namespace normlens::service {

Result<protocol::NormPrices> timeNorms(const formats::Model& like, int64_t rows, int64_t width,
                                       formats::NormFlavour flavour, const Task& task) {
  task.report("measuring what norms cost here");
  const auto single = like.singleNorm(rows, width, like.facts().dtype);
  if (!single) return tl::unexpected(single.error());
  formats::InputSpec spec;
  spec.name = "in_0";
  spec.dtype = like.facts().dtype;
  spec.shape = {rows, width};
  const auto inputs = run::drawInputs({spec}, 1);
  if (!inputs) return tl::unexpected(inputs.error());
  if (const Status probed = (*single)->probe(*inputs, task); !probed) return tl::unexpected(probed.error());

  const auto norms = analysis::findNorms((*single)->graph()).layerNorms;
  if (norms.size() != 1) return fail(ErrorCode::Internal, "the model of one LayerNorm does not show it");
  const int64_t axes[] = {1};
  const auto& graph = (*single)->graph();
  const fold::InsertCentering centering{norms[0].input, ops::Pattern::overAxes({rows, width}, axes),
                                        graph.value(norms[0].input).uses};
  const auto replaced = (*single)->apply({"all", {fold::ReplaceNorm{0}}}, norms, flavour, task);
  if (!replaced) return tl::unexpected(replaced.error());
  const auto centered = (*single)->apply({"all", {centering, fold::ReplaceNorm{0}}}, norms, flavour, task);
  if (!centered) return tl::unexpected(centered.error());

  run::BenchOptions options;
  options.rounds = 8;
  options.extras = false;
  const auto replacing = run::benchModels(**single, replaced->get(), *inputs, options, task);
  if (!replacing) return tl::unexpected(replacing.error());
  const auto adding = run::benchModels(**replaced, centered->get(), *inputs, options, task);
  if (!adding) return tl::unexpected(adding.error());
  constexpr double kMicrosecondsPerMs = 1000;
  return protocol::NormPrices{
      rows, width, replacing->a.latency.medianMs * kMicrosecondsPerMs,
      replacing->b->latency.medianMs * kMicrosecondsPerMs,
      std::max(0.0, adding->b->latency.medianMs - adding->a.latency.medianMs) * kMicrosecondsPerMs};
}

}  // namespace normlens::service
