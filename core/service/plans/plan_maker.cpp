#include "core/service/plans/plan_maker.h"

#include <algorithm>

#include "core/analysis/explain.h"
#include "core/analysis/norms/norms.h"
#include "core/analysis/plan/given_plan.h"
#include "core/formats/model.h"
#include "core/protocol/messages.h"
#include "core/run/inputs/draw.h"
#include "core/run/measure/bench.h"

namespace normlens::service {
namespace {

constexpr const char* kPlansFor = "cpu";  // where the engine runs models, too

// Times LayerNorm, the norm that replaces it and a centering where a model runs: the planner's measured prices.

// Measures one tensor of [rows, width], in the runtime of `like`, with its most common type. Errors: Usage (no such
// device), RunFailed, Unsupported, Cancelled.
Result<protocol::NormPrices> timeNorms(const formats::Model& like, int64_t rows, int64_t width,
                                       formats::NormFlavour flavour, const std::string& device, const Task& task) {
  task.report("measuring what norms cost here");
  ASSIGN_OR_RETURN(const auto single, like.singleNorm(rows, width, like.facts().dtype));
  formats::InputSpec spec;
  spec.name = "in_0";
  spec.dtype = like.facts().dtype;
  spec.shape = {rows, width};
  ASSIGN_OR_RETURN(const auto inputs, run::drawInputs({spec}, 1));
  RETURN_IF_ERROR(single->probe(inputs, task));

  const auto norms = analysis::findNorms(single->graph()).layerNorms;
  if (norms.size() != 1) return fail(ErrorCode::Internal, "the model of one LayerNorm does not show it");
  const int64_t axes[] = {1};
  const auto& graph = single->graph();
  const fold::InsertCentering centering{norms[0].input, ops::Pattern::overAxes({rows, width}, axes),
                                        graph.value(norms[0].input).uses};
  const auto replaced = single->apply({Policy::All, {fold::ReplaceNorm{0}}}, norms, flavour, task);
  if (!replaced) return tl::unexpected(replaced.error());
  ASSIGN_OR_RETURN(const auto centered,
                   single->apply({Policy::All, {centering, fold::ReplaceNorm{0}}}, norms, flavour, task));

  run::BenchOptions options;
  RETURN_IF_ERROR(formats::setDevice(options.settings, device));
  options.rounds = 12;
  options.extras = false;
  ASSIGN_OR_RETURN(const auto replacing, run::benchModels(*single, replaced->get(), inputs, options, task));
  ASSIGN_OR_RETURN(const auto adding, run::benchModels(**replaced, centered.get(), inputs, options, task));
  constexpr double kMicrosecondsPerMs = 1000;
  const auto saves = run::bootstrapDifference(replacing.rounds, options.seed);
  const auto gains = run::bootstrapDifference(adding.rounds, options.seed);  // negative: what the centering costs
  const auto costs = [&](double gainMs) { return std::max(0.0, -gainMs) * kMicrosecondsPerMs; };
  return protocol::NormPrices{.rows = rows,
                              .width = width,
                              .layer_norm_us = replacing.a.latency.medianMs * kMicrosecondsPerMs,
                              .rms_norm_us = replacing.b->latency.medianMs * kMicrosecondsPerMs,
                              .centering_us = costs(gains.ms),
                              .saves_low_us = saves.lowMs * kMicrosecondsPerMs,
                              .saves_high_us = saves.highMs * kMicrosecondsPerMs,
                              .centering_low_us = costs(gains.highMs),
                              .centering_high_us = costs(gains.lowMs),
                              .crowded = replacing.crowded || adding.crowded};
}

// Returns whether a plan may depend on the cost of a centering.
bool pricesMatter(const analysis::Analysis& analysis, analysis::Policy policy) {
  return policy == analysis::Policy::Balanced &&
         std::any_of(analysis.verdicts.begin(), analysis.verdicts.end(), [](const analysis::NormVerdict& verdict) {
           return verdict.verdict == analysis::Verdict::WithCentering || !verdict.copies.empty();
         });
}

struct Size {
  int64_t rows = 0, width = 0;
};

// Returns the size of the norm that works on most elements, with fewer rows where more would only take longer to
// measure. No rows: the shape of none is known.
Size largestNorm(const graph::Graph& graph, const std::vector<analysis::LayerNorm>& norms) {
  constexpr int64_t kMostElements = int64_t{1} << 22;
  Size largest;
  for (const auto& norm : norms) {
    const auto& shape = graph.value(norm.input).shape;
    const auto width = graph::elementCount(norm.normalizedShape).value_or(0);
    const auto elements = shape ? graph::elementCount(*shape).value_or(0) : 0;
    if (width < 1 || elements <= largest.rows * largest.width) continue;
    largest = {elements / width, width};
  }
  if (largest.rows > 0) largest.rows = std::clamp<int64_t>(kMostElements / largest.width, 1, largest.rows);
  return largest;
}

// Returns the fixed prices where nothing was measured.
analysis::ElementPrices elementPrices(const protocol::NormPrices& times) {
  if (times.rows == 0) return {};
  return analysis::elementPrices(times.layer_norm_us, times.rms_norm_us, times.centering_us, times.rows * times.width);
}

}  // namespace

fold::FoldPlan toFoldPlan(const analysis::Plan& plan) {
  fold::FoldPlan out{plan.policy, {}};
  for (const auto& planned : plan.edits) out.edits.push_back(planned.edit);
  return out;
}

Result<analysis::PlanOptions> PlanMaker::optionsFor(const protocol::PlanParams& params) const {
  if (!(params.max_growth_percent >= 0)) {
    return fail(ErrorCode::Usage, "the file cannot grow by less than nothing", "give a percentage from 0 on");
  }
  const auto& graph = model_.graph();
  for (const auto* values : {&params.center_values, &params.copy_values, &params.keep_values}) {
    for (const int value : *values) {
      if (value < 0 || static_cast<size_t>(value) >= graph.values.size())
        return fail(ErrorCode::Usage, "there is no value " + std::to_string(value));
      if (values == &params.copy_values && graph.value(value).constant == graph::kNone)
        return fail(ErrorCode::Usage, "value " + std::to_string(value) + " is not a tensor of the file");
    }
  }
  for (const int norm : params.keep_norms) {
    if (norm < 0 || static_cast<size_t>(norm) >= analysis_.norms.layerNorms.size())
      return fail(ErrorCode::Usage, "there is no LayerNorm " + std::to_string(norm));
  }
  analysis::PlanOptions options;
  options.policy = params.policy;
  options.maxGrowthPercent = params.max_growth_percent;
  options.centerValues = params.center_values;
  options.copyValues = params.copy_values;
  options.keepValues = params.keep_values;
  options.keepNorms = params.keep_norms;
  options.foldGains = params.gamma == Gamma::Fold;
  options.carryMeans = params.carry_means;
  return options;
}

Result<protocol::NormPrices> PlanMaker::timesOf(formats::NormFlavour norm, const std::string& device,
                                                const Task& task) {
  if (const auto known = times_.find({norm, device}); known != times_.end()) return known->second;
  const Size size = largestNorm(model_.graph(), analysis_.norms.layerNorms);
  if (size.rows == 0) return protocol::NormPrices{};
  auto times = timeNorms(model_, size.rows, size.width, norm, device, task);
  if (times && !times->crowded) times_[{norm, device}] = *times;  // else: measured again when it is next wanted
  return times;
}

Result<PricedPlan> PlanMaker::make(const protocol::PlanParams& params, formats::NormFlavour norm, const Task& task) {
  if (const std::string& why = model_.facts().cannotRun; !why.empty()) {
    ASSIGN_OR_RETURN(const auto options, optionsFor(params));
    analysis::Plan nothing;
    nothing.policy = options.policy;
    return PricedPlan{nothing, {}, std::nullopt, analysis::asReason(why)};
  }
  if (fromFile_) {
    PricedPlan given{analysis::givenPlan(fromFile_->policy, fromFile_->edits, model_.graph()), {}, std::nullopt};
    findServedNorms(analysis_, given.plan);
    return given;
  }
  ASSIGN_OR_RETURN(auto options, optionsFor(params));
  options.moveShifts = moveShifts_ && (options.foldGains || !formats::addsShift(norm, model_.facts().format));
  if (params.prices == protocol::Prices::Fixed || !pricesMatter(analysis_, options.policy))
    return PricedPlan{makePlan(analysis_, options), {}, options};
  ASSIGN_OR_RETURN(const auto times, timesOf(norm, kPlansFor, task));
  options.prices = elementPrices(times);
  return PricedPlan{makePlan(analysis_, options), times, options};
}

Result<analysis::PlanOptions> PlanMaker::options(const protocol::PlanParams& params, formats::NormFlavour norm,
                                                 const Task& task) {
  auto options = optionsFor(params);
  if (!options || params.prices == protocol::Prices::Fixed) return options;
  ASSIGN_OR_RETURN(const auto times, timesOf(norm, kPlansFor, task));
  options->prices = elementPrices(times);
  return options;
}

}  // namespace normlens::service
