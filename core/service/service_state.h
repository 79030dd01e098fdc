// Service::State is everything that a Service holds. Private to core/service.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/algorithm/string/join.hpp>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/analysis/explain.h"
#include "core/analysis/zero_mean_map.h"
#include "core/base/result.h"
#include "core/base/stopwatch.h"
#include "core/base/task.h"
#include "core/formats/file/file_hash.h"
#include "core/formats/formats.h"
#include "core/formats/model.h"
#include "core/graph/queries.h"
#include "core/run/inputs/other_sizes.h"
#include "core/run/proof/section_proof.h"
#include "core/run/proof/verify.h"
#include "core/service/describe/describe.h"
#include "core/service/describe/graph_document.h"
#include "core/service/differences.h"
#include "core/service/inputs/model_inputs.h"
#include "core/service/original_in_type.h"
#include "core/service/plans/plan_file.h"
#include "core/service/plans/plan_maker.h"
#include "core/service/service.h"

namespace normlens::service {

// The hash by which the opened file is known, found beside other work: it reads the whole file again.
// Thread: one caller; the hashing has a thread of its own, which the destructor ends.
class SourceHash {
 public:
  static constexpr size_t kHexDigits = 32;

  explicit SourceHash(const formats::Model& model) : model_(model) {}  // which outlives this object
  ~SourceHash() {
    worker_.request_stop();
    sealing_.request_stop();
    setResting(false);
  }
  SourceHash(const SourceHash&) = delete;
  SourceHash& operator=(const SourceHash&) = delete;

  // Starts the hashing where it has not been started.
  void start() {
    if (worker_.joinable()) return;
    worker_ = std::jthread([this](const std::stop_token& stop) { found_.set_value(find(HashKind::Xxh3, stop)); });
  }
  // Has the model keep its SHA-256, with which it compares a file that was touched before it writes.
  void keepSha256() {
    if (std::exchange(isKept_, true)) return;
    sealing_ = std::jthread([this](const std::stop_token& stop) { find(HashKind::Sha256, stop); });
  }
  // Waits until it has it.
  void awaitKept() {
    if (sealing_.joinable()) sealing_.join();
  }
  // The hashing rests while one of these lives, for work that the memory's speed bounds.
  class Rest {
   public:
    explicit Rest(SourceHash& hash) : hash_(hash) { hash_.setResting(true); }
    ~Rest() { hash_.setResting(false); }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;

   private:
    SourceHash& hash_;
  };
  // Waits for it. Errors: Unreadable when a file cannot be read any more; Cancelled.
  [[nodiscard]] Result<std::string> get(const Task& task = {}) {
    start();
    while (hash_.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      RETURN_IF_ERROR(task.check());
    }
    return known(hash_.get());
  }
  // The same of the SHA-256, found now.
  [[nodiscard]] Result<std::string> sha256() const { return known(model_.fileHash(HashKind::Sha256, nullptr)); }

 private:
  using HashKind = formats::HashKind;
  std::string find(HashKind kind, const std::stop_token& stop) {
    return model_.fileHash(kind, [&] {
      resting_.wait(true);
      return !stop.stop_requested();
    });
  }
  [[nodiscard]] Result<std::string> known(std::string hash) const {
    if (!hash.empty()) return hash;
    return fail(ErrorCode::Unreadable, model_.facts().path.string() + " cannot be read any more");
  }
  void setResting(bool resting) {
    resting_ = resting;
    resting_.notify_all();
  }

  const formats::Model& model_;
  std::atomic<bool> resting_ = false;
  std::promise<std::string> found_;
  std::shared_future<std::string> hash_ = found_.get_future();
  bool isKept_ = false;
  std::jthread worker_, sealing_;
};

struct Service::State {
  std::unique_ptr<formats::Model> model;
  InputChoice choice;
  formats::OpenChoice besides;  // how files are opened that the model is compared with
  ChosenInputs inputs;
  std::string noInputs;   // why there are none; empty: there are
  bool early = false;     // shapes are inferred ones
  analysis::Norms norms;  // The structure's, before the probe.
  analysis::FiniteWeights weights;
  std::unique_ptr<analysis::Analysis> analysis;  // nullptr until analyze()
  std::optional<PlanMaker> plans;                // the same
  // By norm, as protocol::NormInfo has them.
  std::vector<std::vector<protocol::SizeCondition>> holdsIf, wouldFoldIf;

