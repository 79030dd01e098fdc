// Service: what it reports of models and tensors beside the way from a file to a folded one: other graphs, weights,
// measurements, differences, the geometry of norms.
#include <utility>

#include "core/base/task.h"
#include "core/formats/targets.h"
#include "core/protocol/probe_messages.h"
#include "core/run/compare/compare_models.h"
#include "core/run/geometry/probe_norms.h"
#include "core/run/inputs/npy.h"
#include "core/service/describe/probe_findings.h"
#include "core/service/describe/targets_info.h"
#include "core/service/describe/tensor_stats.h"
#include "core/service/describe/weight_changes.h"
#include "core/service/forced_error.h"
#include "core/service/lessons/centering_cut.h"
#include "core/service/lessons/partial_centering.h"
#include "core/service/original_in_type.h"
#include "core/service/service_state.h"

namespace normlens::service {
using protocol::ForcedError;

namespace {

// Measures the worth of LayerNorms' means to the outputs: RMSNorm in the place of one after the other as it is, beside
// the same with its zero mean made first, then in the places of all at once. Paper 002 measures it on the vectors, this
// on the model.

class Swapping {
 public:
  Swapping(OriginalInType& original, const AnalysedModel& subject, const protocol::ProbeSwapsParams& params,
           const Task& task)
      : original_(original), subject_(subject), params_(params), task_(task) {
    result_.dtype = params.dtype.empty() ? graph::dtypeName(subject.original.facts().dtype) : params.dtype;
    result_.hardly = params.hardly;
  }

  // False: stopped.
  bool measure() {
    const auto& norms = subject_.analysis.norms.layerNorms;
    const size_t steps = norms.size() + 1;
    for (size_t i = 0; i < norms.size(); ++i) {
      const std::string stage =
          "LayerNorm " + std::to_string(i + 1) + " of " + std::to_string(norms.size()) + " as an RMSNorm";
      task_.report(stage, static_cast<double>(i) / static_cast<double>(steps));
      if (!measureOne(norms[i].index)) return false;
    }
    if (norms.size() < 2) return true;
    task_.report("all LayerNorms as RMSNorms", static_cast<double>(norms.size()) / static_cast<double>(steps));
    auto all = ask(protocol::kAllNorms, true);
    if (all) result_.all = std::move(*all);
    return all.has_value();
  }

