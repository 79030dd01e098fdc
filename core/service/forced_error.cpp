#include "core/service/forced_error.h"

#include <numeric>

#include "core/service/plans/plan_maker.h"

namespace normlens::service {
namespace {

// An RMSNorm where a LayerNorm is, and nothing else; of all that may be replaced, or of one.
fold::FoldPlan replacedOnly(const analysis::Analysis& analysis, int norm) {
  fold::FoldPlan plan{Policy::All, {}};
  for (const analysis::LayerNorm& each : analysis.norms.layerNorms) {
    const bool all = norm == protocol::kAllNorms && each.blockedReason.empty();
    if (all || each.index == norm) plan.edits.emplace_back(fold::ReplaceNorm{each.index});
  }
  return plan;
}

fold::FoldPlan planFor(const analysis::Analysis& analysis, const protocol::ForcedErrorParams& params) {
  if (params.as_it_is) return replacedOnly(analysis, params.norm);
  const analysis::Plan plan = foldedAlone(analysis, params.norm, true);
  if (!plan.folded.empty()) return toFoldPlan(plan);
  const bool replaceable = analysis.norms.layerNorms[static_cast<size_t>(params.norm)].blockedReason.empty();
  return replaceable ? replacedOnly(analysis, params.norm) : fold::FoldPlan{};
}

}  // namespace

analysis::Plan foldedAlone(const analysis::Analysis& analysis, int norm, bool trusting) {
  analysis::PlanOptions options;
  options.policy = analysis::Policy::Free;
  options.moveShifts = false;
  options.trusting = trusting;
  options.keepNorms.resize(analysis.norms.layerNorms.size());
  std::iota(options.keepNorms.begin(), options.keepNorms.end(), 0);
  options.keepNorms.erase(options.keepNorms.begin() + norm);
  return makePlan(analysis, options);
}

Result<protocol::ForcedError> forcedError(OriginalInType& original, const AnalysedModel& subject,
                                          const protocol::ForcedErrorParams& params, const Task& task) {
  protocol::ForcedError result;
  result.norm = params.norm;
  result.dtype = params.dtype;
  const auto failed = [&](const Error& error) -> Result<protocol::ForcedError> {
    if (error.code == ErrorCode::Cancelled || error.code == ErrorCode::Usage) return tl::unexpected(error);
    result.error = error.message;
    return result;
  };
  if (const Status taken = original.take(subject, params.dtype, task); !taken) return failed(taken.error());
  const fold::FoldPlan plan = planFor(subject.analysis, params);
  if (plan.edits.empty()) {
    result.error = "nothing would make an RMSNorm of it";
    return result;
  }
  task.report("folding it alone");
  const auto folded =
      original.model(subject).apply(plan, subject.analysis.norms.layerNorms, formats::NormFlavour::Portable, task);
  if (!folded) return failed(folded.error());
  const auto outputs = (*folded)->run(subject.inputs, task);
  if (!outputs) return failed(outputs.error());
  const auto error = original.errorOf(*outputs);
  if (!error) return failed(error.error());
  result.max_rel = error->maxRel;
  result.limit = error->limit;
  return result;
}

}  // namespace normlens::service