  // The last fold.
  analysis::Plan plan;
  std::unique_ptr<formats::Model> folded;
  std::vector<protocol::SizeCondition> conditions;  // The analysis rests on them.
  formats::NormFlavour flavour = formats::NormFlavour::Portable;
  protocol::FoldParams foldParams;
  bool foldOk = false;
  protocol::FoldResult toldFold;  // Describes `folded`.
  FoldTimes times;
  Differences differences;
  OriginalInType originalInType;
  std::unique_ptr<SourceHash> hash;  // last: it ends before the model does

  [[nodiscard]] Status needModel() const {
    if (model) return {};
    return fail(ErrorCode::Usage, "no model is open", "open one first");
  }
  [[nodiscard]] Status needAnalysis() const {
    RETURN_IF_ERROR(needModel());
    if (analysis) return {};
    return fail(ErrorCode::Usage, "the model has not been analyzed yet");
  }
  [[nodiscard]] Status needInputs() const {
    RETURN_IF_ERROR(needAnalysis());
    if (noInputs.empty()) return {};
    return fail(ErrorCode::RunFailed, "the model was not run: " + noInputs, "say what fits its inputs");
  }
  // Checks, after needModel(), whether what was made of the open model may be written there.
  [[nodiscard]] Status checkExport(const std::string& what, const std::filesystem::path& path) const {
    const auto& original = model->facts().path;
    if (model->facts().isReadFrom(path)) {
      return fail(ErrorCode::Usage, what + " may not overwrite the original " + path.string(), "choose another name");
    }
    if (formats::suffixFits(original, path)) return {};
    return fail(ErrorCode::Usage,
                path.string() + " should end in " + original.extension().string() + " like the model");
  }
  // Precondition: needInputs().
  [[nodiscard]] AnalysedModel analysedModel() const { return {*model, *analysis, inputs.tensors}; }
  // Precondition: needAnalysis().
  [[nodiscard]] Status needNorm(int norm) const {
    if (norm >= 0 && static_cast<size_t>(norm) < layerNorms().size()) return {};
    return fail(ErrorCode::Usage, "there is no LayerNorm " + std::to_string(norm));
  }
  [[nodiscard]] const std::vector<analysis::LayerNorm>& layerNorms() const { return analysis->norms.layerNorms; }

  // Runs after the probe. Drops the results of the analysis before.
  [[nodiscard]] Status analyseGraph(const Task& task) {
    // The old plans are of the graph as it was before the run.
    plans.reset();
    analysis.reset();
    ASSIGN_OR_RETURN(auto conditional, analyzeUnderConditions(*model, inputs.tensors, choice.sizes, weights, task));
    analysis = std::move(conditional.analysis);
    holdsIf = std::move(conditional.holdsIf);
    wouldFoldIf = std::move(conditional.wouldFoldIf);
    plans.emplace(*model, *analysis);
    folded.reset();
    differences.forget();
    originalInType.forget();
    return {};
  }

  // Returns what makes unknown verdicts known; empty: nothing does.
  [[nodiscard]] static Hint whatToGive(const Error& notProbed) {
    if (notProbed.code == ErrorCode::Unsupported) return {};
    const HintKey place = notProbed.hint.key;
    if (place == HintKey::TimeLimit || place == HintKey::TimeOrInputs)
      return {"allow more time", HintKey::TimeOrInputs};
    return {notProbed.message.empty() ? "give inputs that reach it" : "give inputs that fit", HintKey::Inputs};
  }

  // The same as a protocol struct.
  [[nodiscard]] Result<protocol::Analysis> analysed(const Error& notProbed, const Task& task) {
    task.report("analyzing");
    const Stopwatch watch;
    RETURN_IF_ERROR(analyseGraph(task));
    times.analysis_ms = watch.ms();
    auto out = describeAnalysis(model->graph(), *analysis, inputs.specs, notProbed.message);
    auto conditional = conditionsByNorm(analysis->best);
    for (size_t norm = 0; norm < out.norms.size(); ++norm) {
      out.norms[norm].holds_if = std::move(conditional[norm]);
      out.norms[norm].would_fold_if = wouldFoldIf[norm];
    }
    out.advice = whatToGive(notProbed);
    out.never_runs = notProbed.code == ErrorCode::Unsupported;
    out.early = early;
    out.unused_arrays = inputs.unusedArrays;
    return out;
  }

