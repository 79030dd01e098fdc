#include "core/service/service.h"

#include <cstring>
#include <future>

#include "core/analysis/zero_mean_map.h"
#include "core/base/files.h"
#include "core/base/stopwatch.h"
#include "core/formats/file/whole_file.h"
#include "core/formats/targets.h"
#include "core/service/describe/graph_document.h"
#include "core/service/inputs/table_limits.h"
#include "core/service/service_state.h"

namespace normlens::service {
namespace {

Result<formats::NormFlavour> flavourOf(const protocol::FoldParams& params) {
  const auto flavour = formats::normFlavourFromName(params.norm);
  if (!flavour) {
    return fail(ErrorCode::Usage, "there is no norm flavor '" + params.norm + "'",
                "portable, primitives or fast; for ONNX also standard or ort");
  }
  return *flavour;
}

protocol::StreamInfo asMessage(const analysis::Stream& stream) {
  protocol::StreamInfo info;
  info.channels = stream.channels.full;
  info.width = stream.refused.empty() ? stream.channels.width : stream.channels.full;
  for (const int norm : stream.norms) info.norms.add(norm);
  info.restored = stream.restored;
  info.adds = stream.adds;
  info.cuts = stream.cuts;
  info.refused = stream.refused;
  return info;
}

template <class T>
protocol::StreamFigures asMessage(const T (&of)[3]) {
  return {static_cast<double>(of[0]), static_cast<double>(of[1]), static_cast<double>(of[2])};
}

protocol::StreamReport asMessage(const std::vector<analysis::Stream>& streams, const StreamWork& work,
                                 const std::string& refused) {
  protocol::StreamReport report;
  for (const auto& stream : streams) report.streams.push_back(asMessage(stream));
  report.norm_flops = asMessage(work.normFlops);
  report.linear_flops = asMessage(work.linearFlops);
  report.stream_bytes = asMessage(work.streamBytes);
  report.weight_bytes = asMessage(work.weightBytes);
  report.reason = refused;
  return report;
}

Result<analysis::StreamPadding> paddingNamed(const std::string& name) {
  if (const auto padding = analysis::streamPaddingFromName(name)) return *padding;
  return fail(ErrorCode::Usage, "there is no padding '" + name + "'", "none, even or 64");
}

// The claims that narrow streams rest on are not the papers' own.
Status checkPolicy(const protocol::PlanParams& plan) {
  if (plan.policy != Policy::Paper) return {};
  return fail(ErrorCode::Refused,
              "policy paper takes values for zero-mean that are not, so no stream is narrowed by it",
              "choose another policy");
}

}  // namespace

bool suffixFits(const std::filesystem::path& model, const std::filesystem::path& out) {
  return formats::suffixFits(model, out);
}

Service::Service() : state_(std::make_unique<State>()) {}
Service::~Service() = default;

const formats::Model* Service::model() const { return state_->model.get(); }
const formats::Tensors& Service::inputs() const { return state_->inputs.tensors; }
FoldTimes Service::times() const { return state_->times; }

Result<protocol::ModelInfo> Service::open(const std::filesystem::path& path, const Task& task,
                                          const std::string& model) {
  const Stopwatch watch;
  RunRules rules = rules_;
  // The file is opened as if beside another: a project opens a model that has become the only one, under any name.
  if (!model.empty()) rules.opening = {rules.opening.strict, model, true};
  ASSIGN_OR_RETURN(auto opened, formats::openModel(path, task, rules.opening));
  auto fresh = std::make_unique<State>();
  fresh->model = std::move(opened);
  fresh->hash = std::make_unique<SourceHash>(*fresh->model);
  fresh->norms = analysis::findNorms(fresh->model->graph());
  fresh->times.load_ms = watch.ms();
  fresh->besides = rules.beside().opening;
  state_ = std::move(fresh);
  return describeModel(*state_->model, state_->norms);
}

void Service::setInputs(InputChoice inputs) { state_->choice = std::move(inputs); }

Result<protocol::InputsInfo> Service::chooseInputs(const protocol::InputsParams& params) {
  RETURN_IF_ERROR(state_->needModel());
  InputChoice choice{params.npz, params.specs, {params.assume, params.strict}, formats::InputsFor::Values};
  ASSIGN_OR_RETURN(const auto inputs, chooseModelInputs(*state_->model, choice));
  std::vector<std::string> names;
  for (const auto& spec : inputs.specs) names.push_back(spec.name);
  RETURN_IF_ERROR(checkSizes(choice.sizes, names));
  state_->choice = std::move(choice);
  rules_.notRun = {};  // these may run through
  return protocol::InputsInfo{describeInputs(inputs.specs)};
}

Result<protocol::Analysis> Service::analyze(const Task& task, const protocol::AnalyzeParams& params) {
  RETURN_IF_ERROR(state_->needModel());
  Error probeError;
  const auto known = state_->early ? graphValues(state_->model->graph()) : std::vector<protocol::GraphValue>();
  task.report("looking for inputs");
  auto inputs = rules_.notRun.message.empty() ? chooseModelInputs(*state_->model, state_->choice)
                                              : Result<ChosenInputs>(tl::unexpected(rules_.notRun));
  const bool given = !state_->choice.npz.empty() || !state_->choice.specs.empty();
  // Inputs that the user gives are tried at once: whether the model takes them is the question.
  const bool early = inputs && params.early && !given && inferModelShapes(*state_->model, inputs->tensors, task);
  state_->noInputs = inputs ? std::string() : inputs.error().message;
  if (!inputs) {
    // The user's own inputs are the user's to mend; a failed guess leaves the model open for viewing.
    if (given) return tl::unexpected(inputs.error());
    probeError = inputs.error();
  } else {
    if (!early) task.report("running the model once for shapes");
    const auto status = early   ? Status{}
                        : given ? probeModel(*state_->model, inputs->tensors, task)
                                : probeInferred(*state_->model, *inputs, task);
    if (!status) {
      if (status.error().code == ErrorCode::Cancelled) return tl::unexpected(status.error());
      if (given) {
        // A known limit explains more than the place where the run stopped, unless the run names another weight.
        const std::string limit = missingRows(state_->model->graph(), inputs->specs);
        const auto weightOf = [](const std::string& sentence) { return sentence.substr(0, sentence.find(" rows")); };
        const bool named = status.error().code == ErrorCode::BadInput;
        if (limit.empty() || (named && weightOf(limit) != weightOf(status.error().message)))
          return tl::unexpected(status.error());
        return fail(ErrorCode::BadInput, limit);
      }
      probeError = status.error();
    }
    state_->inputs = std::move(*inputs);
  }
  state_->early = early;
  auto found = state_->analysed(probeError, task);
  if (found && known.size() == found->values.size()) {
    std::erase_if(found->values, [&](const auto& value) { return value == known[static_cast<size_t>(value.id)]; });
  }
  return found;
}

Result<protocol::ZeroMeanGraph> Service::zeroMeanGraph(const protocol::NormParams& params) const {
  RETURN_IF_ERROR(state_->needAnalysis());
  RETURN_IF_ERROR(state_->needNorm(params.norm));
  return describeZeroMeanGraph(*state_->analysis, params.norm);
}

Result<protocol::ZeroMeanMap> Service::zeroMeanMap(const protocol::PlanParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needAnalysis());
  ASSIGN_OR_RETURN(const auto planned, state_->plans->make(params, formats::NormFlavour::Portable, task));
  auto map = analysis::zeroMeanMap(*state_->analysis, planned.plan);
  return protocol::ZeroMeanMap{std::move(map.now), std::move(map.planned), std::move(map.notZero)};
}

