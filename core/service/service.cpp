#include "core/service/service.h"

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>

#include "core/analysis/analysis.h"
#include "core/analysis/preview.h"
#include "core/analysis/zero_mean_map.h"
#include "core/formats/formats.h"
#include "core/run/npy_file.h"
#include "core/run/verify.h"
#include "core/service/describe.h"
#include "core/service/differences.h"
#include "core/service/engine_info.h"
#include "core/service/model_inputs.h"
#include "core/service/plan_file.h"
#include "core/service/plan_maker.h"
#include "core/service/source_hash.h"
#include "core/service/tensor_stats.h"
#include "core/service/weight_digests.h"

namespace normlens::service {
namespace {

class Stopwatch {
 public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Only of a verification that is not exact.
std::string whyNotProved(const run::Verification& verification) {
  if (!verification.exact) {
    const std::string& why = verification.fileReason.empty() ? verification.algebraReason : verification.fileReason;
    return "the fold could not be verified" + (why.empty() ? "" : ": " + why);
  }
  if (!verification.algebraReason.empty()) return "the proof in float64 failed: " + verification.algebraReason;
  std::string why = "the folded model gives other outputs";
  if (!verification.firstDiverging.empty()) why += "; the first LayerNorm to differ is " + verification.firstDiverging;
  return why;
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

struct Service::State {
  std::unique_ptr<formats::Model> model;
  InputChoice choice;
  ChosenInputs inputs;
  analysis::Norms norms;                         // of the structure, before the probe
  std::unique_ptr<analysis::Analysis> analysis;  // nullptr until analyze()
  std::optional<PlanMaker> plans;                // the same

  // The last fold.
  analysis::Plan plan;
  std::unique_ptr<formats::Model> folded;
  formats::NormFlavour flavour = formats::NormFlavour::Portable;
  protocol::FoldParams foldParams;
  bool foldOk = false;
  FoldTimes times;
  Differences differences;
  std::unique_ptr<SourceHash> hash;  // last: it ends before the model does

  [[nodiscard]] Status needModel() const {
    if (model) return {};
    return fail(ErrorCode::Usage, "no model is open", "open one first");
  }
  [[nodiscard]] Status needAnalysis() const {
    if (auto status = needModel(); !status) return status;
    if (analysis) return {};
    return fail(ErrorCode::Usage, "the model has not been analysed yet");
  }
  [[nodiscard]] const std::vector<analysis::LayerNorm>& layerNorms() const { return analysis->norms.layerNorms; }

  // The constant behind a value.
  [[nodiscard]] Result<graph::ConstantId> constantOf(int value) const {
    if (auto status = needModel(); !status) return tl::unexpected(status.error());
    const auto& graph = model->graph();
    const bool known = value >= 0 && static_cast<size_t>(value) < graph.values.size();
    if (known && graph.value(value).constant != graph::kNone) return graph.value(value).constant;
    return fail(ErrorCode::Usage, "value " + std::to_string(value) + " is not a tensor of the file");
  }

  [[nodiscard]] protocol::PlanInfo describe(const PricedPlan& planned) const {
    auto info = describePlan(model->graph(), *analysis, planned.plan);
    if (planned.times) info.prices = describePrices(*planned.times);
    return info;
  }

  // What the exported file says of its making.
  [[nodiscard]] std::map<std::string, std::string> history() const {
    const std::string& sha256 = hash->get();
    const std::string summary = std::to_string(plan.folded.size()) + " of " + std::to_string(layerNorms().size()) +
                                " LayerNorms folded, policy " + std::string(policyName(plan.policy)) + ", norms " +
                                std::string(formats::normFlavourName(flavour));
    return {{"normlens.version", NORMLENS_VERSION},
            {"normlens.source_sha256", sha256},
            {"normlens.summary", summary},
            {"normlens.plan", planToJson(toFoldPlan(plan), model->graph(), layerNorms(), sha256)}};
  }

  [[nodiscard]] DiffSubject diffSubject() const {
    return {*model, layerNorms(), inputs.tensors, folded.get(), [this](const formats::Model& converted) {
              return converted.apply(toFoldPlan(plan), layerNorms(), flavour, {});
            }};
  }

  // A side of a measurement, and what keeps a model of a file alive. `name` empty: none.
  struct Subject {
    formats::Model* model = nullptr;
    std::unique_ptr<formats::Model> opened;
  };
  [[nodiscard]] Result<Subject> subject(const std::string& name, const Task& task) const {
    if (name.empty()) return Subject{};
    if (name == "original") return Subject{model.get(), nullptr};
    if (name == "folded") {
      if (folded) return Subject{folded.get(), nullptr};
      return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first, then measure");
    }
    auto opened = formats::openModel(name, task);
    if (!opened) return tl::unexpected(opened.error());
    formats::Model* file = opened->get();
    return Subject{file, std::move(*opened)};
  }

  Result<run::Verification> verify(const fold::FoldPlan& foldPlan, const Task& task) const {
    run::VerifyOptions options;
    options.flavour = flavour;
    options.freeAxes = inputs.freeAxes;
    return run::verifyFold({*model, *folded, foldPlan, layerNorms()}, inputs.tensors, options, task);
  }
};

bool suffixFits(const std::filesystem::path& model, const std::filesystem::path& out) {
  return formats::suffixFits(model, out);
}

Service::Service() : state_(std::make_unique<State>()) {}
Service::~Service() = default;

protocol::EngineInfo Service::info() const { return engineInfo(); }
const formats::Model* Service::model() const { return state_->model.get(); }
const formats::Tensors& Service::inputs() const { return state_->inputs.tensors; }
FoldTimes Service::times() const { return state_->times; }

Result<protocol::ModelInfo> Service::open(const std::filesystem::path& path, const Task& task) {
  const Stopwatch watch;
  auto opened = formats::openModel(path, task);
  if (!opened) return tl::unexpected(opened.error());
  auto fresh = std::make_unique<State>();
  fresh->model = std::move(*opened);
  fresh->hash = std::make_unique<SourceHash>(*fresh->model);
  fresh->norms = analysis::findNorms(fresh->model->graph());
  fresh->times.load_ms = watch.ms();
  state_ = std::move(fresh);
  return describeModel(*state_->model, state_->norms);
}

Result<protocol::ModelInfo> Service::readGraph(const protocol::ReadGraphParams& params, const Task& task) const {
  if (params.path.empty()) {
    if (!state_->folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
    return describeModel(*state_->folded, analysis::findNorms(state_->folded->graph()));
  }
  const auto model = formats::openModel(params.path, task);
  if (!model) return tl::unexpected(model.error());
  return describeModel(**model, analysis::findNorms((*model)->graph()));
}

Result<protocol::WeightDigests> Service::weightDigests(const protocol::WeightDigestsParams& params,
                                                       const Task& task) const {
  if (auto status = state_->needModel(); !status) return tl::unexpected(status.error());
  if (!params.other) return service::weightDigests(state_->model->graph(), task);
  if (!params.path.empty()) {
    const auto model = formats::openModel(params.path, task);
    if (!model) return tl::unexpected(model.error());
    return service::weightDigests((*model)->graph(), task);
  }
  if (!state_->folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  return service::weightDigests(state_->folded->graph(), task);
}

void Service::setInputs(InputChoice inputs) { state_->choice = std::move(inputs); }

Result<protocol::InputsInfo> Service::chooseInputs(const protocol::InputsParams& params) {
  if (auto status = state_->needModel(); !status) return tl::unexpected(status.error());
  InputChoice choice{params.npz, params.specs};
  const auto inputs = chooseModelInputs(*state_->model, choice);
  if (!inputs) return tl::unexpected(inputs.error());
  state_->choice = std::move(choice);
  return protocol::InputsInfo{describeInputs(inputs->specs)};
}

Result<protocol::Analysis> Service::analyze(const Task& task) {
  if (auto status = state_->needModel(); !status) return tl::unexpected(status.error());
  std::string probeError;
  task.report("looking for inputs");
  auto inputs = chooseModelInputs(*state_->model, state_->choice);
  const bool given = !state_->choice.npz.empty() || !state_->choice.specs.empty();
  if (!inputs) {
    // The user's own inputs are the user's to mend; a failed guess leaves the model open for viewing.
    if (given) return tl::unexpected(inputs.error());
    probeError = inputs.error().message;
  } else {
    task.report("running the model once for shapes");
    if (auto status = probeModel(*state_->model, inputs->tensors, task); !status) {
      if (given || status.error().code == ErrorCode::Cancelled) return tl::unexpected(status.error());
      probeError = status.error().message;
    }
    state_->inputs = std::move(*inputs);
  }
  task.report("analysing");
  const Stopwatch watch;
  auto analysis = analysis::analyze(state_->model->graph(), task);
  if (!analysis) return tl::unexpected(analysis.error());
  state_->analysis = std::move(*analysis);
  state_->plans.emplace(*state_->model, *state_->analysis);
  state_->times.analysis_ms = watch.ms();
  state_->folded.reset();
  state_->differences.forget();
  auto told = describeAnalysis(state_->model->graph(), *state_->analysis, state_->inputs.specs);
  told.probe_error = probeError;
  return told;
}

Result<protocol::ZeroMeanGraph> Service::zeroMeanGraph(const protocol::NormParams& params) const {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  if (params.norm < 0 || static_cast<size_t>(params.norm) >= state_->layerNorms().size()) {
    return fail(ErrorCode::Usage, "there is no LayerNorm " + std::to_string(params.norm));
  }
  return describeZeroMeanGraph(*state_->analysis, params.norm);
}

Result<protocol::ZeroMeanMap> Service::zeroMeanMap(const protocol::PlanParams& params, const Task& task) {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  const auto planned = state_->plans->make(params, formats::NormFlavour::Portable, task);
  if (!planned) return tl::unexpected(planned.error());
  auto map = analysis::zeroMeanMap(*state_->analysis, planned->plan);
  return protocol::ZeroMeanMap{std::move(map.now), std::move(map.planned), std::move(map.notZero)};
}

Result<protocol::ShiftCone> Service::shiftCone(const protocol::ShiftConeParams& params, const Task& task) {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  if (params.node < 0 || static_cast<size_t>(params.node) >= state_->model->graph().nodes.size()) {
    return fail(ErrorCode::Usage, "there is no node " + std::to_string(params.node));
  }
  const auto planned = state_->plans->make(params.plan, formats::NormFlavour::Portable, task);
  if (!planned) return tl::unexpected(planned.error());
  auto cone = analysis::shiftCone(*state_->analysis, planned->plan, params.node);
  return protocol::ShiftCone{std::move(cone.values), std::move(cone.ends), std::move(cone.reason)};
}

Result<protocol::PlanInfo> Service::plan(const protocol::PlanParams& params, const Task& task) {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  const auto planned = state_->plans->make(params, formats::NormFlavour::Portable, task);
  if (!planned) return tl::unexpected(planned.error());
  return state_->describe(*planned);
}

Result<protocol::CenterPreview> Service::previewCenter(const protocol::CenterParams& params) const {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
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
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  const auto flavour = formats::normFlavourFromName(params.norm);
  if (!flavour) {
    return fail(ErrorCode::Usage, "there is no norm flavour '" + params.norm + "'",
                "portable, primitives or fast; for ONNX also standard or ort");
  }
  const Stopwatch watch;
  auto planned = state_->plans->make(params.plan, *flavour, task);
  if (!planned) return tl::unexpected(planned.error());
  protocol::FoldResult result;
  result.plan = state_->describe(*planned);
  if (planned->plan.folded.empty()) {
    result.reason = state_->layerNorms().empty() ? "there is no LayerNorm in this model"
                                                 : "no LayerNorm of this model can be folded under this policy";
    return result;
  }
  task.report("centering weights and rewriting the graph");
  const auto foldPlan = toFoldPlan(planned->plan);
  auto folded = [&] {
    const SourceHash::Rest rest(*state_->hash);
    return state_->model->apply(foldPlan, state_->layerNorms(), *flavour, task);
  }();
  if (!folded) return tl::unexpected(folded.error());
  state_->times.fold_ms = state_->times.analysis_ms + watch.ms();
  result.fold_ms = state_->times.fold_ms;
  expectExport();
  state_->plan = std::move(planned->plan);
  state_->folded = std::move(*folded);
  state_->differences.forget();
  state_->flavour = *flavour;
  state_->foldParams = params;
  state_->foldOk = false;
  if (params.verify) {
    const auto verification = state_->verify(foldPlan, task);
    if (!verification) return tl::unexpected(verification.error());
    result.verify = describeVerification(*verification);
    result.ok = verification->exact.value_or(false);
    if (!result.ok) {
      result.reason = whyNotProved(*verification);
    }
  } else {
    result.ok = true;
  }
  state_->foldOk = result.ok;
  return result;
}

Result<protocol::ExportResult> Service::exportTo(const protocol::ExportParams& params, const Task& task) {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  if (!state_->folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  const std::filesystem::path path = params.path;
  const auto& original = state_->model->facts().path;
  std::error_code ignored;
  if (path == original || std::filesystem::equivalent(path, original, ignored)) {
    return fail(ErrorCode::Usage, "the folded model may not overwrite the original " + original.string(),
                "choose another name");
  }
  if (!formats::suffixFits(original, path)) {
    return fail(ErrorCode::Usage,
                path.string() + " should end in " + original.extension().string() + " like the model");
  }
  if (const auto flavour = formats::normFlavourFromName(params.norm); flavour != state_->flavour) {
    protocol::FoldParams again = state_->foldParams;
    again.norm = params.norm;
    if (const auto folded = fold(again, task); !folded) return tl::unexpected(folded.error());
  }
  if (!state_->foldOk && !params.force) {
    return fail(ErrorCode::Refused, "the fold is not verified, so nothing was written to " + path.string(),
                "export it all the same with --force");
  }
  if (state_->folded->takesAnnotations()) state_->folded->annotate(state_->history());
  task.report("writing " + path.filename().string());
  const Stopwatch watch;
  if (auto status = state_->folded->save(path, task); !status) return tl::unexpected(status.error());
  state_->times.save_ms = watch.ms();
  const auto bytes = std::filesystem::file_size(path, ignored);
  return protocol::ExportResult{path.string(), static_cast<int64_t>(bytes), state_->times.save_ms};
}

Result<protocol::BenchResult> Service::bench(const protocol::BenchParams& params, const BenchListener& listener,
                                             const Task& task) {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  auto a = state_->subject(params.a, task);
  if (!a) return tl::unexpected(a.error());
  if (a->model == nullptr) return fail(ErrorCode::Usage, "there is no model to measure", "name one");
  auto b = state_->subject(params.b, task);
  if (!b) return tl::unexpected(b.error());
  BenchModels models{.a = *a->model,
                     .b = b->model,
                     .aName = params.a,
                     .bName = params.b,
                     .foldMs = std::nullopt,
                     .norm = {},
                     .fold = {},
                     .inputs = state_->inputs.tensors,
                     .specs = state_->choice.specs};
  std::unique_ptr<formats::Model> otherFlavour;
  if (params.a == "original" && params.b == "folded") {
    models.foldMs = state_->times.fold_ms;
    models.norm = formats::normFlavourName(state_->flavour);
    models.fold = [&](formats::NormFlavour flavour) -> Result<FoldedModel> {
      const Stopwatch watch;
      auto folded = state_->model->apply(toFoldPlan(state_->plan), state_->layerNorms(), flavour, task);
      if (!folded) return tl::unexpected(folded.error());
      otherFlavour = std::move(*folded);
      return FoldedModel{otherFlavour.get(), state_->times.analysis_ms + watch.ms()};
    };
  }
  const SourceHash::Rest rest(*state_->hash);
  return measureModels(models, params, listener, task);
}

Result<protocol::DiffResult> Service::diff(const protocol::DiffParams& params, const Task& task) {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  return state_->differences.compare(state_->diffSubject(), params, task);
}

Result<protocol::TensorPair> Service::tensorPair(const protocol::TensorPairParams& params, const Task& task) {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  return state_->differences.tensorPair(state_->diffSubject(), params, task);
}

Result<protocol::TensorStats> Service::tensorStats(const protocol::TensorParams& params, const Task& task) {
  const auto constant = state_->constantOf(params.value);
  if (!constant) return tl::unexpected(constant.error());
  const auto& held = state_->model->graph().constant(*constant);
  if (!state_->analysis) return service::tensorStats(held, nullptr, task);
  const auto planned = state_->plans->make(params.plan, formats::NormFlavour::Portable, task);
  if (!planned) return tl::unexpected(planned.error());
  return service::tensorStats(held, centeredOver(planned->plan, *constant), task);
}

Result<protocol::SavedTensor> Service::saveTensor(const protocol::SaveTensorParams& params, const Task& task) const {
  const auto constant = state_->constantOf(params.value);
  if (!constant) return tl::unexpected(constant.error());
  const std::filesystem::path path = params.path;
  std::error_code ignored;
  if (std::filesystem::equivalent(path, state_->model->facts().path, ignored)) {
    return fail(ErrorCode::Usage, "a tensor may not overwrite the model " + path.string(), "choose another name");
  }
  const auto bytes = run::writeNpyFile(path, state_->model->graph().constant(*constant).view, task);
  if (!bytes) return tl::unexpected(bytes.error());
  return protocol::SavedTensor{params.path, *bytes};
}

Status Service::usePlanFile(const std::filesystem::path& path) {
  if (auto status = state_->needAnalysis(); !status) return status;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::Unreadable, "cannot read the plan " + path.string());
  std::stringstream text;
  text << file.rdbuf();
  auto plan = planFromJson(text.str(), state_->model->graph(), state_->layerNorms(), state_->hash->get());
  if (!plan) return fail(plan.error().code, path.string() + ": " + plan.error().message, plan.error().hint);
  state_->plans->use(std::move(*plan));
  return {};
}

Status Service::savePlanFile(const std::filesystem::path& path) const {
  if (auto status = state_->needAnalysis(); !status) return status;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << planToJson(toFoldPlan(state_->plan), state_->model->graph(), state_->layerNorms(), state_->hash->get());
  file.flush();
  if (!file) return fail(ErrorCode::WriteFailed, "cannot write the plan " + path.string());
  return {};
}

}  // namespace normlens::service