  // An edit was refused when numbers were read. True where another plan does without it: shifts that do not fit their
  // biases stay, and what turns out not to be finite, or to be so centered, is no longer centered.
  [[nodiscard]] Result<bool> canDoWithout(const Error& refused, const Task& task) {
    if (refused.code != ErrorCode::Refused || plans->isFromFile()) return false;
    if (weights.readRest() || weights.leaveOutLarge()) return analyseGraph(task).map([] { return true; });
    return plans->leaveShifts();
  }

  // Returns the constant behind a value.
  [[nodiscard]] Result<graph::ConstantId> constantOf(int value) const {
    RETURN_IF_ERROR(needModel());
    return service::constantOf(model->graph(), value);
  }

  // Returns what a plan is made for: the file, and which of its models where one was chosen.
  [[nodiscard]] std::string planSource(const std::string& ofFile) const {
    return besides.model.empty() ? ofFile : ofFile + " " + besides.model;
  }

  [[nodiscard]] protocol::PlanInfo describe(const PricedPlan& planned) const {
    return describePlan(model->graph(), *analysis, planned);
  }

  // Returns the conditions that the norms' verdicts depend on.
  [[nodiscard]] std::vector<protocol::SizeCondition> conditionsOf(const analysis::Plan& folding) const {
    std::vector<protocol::SizeCondition> all;
    const auto conditional = conditionsByNorm(folding);
    for (const int norm : folding.folded) {
      for (const auto& condition : conditional[static_cast<size_t>(norm)]) addOnce(all, condition);
      if (!plans->isFromFile() || folds(analysis->verdicts[static_cast<size_t>(norm)].verdict)) continue;
      // The plan was made where these sizes were accepted, and the verdict here does without them.
      if (std::ranges::any_of(folding.edits, [&](const analysis::PlannedEdit& planned) {
            return std::holds_alternative<fold::InsertCentering>(planned.edit) && planned.frees.contains(norm);
          }))
        continue;
      for (const auto& condition : wouldFoldIf[static_cast<size_t>(norm)]) addOnce(all, condition);
    }
    return all;
  }

  static void addOnce(std::vector<protocol::SizeCondition>& all, const protocol::SizeCondition& condition) {
    if (std::ranges::find(all, condition.text, &protocol::SizeCondition::text) == all.end()) all.push_back(condition);
  }

  // Returns by norm the sizes that its verdict depends on, and that what the plan leaves out of sums for it is finite:
  // infinity less the mean, which is infinite too, is NaN in the original, and the fold no longer sees it.
  [[nodiscard]] std::vector<std::vector<protocol::SizeCondition>> conditionsByNorm(
      const analysis::Plan& folding) const {
    auto all = holdsIf;
    for (const analysis::PlannedEdit& planned : folding.edits) {
      const auto* drop = std::get_if<fold::DropAddend>(&planned.edit);
      if (drop == nullptr) continue;
      const graph::Value& value = model->graph().value(drop->value);
      if (value.literal) continue;  // mayDrop() has seen the number
      const protocol::SizeCondition finite{
          value.name, 0, analysis::describeValue(model->graph(), drop->value) + " is finite", {}};
      for (const int norm : planned.frees.indices()) addOnce(all[static_cast<size_t>(norm)], finite);
    }
    return all;
  }

  // The last fold differs for inputs with another number of axes, or that could not be tried.
  void noteRanks(bool matter) {
    const bool untried = !graph::areRanksDeclared(model->graph()) && !run::canTryOtherRanks(*model);
    if (!matter && !untried) return;
    const char* tested = matter ? "it was run with another number of them, and differs there" : "not tested";
    std::ranges::move(sameRanks(inputs.tensors, tested), std::back_inserter(conditions));
  }