Result<protocol::ShiftCone> Service::shiftCone(const protocol::ShiftConeParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needAnalysis());
  if (params.node < 0 || static_cast<size_t>(params.node) >= state_->model->graph().nodes.size()) {
    return fail(ErrorCode::Usage, "there is no node " + std::to_string(params.node));
  }
  ASSIGN_OR_RETURN(const auto planned, state_->plans->make(params.plan, formats::NormFlavour::Portable, task));
  auto cone = analysis::shiftCone(*state_->analysis, planned.plan, params.node);
  return protocol::ShiftCone{std::move(cone.values), std::move(cone.ends), std::move(cone.reason)};
}

Result<protocol::PlanInfo> Service::plan(const protocol::PlanParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needAnalysis());
  ASSIGN_OR_RETURN(const auto planned, state_->plans->make(params, formats::NormFlavour::Portable, task));
  return state_->describe(planned);
}

Result<protocol::NormPrices> Service::normPrices(const protocol::BenchParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needInputs());
  return state_->plans->timesOf(formats::NormFlavour::Portable, params.device, task);
}

Result<protocol::CenterPreview> Service::previewCenter(const protocol::CenterParams& params) const {
  RETURN_IF_ERROR(state_->needAnalysis());
  if (params.value < 0 || static_cast<size_t>(params.value) >= state_->model->graph().values.size()) {
    return fail(ErrorCode::Usage, "there is no value " + std::to_string(params.value));
  }
  auto preview = analysis::previewCentering(*state_->analysis, params.value);
  return protocol::CenterPreview{preview.allowed, std::move(preview.reason), std::move(preview.frees)};
}

