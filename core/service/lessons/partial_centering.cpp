#include "core/service/lessons/partial_centering.h"

#include <algorithm>
#include <numeric>

#include "core/run/compare/sites.h"
#include "core/run/geometry/row_reader.h"
#include "core/service/forced_error.h"
#include "core/service/plans/plan_maker.h"

namespace normlens::service {
namespace {

constexpr size_t kMostMeans = 4096;

bool hasOneAxis(const graph::Graph& graph, graph::ConstantId constant) {
  return graph.constant(constant).view.shape.size() < 2;
}

// The share in each edit of the plan that is asked for; other centerings of weights are left out. Error: none of it is
// of the value.
Result<fold::FoldPlan> withShare(const graph::Graph& graph, const fold::FoldPlan& whole,
                                 const protocol::PartialCenteringParams& params) {
  const auto chosen = graph.value(params.value).constant;
  fold::FoldPlan plan{whole.policy, {}};
  bool found = false;
  for (const fold::Edit& edit : whole.edits) {
    fold::Edit next = edit;
    if (auto* center = std::get_if<fold::CenterConstant>(&next)) {
      const auto isChosen = [&](const auto& part) { return part.constant == chosen; };
      const bool itself = std::ranges::any_of(center->parts, isChosen);
      found = found || itself;
      const bool bias = hasOneAxis(graph, center->parts.front().constant);
      if (!itself && (bias ? !params.biases : !params.others)) continue;
      center->share = params.share;
    }
    plan.edits.push_back(std::move(next));
  }
  if (!found) return fail(ErrorCode::Usage, "this LayerNorm does not rest on that tensor");
  return plan;
}

// Of the rows of the norm's input in the changed model.
Result<std::vector<double>> meansOf(const run::Site& site, const formats::Tensors& seen) {
  std::vector<double> means;
  const auto reached = std::ranges::find_if(seen, [](const auto& tensor) { return tensor.view.data != nullptr; });
  if (reached == seen.end()) return fail(ErrorCode::RunFailed, "the inputs do not come by this LayerNorm");
  const Status read = run::forEachRow(reached->view, site.axes, [&](std::span<const double> row) {
    means.push_back(std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size()));
  });
  if (!read) return tl::unexpected(read.error());
  if (means.size() <= kMostMeans) return means;
  std::vector<double> picked;
  for (size_t i = 0; i < kMostMeans; ++i) picked.push_back(means[i * means.size() / kMostMeans]);
  return picked;
}

Result<protocol::PartialCentering> measured(OriginalInType& original, const AnalysedModel& subject,
                                            const protocol::PartialCenteringParams& params, const Task& task) {
  const auto& norms = subject.analysis.norms.layerNorms;
  const graph::Graph& graph = subject.original.graph();
  const analysis::Plan whole = foldedAlone(subject.analysis, params.norm, false);
  if (whole.folded.empty())
    return fail(ErrorCode::Refused, "weights alone do not take the mean from the input of this LayerNorm");
  const auto plan = withShare(graph, toFoldPlan(whole), params);
  if (!plan) return tl::unexpected(plan.error());
  const auto changed = original.model(subject).apply(*plan, norms, formats::NormFlavour::Portable, task);
  if (!changed) return tl::unexpected(changed.error());
  const auto sites = run::normSites(graph, norms, (*changed)->graph());
  const auto site = std::ranges::find_if(
      sites, [&](const run::Site& each) { return each.kind == run::SiteKind::NormInput && each.norm == params.norm; });
  if (site == sites.end()) return fail(ErrorCode::Unsupported, "the input of this LayerNorm cannot be looked at");
  const auto seen = (*changed)->runSeeing(subject.inputs, site->partners, task);
  if (!seen) return tl::unexpected(seen.error());
  const auto error = original.errorOf(seen->outputs);
  if (!error) return tl::unexpected(error.error());
  auto means = meansOf(*site, seen->values);
  if (!means) return tl::unexpected(means.error());
  protocol::PartialCentering result;
  result.means = std::move(*means);
  result.max_rel = error->maxRel;
  result.limit = error->limit;
  return result;
}

}  // namespace

Result<protocol::PartialCentering> partialCentering(OriginalInType& original, const AnalysedModel& subject,
                                                    const protocol::PartialCenteringParams& params, const Task& task) {
  const std::string dtype =
      params.dtype.empty() ? std::string(graph::dtypeName(subject.original.facts().dtype)) : params.dtype;
  auto told = original.take(subject, dtype, task).and_then([&] { return measured(original, subject, params, task); });
  if (!told && (told.error().code == ErrorCode::Cancelled || told.error().code == ErrorCode::Usage)) return told;
  protocol::PartialCentering result;
  if (told) result = std::move(*told);
  if (!told) result.error = told.error().message;
  result.dtype = dtype;
  return result;
}

}  // namespace normlens::service