  [[nodiscard]] protocol::ProbeSwaps take(bool cancelled) {
    result_.cancelled = cancelled;
    result_.findings = swapFindings(result_);
    return std::move(result_);
  }
  [[nodiscard]] bool hasAny() const { return !result_.swaps.empty(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  bool measureOne(int norm) {
    protocol::ProbeSwap swap;
    swap.norm = norm;
    auto asItIs = ask(norm, true);
    if (!asItIs) return false;
    swap.as_it_is = std::move(*asItIs);
    swap.notices = wouldNotice(swap.as_it_is, params_.hardly);
    const auto& verdict = subject_.analysis.verdicts[static_cast<size_t>(norm)].verdict;
    if (params_.fold_first && verdict == analysis::Verdict::Free) {
      auto folded = ask(norm, false);
      if (!folded) return false;
      swap.folded = std::move(*folded);
    }
    result_.swaps.push_back(std::move(swap));
    return true;
  }

  // Its stages would hide how far all is.
  Result<ForcedError> ask(int norm, bool asItIs) {
    if (const Status running = task_.check(); !running) {
      error_ = running.error();
      return tl::unexpected(error_);
    }
    Task quiet;
    quiet.stop = task_.stop;
    auto error = forcedError(original_, subject_, {norm, result_.dtype, asItIs}, quiet);
    if (!error) error_ = error.error();
    return error;
  }

  OriginalInType& original_;
  AnalysedModel subject_;
  const protocol::ProbeSwapsParams& params_;
  const Task& task_;
  protocol::ProbeSwaps result_;
  Error error_;  // The error that ended it.
};

// Runs in the original's own type. Stopped, it returns what it has; errors: Cancelled before anything was measured.
Result<protocol::ProbeSwaps> probeSwaps(OriginalInType& original, const AnalysedModel& subject,
                                        const protocol::ProbeSwapsParams& params, const Task& task) {
  Swapping swapping(original, subject, params, task);
  const bool complete = swapping.measure();
  if (!complete && (swapping.error().code != ErrorCode::Cancelled || !swapping.hasAny())) {
    return tl::unexpected(swapping.error());
  }
  return swapping.take(!complete);
}

// nullptr: the plan does not center it.
const ops::Pattern* centeredOver(const analysis::Plan& plan, graph::ConstantId constant) {
  const ops::Pattern* centered = nullptr;
  for (const auto& planned : plan.edits) {
    const auto* center = std::get_if<fold::CenterConstant>(&planned.edit);
    if (center == nullptr) continue;
    for (const auto& part : center->parts) {
      if (part.constant == constant) centered = &part.pattern;
    }
  }
  return centered;
}

}  // namespace

Result<protocol::ModelInfo> Service::readGraph(const protocol::ReadGraphParams& params, const Task& task) const {
  ASSIGN_OR_RETURN(const auto other, state_->other(params.path, task));
  return describeModel(*other.model, analysis::findNorms(other.model->graph()));
}

Result<protocol::WeightDigests> Service::weightDigests(const protocol::WeightDigestsParams& params,
                                                       const Task& task) const {
  RETURN_IF_ERROR(state_->needModel());
  if (!params.other) return service::weightDigests(state_->model->graph(), task);
  ASSIGN_OR_RETURN(const auto other, state_->other(params.path, task));
  return service::weightDigests(other.model->graph(), task);
}

Result<protocol::WeightChanges> Service::weightChanges(const protocol::WeightChangesParams& params,
                                                       const Task& task) const {
  RETURN_IF_ERROR(state_->needModel());
  ASSIGN_OR_RETURN(const auto other, state_->other(params.path, task));
  const auto norms = state_->analysis ? std::span(state_->layerNorms()) : std::span<const analysis::LayerNorm>();
  return service::weightChanges(state_->model->graph(), other.model->graph(), params.pairs, norms, task);
}

Result<protocol::BenchResult> Service::bench(const protocol::BenchParams& params, const BenchListener& listener,
                                             const Task& task) {
  RETURN_IF_ERROR(state_->needInputs());
  ASSIGN_OR_RETURN(auto a, state_->side(params.a, task));
  if (a.model == nullptr) return fail(ErrorCode::Usage, "there is no model to measure", "name one");
  ASSIGN_OR_RETURN(auto b, state_->side(params.b, task));
  BenchModels models{std::move(a), std::move(b), {}, {}, state_->inputs.tensors, state_->inputs.specs};
  if (params.a == "original" && !models.b.norm.empty()) {
    models.fold = [&](formats::NormFlavour flavour) { return state_->foldedIn(flavour, task); };
    models.timeFold = [&](const formats::Tensors& at) { return state_->timeFoldAt(at, task); };
  }
  const SourceHash::Rest rest(*state_->hash);
  ASSIGN_OR_RETURN(auto result, measureModels(std::move(models), params, listener, task));
  result.init_ms = state_->times.load_ms;
  return result;
}

Result<ToldFold> Service::lastFold() const {
  RETURN_IF_ERROR(state_->needInputs());
  if (!state_->folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  const formats::Model& model = *state_->model;
  return ToldFold{describeModel(model, state_->norms),
                  describeAnalysis(model.graph(), *state_->analysis, state_->inputs.specs, {}), state_->toldFold,
                  std::string(formats::normFlavourName(state_->flavour)), state_->choice};
}

Result<protocol::DiffResult> Service::diff(const protocol::DiffParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needInputs());
  return state_->differences.compare(state_->diffSubject(), params, task);
}

Result<JudgedFold> Service::judgeFold(const std::string& path, const Task& task) const {
  RETURN_IF_ERROR(state_->needInputs());
  ASSIGN_OR_RETURN(const auto other, formats::openModel(path, task, state_->besides));
  return service::judgeFold(*state_->model, *other, state_->inputs.tensors, state_->inputs.freeAxes, task);
}

Result<protocol::Targets> Service::targets() const {
  RETURN_IF_ERROR(state_->needModel());
  return describeTargets(state_->model->facts().format);
}

Result<std::vector<run::NormRange>> Service::normRanges(std::string_view target, const Task& task) const {
  RETURN_IF_ERROR(state_->needInputs());
  const auto& facts = state_->model->facts();
  const auto form = formats::formFor(target, facts.format);
  const bool halves = form ? form->target->squaresInFloat16 : facts.dtype == graph::DType::Float16;
  if (!halves) return std::vector<run::NormRange>();
  if (!state_->folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  needShapes(*state_->folded, state_->inputs.tensors, task);
  return run::normRanges(*state_->model, *state_->folded, state_->inputs.tensors, task);
}

Result<protocol::ProbeResult> Service::probe(const protocol::ProbeParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needInputs());
  const bool changed = params.folded || params.narrow;
  if (changed && !state_->folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  std::unique_ptr<formats::Model> narrow;
  if (params.narrow) {
    NarrowOptions how;
    how.verify = false;
    ASSIGN_OR_RETURN(auto made, narrowStreams(state_->foldParams.plan, how, task));
    if (!made.model) return fail(ErrorCode::Unsupported, made.reason);
    narrow = std::move(made.model);
  }
  formats::Model& whole = narrow ? *narrow : params.folded ? *state_->folded : *state_->model;
  needShapes(whole, state_->inputs.tensors, task);
  const auto type = params.dtype.empty() ? whole.facts().dtype : graph::dtypeFromName(params.dtype);
  if (!graph::isFloat(type)) return fail(ErrorCode::Usage, "'" + params.dtype + "' is no floating type");
  ASSIGN_OR_RETURN(const auto pair, run::inType(whole, whole, type));
  const formats::Model& model = *pair.a;
  const auto places = run::listNorms(state_->model->graph(), state_->layerNorms());
  const run::ProbeOptions options{static_cast<uint64_t>(params.seed), changed ? &places : nullptr};
  const auto norms = changed ? analysis::findNorms(model.graph()).layerNorms : state_->layerNorms();
  run::NormProbe probing(model, norms, options);
  RETURN_IF_ERROR(probing.add(state_->inputs.tensors, task));
  for (const std::string& file : params.more_inputs) {
    ASSIGN_OR_RETURN(const auto inputs, chooseModelInputs(*state_->model, {file, {}, {}, formats::InputsFor::Values}));
    auto run = probing.add(inputs.tensors, task);
    if (!run && run.error().code != ErrorCode::Cancelled) run.error().message += " (inputs of " + file + ")";
    RETURN_IF_ERROR(run);
  }
  protocol::ProbeResult result;
  result.dtype = graph::dtypeName(model.facts().dtype);
  result.note = run::typeNote(pair);
  for (const auto& norm : probing.take()) result.rows.push_back(describeProbe(norm));
  if (changed) result.paired = callLike(places, result.rows);
  result.findings = angleFindings(result.rows);
  return result;
}

Result<protocol::ProbeSwaps> Service::probeSwaps(const protocol::ProbeSwapsParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needInputs());
  return service::probeSwaps(state_->originalInType, state_->analysedModel(), params, task);
}

Result<protocol::ForcedError> Service::forcedError(const protocol::ForcedErrorParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needInputs());
  const bool all = params.as_it_is && params.norm == protocol::kAllNorms;
  RETURN_IF_ERROR(all ? Status{} : state_->needNorm(params.norm));
  return service::forcedError(state_->originalInType, state_->analysedModel(), params, task);
}

Result<protocol::PartialCentering> Service::partialCentering(const protocol::PartialCenteringParams& params,
                                                             const Task& task) {
  RETURN_IF_ERROR(state_->needInputs());
  RETURN_IF_ERROR(state_->needNorm(params.norm));
  RETURN_IF_ERROR(state_->constantOf(params.value));
  if (!(params.share >= 0 && params.share <= 1)) return fail(ErrorCode::Usage, "a share lies between 0 and 1");
  return service::partialCentering(state_->originalInType, state_->analysedModel(), params, task);
}

Result<protocol::CenteringCut> Service::centeringCut(const protocol::CenteringCutParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needAnalysis());
  return service::centeringCut(*state_->plans, *state_->analysis, params, task);
}

Result<protocol::TensorPair> Service::tensorPair(const protocol::TensorPairParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needInputs());
  return state_->differences.tensorPair(state_->diffSubject(), params, task);
}

Result<protocol::TensorStats> Service::tensorStats(const protocol::TensorParams& params, const Task& task) {
  ASSIGN_OR_RETURN(const auto constant, state_->constantOf(params.value));
  const auto& held = state_->model->graph().constant(constant);
  if (!state_->analysis) return service::tensorStats(held, nullptr, task);
  ASSIGN_OR_RETURN(const auto planned, state_->plans->make(params.plan, formats::NormFlavour::Portable, task));
  return service::tensorStats(held, centeredOver(planned.plan, constant), task);
}

Result<protocol::SavedTensor> Service::saveTensor(const protocol::SaveTensorParams& params, const Task& task) const {
  ASSIGN_OR_RETURN(const auto constant, state_->constantOf(params.value));
  const std::filesystem::path path = params.path;
  if (state_->model->facts().isReadFrom(path)) {
    return fail(ErrorCode::Usage, "a tensor may not overwrite the model " + path.string(), "choose another name");
  }
  ASSIGN_OR_RETURN(const auto bytes, run::writeNpyFile(path, state_->model->graph().constant(constant).view, task));
  return protocol::SavedTensor{params.path, bytes};
}

}  // namespace normlens::service