void Service::expectExport() {
  if (state_->model && state_->model->takesAnnotations()) state_->hash->start();
}

Result<protocol::FoldResult> Service::fold(const protocol::FoldParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needAnalysis());
  if (state_->early) {
    RETURN_IF_ERROR(analyze(task));
  }
  ASSIGN_OR_RETURN(const auto flavour, flavourOf(params));
  const auto withoutCarriedMeans = [&](std::string why) -> Result<protocol::FoldResult> {
    protocol::FoldParams other = params;
    other.plan.carry_means = false;
    ASSIGN_OR_RETURN(auto without, fold(other, task));
    without.not_carried = std::move(why);
    return without;
  };
  if (params.plan.carry_means && params.verify && state_->isProvedInSections(params)) {
    return withoutCarriedMeans("the model is proved in sections, of which none has all parts of a mean");
  }
  const Stopwatch watch;
  ASSIGN_OR_RETURN(auto planned, state_->plans->make(params.plan, flavour, task));
  protocol::FoldResult result;
  result.plan = state_->describe(planned);
  const bool carries = params.plan.carry_means && result.plan.means_carried > 0;
  if (result.plan.isEmpty() && planned.nothingFolds.empty()) {  // else the model refuses, in its own words
    result.reason = state_->layerNorms().empty() && params.plan.gamma == Gamma::Fold
                        ? "there is no LayerNorm in this model, and no RMSNorm whose weight can move"
                    : state_->layerNorms().empty() ? "there is no LayerNorm in this model"
                    : state_->noInputs.empty()
                        ? "no LayerNorm of this model can be folded under this policy"
                        : "no LayerNorm can be folded: the model was not run: " + state_->noInputs;
    return result;
  }
  task.report("centering weights and rewriting the graph");
  const auto foldPlan = toFoldPlan(planned.plan);
  auto folded = [&] {
    const SourceHash::Rest rest(*state_->hash);
    return state_->model->apply(foldPlan, state_->layerNorms(), flavour, task);
  }();
  // Large weights are read here where they are to be run, else on their way into the file.
  if (folded && params.verify && !state_->isProvedInSections(params)) {
    if (auto computed = (*folded)->computeWeights(task); !computed) folded = tl::unexpected(computed.error());
  }
  if (!folded) {
    if (carries && folded.error().code == ErrorCode::Refused) return withoutCarriedMeans(folded.error().message);
    const auto without = state_->canDoWithout(folded.error(), task);
    if (without && *without) return fold(params, task);
    return tl::unexpected(without ? folded.error() : without.error());
  }
  state_->times.fold_ms = state_->times.analysis_ms + watch.ms();
  result.fold_ms = state_->times.fold_ms;
  expectExport();
  state_->conditions = state_->conditionsOf(planned.plan);
  state_->plan = std::move(planned.plan);
  state_->folded = std::move(*folded);
  state_->differences.forget();
  state_->flavour = flavour;
  state_->foldParams = params;
  state_->foldOk = false;
  if (params.verify) {
    if (state_->model->takesAnnotations()) state_->hash->keepSha256();
    ASSIGN_OR_RETURN(const auto verification, state_->verify(foldPlan, task));
    if (carries && verification.exact == false) return withoutCarriedMeans(whyNotProved(verification, "folded"));
    result.verify = describeVerification(verification);
    state_->noteRanks(verification.algebra.ranksMatter);
    result.ok = verification.exact.value_or(false);
    if (!result.ok) result.reason = whyNotProved(verification, "folded");
  } else {
    result.ok = true;
  }
  result.holds_if = state_->conditions;
  state_->foldOk = result.ok;
  state_->toldFold = result;
  return result;
}

