#include "core/service/lessons/centering_cut.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/explain.h"

namespace normlens::service {
namespace {

constexpr double kMostFactor = 1000;
constexpr size_t kDescribed = 64;  // values for which the norms that they reach are listed
constexpr int kCurvePoints = 61;
constexpr double kCurveEnd = 3;  // times the price

analysis::PlanOptions priced(analysis::PlanOptions options, double factor) {
  const double centering = static_cast<double>(options.prices.centering) * factor;
  options.prices.centering = std::max<int64_t>(1, std::llround(centering));
  return options;
}

protocol::CutPoint pointAt(const analysis::Analysis& analysis, const analysis::PlanOptions& options, double factor,
                           double unit) {
  const auto picture = analysis::cutPicture(analysis, priced(options, factor), 0);
  protocol::CutPoint point;
  point.factor = factor;
  for (const auto& centering : picture.centerings)
    point.paid += centering.cut ? static_cast<double>(centering.price) * unit : 0;
  for (const auto& norm : picture.savings) {
    point.saved += norm.freed ? static_cast<double>(norm.saving) * unit : 0;
    point.freed += norm.freed ? 1 : 0;
  }
  return point;
}

}  // namespace

Result<protocol::CenteringCut> centeringCut(PlanMaker& plans, const analysis::Analysis& analysis,
                                            const protocol::CenteringCutParams& params, const Task& task) {
  if (!(params.factor >= 0 && params.factor <= kMostFactor))
    return fail(ErrorCode::Usage, "a price cannot be that many times what it is", "give a factor from 0 to 1000");
  ASSIGN_OR_RETURN(const auto options, plans.options(params.plan, formats::NormFlavour::Portable, task));
  if (options.policy != analysis::Policy::Balanced)
    return fail(ErrorCode::Usage, "only the policy 'balanced' weighs what a centering costs", "ask for that");
  const graph::Graph& graph = analysis.scales.graph();
  protocol::CenteringCut out;
  out.measured = options.prices.inPicoseconds;
  // Prices are per element: in picoseconds, or a thousandth of what folding one saves.
  const double unit = out.measured ? 1e-6 : 1e-3;
  const auto picture = analysis::cutPicture(analysis, priced(options, params.factor), kDescribed);
  for (const auto& centering : picture.centerings) {
    const double price = static_cast<double>(centering.price) * unit, flow = static_cast<double>(centering.flow) * unit;
    const auto producer = graph.value(centering.value).producer;
    out.values.push_back({centering.value, producer, analysis::describeValue(graph, centering.value), price, flow,
                          centering.cut, centering.norms});
    out.paid += centering.cut ? price : 0;
  }
  for (const auto& norm : picture.savings) {
    const double saving = static_cast<double>(norm.saving) * unit, flow = static_cast<double>(norm.flow) * unit;
    out.norms.push_back({norm.norm, saving, flow, norm.freed});
    out.flow += flow;
    (norm.freed ? out.saved : out.given_up) += saving;
  }
  if (!params.curve) return out;
  for (int i = 0; i < kCurvePoints; ++i) {
    task.report("solving for other prices", static_cast<double>(i) / kCurvePoints);
    RETURN_IF_ERROR(task.check());
    out.curve.push_back(pointAt(analysis, options, kCurveEnd * i / (kCurvePoints - 1), unit));
  }
  return out;
}

}  // namespace normlens::service
