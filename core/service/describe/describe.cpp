#include "core/service/describe/describe.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "core/analysis/explain.h"
#include "core/analysis/norm_states.h"
#include "core/analysis/norms/group_norms.h"
#include "core/analysis/norms/near_norms.h"
#include "core/base/formatted.h"
#include "core/base/plural.h"
#include "core/graph/queries.h"
#include "core/run/tensors.h"
#include "core/service/describe/graph_document.h"

namespace normlens::service {

using graph::Graph;
using graph::kNone;

namespace {

using Values = std::vector<graph::ValueId>;  // by constant

struct Range {
  double low = 0;
  double high = 0;
};

std::optional<Range> rangeOf(const Graph& graph, graph::ValueId id) {
  if (id == graph::kNoValue || graph.value(id).constant == kNone) return std::nullopt;
  const auto numbers = graph::toDoubles(graph.constant(graph.value(id).constant).view);
  if (!numbers || numbers->empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(numbers->begin(), numbers->end());
  return Range{*low, *high};
}

protocol::NormInfo describeNorm(const Graph& graph, const analysis::Analysis& analysis, size_t index) {
  const auto& norm = analysis.norms.layerNorms[index];
  const auto& verdict = analysis.verdicts[index];
  const auto& paper = analysis.paper.verdicts[index];
  protocol::NormInfo info;
  info.index = norm.index;
  info.name = norm.name;
  info.title = norm.title;
  info.scope = graph.scope(graph.node(norm.node).scope).path;
  info.form = norm.form;
  info.kind = norm.type;
  info.groups = static_cast<int>(norm.groups);
  info.node = norm.node;
  info.normalized_shape = norm.normalizedShape;
  info.eps = norm.eps;
  info.verdict = verdict.verdict;
  info.reason = verdict.reason;
  info.centerings = static_cast<int>(verdict.centerings.size());
  info.shared_with = verdict.sharedWith;
  info.blocker_path = verdict.blockerPath;
  if (const auto& blocker = verdict.blocker) info.blocker = {blocker->node, blocker->gamma, blocker->reason};
  const bool known = verdict.verdict != Verdict::Unknown;
  info.paper = known && paper.paper;
  info.paper_practical = known && paper.practical;
  info.paper_strict = known && paper.strict;
  if (const auto gamma = rangeOf(graph, norm.gamma)) {
    info.has_gamma = true;
    info.gamma_min = gamma->low;
    info.gamma_max = gamma->high;
  }
  if (const auto beta = rangeOf(graph, norm.beta)) {
    info.has_beta = true;
    info.beta_min = beta->low;
    info.beta_max = beta->high;
  }
  return info;
}

protocol::Totals totalsOf(const std::vector<protocol::NormInfo>& norms) {
  protocol::Totals totals;
  totals.layer_norms = static_cast<int>(norms.size());
  for (const auto& norm : norms) {
    totals.free += norm.verdict == Verdict::Free ? 1 : 0;
    totals.with_centering += norm.verdict == Verdict::WithCentering ? 1 : 0;
    totals.blocked += norm.verdict == Verdict::Blocked ? 1 : 0;
    totals.unknown += norm.verdict == Verdict::Unknown ? 1 : 0;
    totals.paper += norm.paper ? 1 : 0;
    totals.paper_practical += norm.paper_practical ? 1 : 0;
    totals.paper_strict += norm.paper_strict ? 1 : 0;
  }
  return totals;
}

// Returns the values that a plan without this edit leaves alone.
std::vector<int> editedValues(const Values& valueOf, const fold::Edit& edit) {
  std::set<int> values;
  const auto add = [&](graph::ConstantId constant) { values.insert(valueOf[static_cast<size_t>(constant)]); };
  if (const auto* insert = std::get_if<fold::InsertCentering>(&edit)) {
    values.insert(insert->value);
  } else if (const auto* drop = std::get_if<fold::DropAddend>(&edit)) {
    values.insert(drop->value);
  } else if (const auto* scale = std::get_if<fold::AbsorbScale>(&edit)) {
    for (const auto& part : scale->parts) add(part.constant);
  } else if (const auto* center = std::get_if<fold::CenterConstant>(&edit)) {
    for (const auto& part : center->parts) add(part.constant);
  } else if (const auto* shift = std::get_if<fold::AbsorbShift>(&edit)) {
    for (const auto& part : shift->parts) add(part.bias);
  } else if (const auto* gain = std::get_if<fold::AbsorbGain>(&edit)) {
    for (const auto& part : gain->parts) add(part.weight);
  }
  return {values.begin(), values.end()};
}

protocol::EditInfo describePlanned(const Graph& graph, const analysis::Analysis& analysis, const Values& valueOf,
                                   const analysis::PlannedEdit& planned) {
  const auto& norms = analysis.norms.layerNorms;
  auto words = describeEdit(graph, norms, planned);
  return {
      kindOf(planned.edit),    std::move(words.text), placeOfEdit(graph, norms, planned.edit), planned.bytes,
      planned.bytesGrown,      planned.frees,         editedValues(valueOf, planned.edit),     std::move(words.subject),
      std::move(words.because)};
}

protocol::PlanWay describeWay(const analysis::Analysis& analysis, const analysis::PlanWay& way,
                              const protocol::NormPrices& prices) {
  protocol::PlanWay out;
  out.kind = way.copy ? protocol::WayKind::Copy : protocol::WayKind::Centering;
  out.value = way.value;
  out.text =
      (way.copy ? "a copy of " : "a centering of ") + analysis::describeValue(analysis.scales.graph(), way.value);
  out.bytes_grown = way.bytesGrown;
  out.growth_percent = analysis::growthPercent(analysis, way.bytesGrown);
  if (prices.rows > 0) {
    out.cost_us =
        prices.centering_us * static_cast<double>(way.elements) / static_cast<double>(prices.rows * prices.width);
  }
  out.chosen = way.chosen;
  return out;
}

std::vector<protocol::NormState> describeStates(const analysis::Analysis& analysis, const PricedPlan& planned) {
  std::vector<protocol::NormState> out;
  for (auto& state : normStates(analysis, planned.plan, planned.options ? &*planned.options : nullptr)) {
    protocol::NormState item;
    item.norm = static_cast<int>(out.size());
    item.state = state.kind;
    item.because = planned.nothingFolds;
    if (item.because.empty()) item.because = std::move(state.because);
    item.centerings.assign(state.centerings.begin(), state.centerings.end());
    item.counted = state.counted;
    for (const auto& way : state.ways) item.ways.push_back(describeWay(analysis, way, planned.prices));
    out.push_back(std::move(item));
  }
  return out;
}

std::string withoutLayerNorms(const std::vector<analysis::OtherNorm>& others, bool hasRun) {
  if (!hasRun) return "No LayerNorms were found here. Without shapes, a written-out one may be missed.";
  const std::string note = "No LayerNorms here";
  const auto rms = std::ranges::count(others, OtherNormKind::RmsNorm, &analysis::OtherNorm::kind);
  const auto near = std::ranges::count(others, OtherNormKind::NearLayerNorm, &analysis::OtherNorm::kind);
  if (rms == 0) return note + (near > 0 ? "; similar norms are listed as other norms." : ".");
  return note +
         (rms == 1 ? ": 1 norm is already an RMSNorm." : ": " + std::to_string(rms) + " norms are already RMSNorms.");
}

protocol::ErrorPair errorPair(const run::Worst& worst, double limit) { return {worst.maxAbs, worst.maxRel, limit}; }

// The limit alone excuses few roundings beside an original that is right (docs/method.md 11), and any difference beside
// one that is itself lost in rounding.
bool isBeyondRounding(const run::Verification& verification) {
  const double epsilon = run::machineEpsilon(verification.fileType);
  const auto& file = verification.file;
  if (!file.worst || verification.fileType == graph::DType::Float64) return false;
  const double error = file.errors ? file.errors->folded : file.worst->maxRel;
  const bool lucky = file.floor == ErrorFloor::OtherRows;  // the original's error here is not its usual one
  return std::max(error, file.worst->maxRel) > 32 * epsilon ||
         (file.errors && !lucky && error > std::max(4 * epsilon, 6 * file.errors->original));
}

}  // namespace

protocol::ModelInfo describeModel(const formats::Model& model, const analysis::Norms& norms) {
  const auto& facts = model.facts();
  protocol::ModelInfo info;
  info.path = facts.path.string();
  info.format = facts.format;
  info.model = facts.model;
  info.models = facts.models;
  info.modified = facts.modified;
  info.file_bytes = facts.fileBytes;
  info.parameters = facts.parameters;
  info.parameter_bytes = facts.parameterBytes;
  info.note = facts.note;
  info.cannot_run = facts.cannotRun;
  info.graph = graphDocument(model.graph(), norms);
  return info;
}

protocol::Analysis describeAnalysis(const Graph& graph, const analysis::Analysis& analysis,
                                    const std::vector<formats::InputSpec>& inputs, std::string probeError) {
  protocol::Analysis out;
  out.probe_error = std::move(probeError);
  out.values = graphValues(graph);
  for (size_t i = 0; i < analysis.norms.layerNorms.size(); ++i) out.norms.push_back(describeNorm(graph, analysis, i));
  const Values valueOf = graph::valuesOfConstants(graph);
  for (const auto& planned : analysis.best.edits) {
    if (std::holds_alternative<fold::ReplaceNorm>(planned.edit)) continue;
    out.edits.push_back(describePlanned(graph, analysis, valueOf, planned));
  }
  auto others = analysis.norms.others;
  std::ranges::move(analysis::nearNorms(graph, analysis.norms), std::back_inserter(others));
  for (const auto& other : others) {
    auto verdict = analysis::verdictOf(graph, other);
    protocol::OtherNormInfo info{other.name,      nameOf(other.kind),        other.node, other.form,
                                 verdict.verdict, std::move(verdict.reason), {},         {}};
    if (auto gamma = analysis::gammaVerdict(graph, other)) {
      info.weightless = gamma->verdict;
      info.weightless_reason = std::move(gamma->reason);
    }
    out.other_norms.push_back(std::move(info));
  }
  out.totals = totalsOf(out.norms);
  // Only now: some LayerNorms that are written out show themselves by their shapes.
  if (out.norms.empty()) out.note = withoutLayerNorms(others, out.probe_error.empty());
  out.inputs = describeInputs(inputs);
  return out;
}

std::string inWords(const protocol::Totals& totals) {
  return plural(totals.layer_norms, "LayerNorm") + ", " + std::to_string(totals.free) + " free, " +
         std::to_string(totals.with_centering) + " with centering, " + std::to_string(totals.blocked) + " blocked" +
         (totals.unknown > 0 ? ", " + std::to_string(totals.unknown) + " unknown" : "");
}

std::vector<protocol::InputSpec> describeInputs(const std::vector<formats::InputSpec>& inputs) {
  std::vector<protocol::InputSpec> out;
  for (const auto& spec : inputs) {
    protocol::InputSpec item;
    item.name = spec.name;
    item.dtype = dtypeName(spec.dtype);
    item.shape = spec.shape;
    item.low = spec.low;
    item.high = spec.high;
    item.uniform = spec.uniform || !graph::isFloat(spec.dtype);
    item.assumed = spec.assumed;
    out.push_back(std::move(item));
  }
  return out;
}

protocol::ZeroMeanGraph describeZeroMeanGraph(const analysis::Analysis& analysis, int norm) {
  const auto found = analysis::zeroMeanGraph(analysis, norm);
  protocol::ZeroMeanGraph out;
  out.norm = norm;
  for (const auto& vertex : found.vertices) out.vertices.push_back({vertex.node, vertex.vertexClass, vertex.note});
  out.values = found.values;
  out.leaves = found.leaves;
  return out;
}

protocol::PlanInfo describePlan(const Graph& graph, const analysis::Analysis& analysis, const PricedPlan& priced) {
  const analysis::Plan& plan = priced.plan;
  protocol::PlanInfo info;
  info.prices = priced.prices;
  info.norms = describeStates(analysis, priced);
  info.policy = plan.policy;
  info.folded = plan.folded;
  info.layer_norms = static_cast<int>(analysis.norms.layerNorms.size());
  info.centerings = plan.centerings;
  info.bytes_grown = plan.bytesGrown;
  info.gap = plan.gap;
  const Values valueOf = graph::valuesOfConstants(graph);
  for (const auto& planned : plan.edits) {
    if (const auto* center = std::get_if<fold::CenterConstant>(&planned.edit)) {
      info.tensors_centered += static_cast<int>(center->parts.size());
      info.bytes_centered += planned.bytes;
    }
    info.shifts_absorbed += std::holds_alternative<fold::AbsorbShift>(planned.edit) ? 1 : 0;
    info.means_carried += std::holds_alternative<fold::RestoreMean>(planned.edit) ? 1 : 0;
    info.gains_absorbed += std::holds_alternative<fold::AbsorbGain>(planned.edit) ? 1 : 0;
    info.edits.push_back(describePlanned(graph, analysis, valueOf, planned));
  }
  return info;
}

std::string whyNotProved(const run::Verification& verification, std::string_view what) {
  const run::AlgebraOutcome& algebra = verification.algebra;
  const run::FileOutcome& file = verification.file;
  const std::string model = "the " + std::string(what) + " model ";
  if (!verification.exact) {
    const std::string& why = file.reason.empty() ? algebra.reason : file.reason;
    return model + "could not be verified" + (why.empty() ? "" : ": " + why);
  }
  if (algebra.worst && !algebra.reason.empty()) return "the proof in float64 failed: " + algebra.reason;
  const std::string type(dtypeName(verification.fileType));
  if (algebra.passes() && (file.errors || !file.reason.empty())) {
    const std::string inType = model + "is right in float64, but not in " + type + ": ";
    if (!file.reason.empty()) return inType + file.reason;
    return inType +
           formatted("it is off by %.2g where the original is off by %.2g", file.errors->folded, file.errors->original);
  }
  std::string why = model + "gives outputs that differ";
  if (!verification.firstDiverging.empty()) why += "; the first LayerNorm to differ is " + verification.firstDiverging;
  return why;
}

protocol::VerifyResult describeVerification(const run::Verification& verification) {
  protocol::VerifyResult out;
  out.algebra_done = verification.algebra.worst.has_value();
  if (verification.algebra.worst) out.algebra = errorPair(*verification.algebra.worst, verification.algebra.limit);
  out.algebra_reason = verification.algebra.reason;
  out.sample_only = verification.algebra.runs == 1 && verification.exact != false;
  out.file_done = verification.file.worst.has_value();
  if (verification.file.worst) out.file = errorPair(*verification.file.worst, verification.file.limit);
  out.file_reason = verification.file.reason;
  out.file_dtype = dtypeName(verification.fileType);
  out.noise_floor = verification.file.noiseFloor;
  out.floor = verification.file.floor;
  out.beyond_rounding = isBeyondRounding(verification);
  if (const auto& errors = verification.file.errors) out.errors = {errors->original, errors->folded};
  out.exact = verification.exact;
  out.first_diverging = verification.firstDiverging;
  out.not_run = verification.notRun;
  out.sections = verification.sections;
  return out;
}

}  // namespace normlens::service