  [[nodiscard]] std::map<std::string, std::string> conditionTexts() const {
    std::vector<std::string> all;
    for (const auto& condition : conditions) all.push_back(condition.text);
    if (all.empty()) return {};
    return {{"normlens.holds_if", boost::algorithm::join(all, "; ")}};
  }

  // Returns the record of its making for the exported file. A format without a place for it only uses it to distinguish
  // one fold from another, and the opened file need not be hashed for it.
  [[nodiscard]] std::map<std::string, std::string> history() const {
    const std::string source = lateHash().standIn;
    const std::string summary = std::to_string(plan.folded.size()) + " of " + std::to_string(layerNorms().size()) +
                                " LayerNorms folded, policy " + nameOf(plan.policy) + ", norms " +
                                std::string(formats::normFlavourName(flavour));
    std::map<std::string, std::string> texts{
        {"normlens.version", NORMLENS_VERSION},
        {"normlens.source_xxh3", source},
        {"normlens.summary", summary},
        {"normlens.plan", planToJson(toFoldPlan(plan), model->graph(), layerNorms(), source)}};
    texts.merge(conditionTexts());
    return texts;
  }

  // The hash in it: reading the source for that goes on while the file is written.
  [[nodiscard]] formats::LateText lateHash() const {
    if (!model->takesAnnotations()) return {};
    return {std::string(SourceHash::kHexDigits, '#'), [this](const Task& task) { return hash->get(task); }};
  }

  [[nodiscard]] DiffSubject diffSubject() const {
    return {*model,
            layerNorms(),
            inputs.tensors,
            folded.get(),
            [this](const formats::Model& converted) {
              return converted.apply(toFoldPlan(plan), layerNorms(), flavour, {});
            },
            besides};
  }

  // A model beside the open one: of a file, or the folded one where path is empty.
  [[nodiscard]] Result<BenchModel> other(const std::string& path, const Task& task) const;
  // A side of a measurement by its name, see protocol::BenchParams; empty: none. See bench.cpp.
  [[nodiscard]] Result<BenchModel> side(const std::string& name, const Task& task);
  [[nodiscard]] Result<BenchModel> foldedIn(formats::NormFlavour wanted, const Task& task);
  // Milliseconds of the last fold's analysis, planning, centering and rewriting for inputs of other sizes: the median
  // of several. The run that finds the shapes, tries of sizes of 1 and measured prices are not in it. Errors: as
  // fold(); Unsupported where the plan came from a file.
  [[nodiscard]] Result<double> timeFoldAt(const formats::Tensors& at, const Task& task);
  [[nodiscard]] Result<BenchModel> fusedSide(const Task& task) const;

  // Returns whether the requested proof goes in sections, where the format has them.
  [[nodiscard]] bool isProvedInSections(const protocol::FoldParams& params) const {
    if (!params.verify || params.proof == protocol::ProofParts::Whole) return false;
    return params.proof == protocol::ProofParts::Sections ||
           (!run::fitsProof(*model) && model->sectionsAt({}).has_value());
  }

  // Returns the options for a change that relies on these conditions.
  [[nodiscard]] run::VerifyOptions verifyOptions(const std::vector<protocol::SizeCondition>& reliedOn) const {
    run::VerifyOptions options;
    options.freeAxes = inputs.freeAxes;
    options.strictRanks = choice.sizes.strict;
    options.ones.resize(inputs.tensors.size());
    for (const auto& condition : reliedOn) {
      if (condition.axis == 0) continue;
      const auto input = std::ranges::find(inputs.tensors, condition.input, &formats::NamedTensor::name);
      options.ones[static_cast<size_t>(input - inputs.tensors.begin())].push_back(-condition.axis);
    }
    return options;
  }

  [[nodiscard]] Result<run::Verification> verify(const fold::FoldPlan& foldPlan, const Task& task) const {
    run::VerifyOptions options = verifyOptions(conditions);
    options.flavour = flavour;
    const run::FoldUnderTest fold{*model, *folded, foldPlan, layerNorms()};
    if (!isProvedInSections(foldParams)) return run::verifyFold(fold, inputs.tensors, options, task);
    return run::verifyFoldInSections(fold, analysis::zeroMeanMap(*analysis, plan).now, inputs.tensors, options, task);
  }
};

}  // namespace normlens::service
