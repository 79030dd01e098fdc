#include "core/service/lessons/partial_centering.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "core/run/compare/sites.h"
#include "core/run/geometry/row_reader.h"
#include "core/run/tensors.h"
#include "core/service/forced_error.h"
#include "core/service/plans/plan_maker.h"

namespace normlens::service {
namespace {

constexpr size_t kMostMeans = 4096;

bool hasOneAxis(const graph::Graph& graph, graph::ConstantId constant) {
  return graph.constant(constant).view.shape.size() < 2;
}

struct ChosenPlans {
  fold::FoldPlan plain, centered;  // without any centering of weights, and with those that are asked for
};

// Error: none of them is of the value.
Result<ChosenPlans> chosenPlans(const graph::Graph& graph, const fold::FoldPlan& whole,
                                const protocol::PartialCenteringParams& params) {
  const auto chosen = graph.value(params.value).constant;
  ChosenPlans plans{{whole.policy, {}}, {whole.policy, {}}};
  bool found = false;
  for (const fold::Edit& edit : whole.edits) {
    if (const auto* center = std::get_if<fold::CenterConstant>(&edit)) {
      const auto isChosen = [&](const auto& part) { return part.constant == chosen; };
      const bool itself = std::ranges::any_of(center->parts, isChosen);
      found = found || itself;
      const bool bias = hasOneAxis(graph, center->parts.front().constant);
      if (!itself && (bias ? !params.biases : !params.others)) continue;
    } else {
      plans.plain.edits.push_back(edit);
    }
    plans.centered.edits.push_back(edit);
  }
  if (!found) return fail(ErrorCode::Usage, "this LayerNorm does not rest on that tensor");
  return plans;
}

// W + share (W_c - W), in the memory that holds W_c.
Status mix(const graph::TensorView& plain, const graph::TensorView& centered, double share) {
  auto numbers = graph::toDoubles(plain);
  const auto others = graph::toDoubles(centered);
  if (!numbers || !others || plain.shape != centered.shape)
    return fail(ErrorCode::Unsupported, "a weight of this model cannot be centered in part");
  for (size_t i = 0; i < numbers->size(); ++i) (*numbers)[i] = std::lerp((*numbers)[i], (*others)[i], share);
  const auto mixed = run::fromDoubles(centered.dtype, centered.shape, *numbers);
  const size_t width = graph::dtypeBytes(centered.dtype);
  for (size_t i = 0; i < numbers->size(); ++i) {
    auto rest = static_cast<int64_t>(i), offset = int64_t{0};
    for (size_t axis = centered.shape.size(); axis-- > 0; rest /= centered.shape[axis])
      offset += rest % centered.shape[axis] * centered.strides[axis];
    std::memcpy(const_cast<std::byte*>(centered.data) + offset * static_cast<int64_t>(width), mixed.data + i * width,
                width);
  }
  return {};
}

const graph::TensorView* weightAt(const graph::Graph& graph, graph::ValueId value) {
  const auto constant = value == graph::kNoValue ? graph::kNone : graph.value(value).constant;
  if (constant == graph::kNone || !graph::isFloat(graph.constant(constant).view.dtype)) return nullptr;
  return &graph.constant(constant).view;
}

// The same for each weight of `centered` that `plain` does not have. The models differ in nothing else, so their nodes
// read the same operands; `centered` was made here and has not run, so no one else has seen its weights.
Status mixWeights(const graph::Graph& plain, const graph::Graph& centered, double share) {
  if (plain.nodes.size() != centered.nodes.size())
    return fail(ErrorCode::Unsupported, "this model cannot be centered in part");
  std::set<const std::byte*> done;
  for (size_t node = 0; node < plain.nodes.size(); ++node) {
    const auto &from = plain.nodes[node].operands, &to = centered.nodes[node].operands;
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
      const auto *weight = weightAt(plain, from[i]), *changed = weightAt(centered, to[i]);
      if (weight == nullptr || changed == nullptr || weight->data == changed->data) continue;
      if (!done.insert(changed->data).second) continue;
      RETURN_IF_ERROR(mix(*weight, *changed, share));
    }
  }
  return {};
}

// Returns the means of the rows of the norm's input in the changed model.
Result<std::vector<double>> meansOf(const run::Site& site, const formats::Tensors& seen) {
  std::vector<double> means;
  const auto reached = std::ranges::find_if(seen, [](const auto& tensor) { return tensor.view.data != nullptr; });
  if (reached == seen.end()) return fail(ErrorCode::RunFailed, "the inputs do not come by this LayerNorm");
  RETURN_IF_ERROR(run::forEachRow(reached->view, site.axes, [&](std::span<const double> row) {
    means.push_back(std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size()));
  }));
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
  ASSIGN_OR_RETURN(const auto plans, chosenPlans(graph, toFoldPlan(whole), params));
  const auto made = [&](const fold::FoldPlan& plan) {
    auto model = original.model(subject).apply(plan, norms, formats::NormFlavour::Portable, task);
    const Status computed = model ? (*model)->computeWeights(task) : Status();
    if (!computed) model = tl::unexpected(computed.error());
    return model;
  };
  ASSIGN_OR_RETURN(const auto plain, made(plans.plain), changed = made(plans.centered));
  if (!changed) return tl::unexpected(changed.error());
  RETURN_IF_ERROR(mixWeights(plain->graph(), (*changed)->graph(), params.share));
  const auto sites = run::normSites(graph, norms, (*changed)->graph());
  const auto site = std::ranges::find_if(
      sites, [&](const run::Site& each) { return each.kind == run::SiteKind::NormInput && each.norm == params.norm; });
  if (site == sites.end()) return fail(ErrorCode::Unsupported, "the input of this LayerNorm cannot be looked at");
  ASSIGN_OR_RETURN(const auto seen, (*changed)->runSeeing(subject.inputs, site->partners, task));
  ASSIGN_OR_RETURN(const auto error, original.errorOf(seen.outputs));
  ASSIGN_OR_RETURN(auto means, meansOf(*site, seen.values));
  protocol::PartialCentering result;
  result.means = std::move(means);
  result.max_rel = error.maxRel;
  result.limit = error.limit;
  return result;
}

}  // namespace

Result<protocol::PartialCentering> partialCentering(OriginalInType& original, const AnalysedModel& subject,
                                                    const protocol::PartialCenteringParams& params, const Task& task) {
  const std::string dtype =
      params.dtype.empty() ? std::string(graph::dtypeName(subject.original.facts().dtype)) : params.dtype;
  auto outcome =
      original.take(subject, dtype, task).and_then([&] { return measured(original, subject, params, task); });
  if (!outcome && (outcome.error().code == ErrorCode::Cancelled || outcome.error().code == ErrorCode::Usage))
    return outcome;
  protocol::PartialCentering result;
  if (outcome) result = std::move(*outcome);
  if (!outcome) result.error = outcome.error().message;
  result.dtype = dtype;
  return result;
}

}  // namespace normlens::service