Result<protocol::ExportResult> Service::exportTo(const protocol::ExportParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needAnalysis());
  if (!state_->folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  const std::filesystem::path path = params.path;
  RETURN_IF_ERROR(state_->checkExport("the folded model", path));
  protocol::FoldParams again = state_->foldParams;
  again.norm = params.norm;
  if (!params.target.empty()) {
    ASSIGN_OR_RETURN(const auto form, formats::formFor(params.target, state_->model->facts().format));
    again.norm = formats::normFlavourName(form.flavour);
  }
  // The same operators are the same file, and its proof holds.
  const std::string& format = state_->model->facts().format;
  const auto wanted = formats::normFlavourFromName(again.norm);
  if (!wanted || formats::operatorsOf(*wanted, format) != formats::operatorsOf(state_->flavour, format)) {
    RETURN_IF_ERROR(fold(again, task));
  }
  if (!state_->foldOk && !params.force) {
    return fail(ErrorCode::Refused, "the fold is not verified, so nothing was written to " + path.string(),
                {"export it all the same", HintKey::Force});
  }
  state_->folded->annotate(state_->history(), state_->lateHash());
  state_->hash->awaitKept();
  task.report("writing " + path.filename().string());
  const Stopwatch watch;
  if (auto status = state_->folded->save(path, task); !status) {
    ASSIGN_OR_RETURN(const auto without, state_->canDoWithout(status.error(), task));
    if (without) status.error().hint = "fold again: the plan is now made without it";
    return tl::unexpected(std::move(status.error()));
  }
  state_->times.save_ms = watch.ms();
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path, ignored);
  protocol::ExportResult result{path.string(), static_cast<int64_t>(bytes), state_->times.save_ms, {}};
  if (params.target.empty()) return result;
  const auto ranges = normRanges(params.target, task);  // where they fail, the file is there all the same
  for (const run::NormRange& range : ranges.value_or(std::vector<run::NormRange>())) {
    if (range.after && range.after->square > graph::kLargestFloat16)
      result.overflows.push_back({range.title, range.after->square});
  }
  return result;
}

Status Service::usePlanFile(const std::filesystem::path& path) {
  RETURN_IF_ERROR(state_->needAnalysis());
  constexpr size_t kMostBytes = size_t{256} << 20;
  const auto text = files::readSmall(path, kMostBytes);
  if (!text)
    return fail(ErrorCode::Unreadable, "the plan " + path.string() + " cannot be read: " + std::strerror(text.error()));
  const auto sourceBy = [&](formats::HashKind kind) {
    const auto ofFile = kind == formats::HashKind::Xxh3 ? state_->hash->get() : state_->hash->sha256();
    return ofFile.map([&](const std::string& hash) { return state_->planSource(hash); });
  };
  auto plan = planFromJson(*text, state_->model->graph(), state_->layerNorms(), sourceBy);
  if (!plan) return fail(plan.error().code, path.string() + ": " + plan.error().message, plan.error().hint);
  state_->plans->use(std::move(*plan));
  return {};
}

Result<std::string> Service::planText() const {
  RETURN_IF_ERROR(state_->needAnalysis());
  if (!state_->folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  return state_->hash->get().map([&](const std::string& ofFile) {
    return planToJson(toFoldPlan(state_->plan), state_->model->graph(), state_->layerNorms(),
                      state_->planSource(ofFile));
  });
}

Status Service::savePlanFile(const std::filesystem::path& path) const {
  ASSIGN_OR_RETURN(const auto text, planText());
  if (state_->model->facts().isReadFrom(path)) {
    return fail(ErrorCode::Usage, "a plan may not overwrite the model " + path.string(), "choose another name");
  }
  return formats::writeWhole(path, text);
}

std::string Service::sourceSha256() const {
  return state_->hash ? state_->hash->sha256().value_or(std::string()) : std::string();
}

Result<protocol::SourceHash> Service::sourceHash(const Task& task) const {
  RETURN_IF_ERROR(state_->needModel());
  auto hash = state_->hash->get(task);
  RETURN_IF_ERROR(task.check());
  return protocol::SourceHash{std::move(hash).value_or(std::string())};
}

Result<Narrowing> Service::narrowStreams(const protocol::PlanParams& params, const NarrowOptions& options,
                                         const Task& task) {
  RETURN_IF_ERROR(state_->needInputs());
  RETURN_IF_ERROR(checkPolicy(params));
  // Betas move into biases whatever takes the norms' place: a narrow norm adds none.
  ASSIGN_OR_RETURN(auto planned, state_->plans->make(params, formats::NormFlavour::Portable, task));
  const NarrowSource source{*state_->model, *state_->analysis, state_->inputs.tensors};
  auto verify = state_->verifyOptions(state_->conditionsOf(planned.plan));
  verify.flavour = options.flavour;
  return service::narrowStreams(source, std::move(planned.plan), options, verify, task);
}

Result<protocol::StreamReport> Service::streams(const protocol::StreamParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needAnalysis());
  ASSIGN_OR_RETURN(const auto padding, paddingNamed(params.padding));
  if (auto status = checkPolicy(params.plan); !status) return asMessage({}, {}, status.error().message);
  ASSIGN_OR_RETURN(const auto planned, state_->plans->make(params.plan, formats::NormFlavour::Portable, task));
  const auto narrow = planNarrowing(*state_->analysis, planned.plan, padding);
  return asMessage(narrow.streams, narrow.work, narrow.refused);
}

Result<protocol::NarrowResult> Service::writeNarrow(const protocol::NarrowParams& params, const Task& task) {
  RETURN_IF_ERROR(state_->needAnalysis());
  if (state_->early) {
    RETURN_IF_ERROR(analyze(task));
  }
  const std::filesystem::path path = params.path;
  RETURN_IF_ERROR(state_->checkExport("the narrow model", path));
  ASSIGN_OR_RETURN(const auto padding, paddingNamed(params.streams.padding));
  const auto flavour = formats::normFlavourFromName(params.norm);
  if (!flavour) return fail(ErrorCode::Usage, "there is no norm '" + params.norm + "'");
  NarrowOptions options;
  options.padding = padding;
  options.flavour = *flavour;
  ASSIGN_OR_RETURN(auto made, narrowStreams(params.streams.plan, options, task));
  protocol::NarrowResult result;
  result.streams = asMessage(made.streams, made.work, made.model ? std::string() : made.reason);
  result.holds_if = state_->conditionsOf(made.plan);
  result.verify = std::move(made.verify);
  result.reason = made.reason;
  result.narrow_ms = made.ms;
  if (!made.model || (!made.ok && !params.force)) return result;
  task.report("writing " + path.filename().string());
  const Stopwatch watch;
  RETURN_IF_ERROR(made.model->save(path, task));
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path, ignored);
  result.written = protocol::ExportResult{path.string(), static_cast<int64_t>(bytes), watch.ms(), {}};
  return result;
}

}  // namespace normlens::service
