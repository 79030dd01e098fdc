#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/probe/probe_report.h"
#include "core/base/plural.h"
#include "core/formats/file/whole_file.h"
#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

struct Options {
  std::string model, csv, dtype;
  std::vector<std::string> models;  // the model, or those of a folder: listed before the process is confined
  Policy policy = Policy::Balanced;
  int64_t seed = protocol::ProbeParams().seed;
  bool after = false, drift = false;
  InputOptions inputs;

  [[nodiscard]] protocol::ProbeParams params() const { return {false, seed, dtype, false, inputs.more}; }
  [[nodiscard]] bool isFolder() const { return models != std::vector{model}; }
};

// Measures a form in each type of the drift; what cannot be run in a type has a reason.
Status addDrift(service::Service& service, const Options& options, DriftForm form, ProbeOutcome& outcome,
                const Task& task) {
  for (const char* dtype : {"float32", "float16", "bfloat16"}) {
    auto params = options.params();
    params.dtype = dtype;
    params.folded = form == DriftForm::Fold;
    params.narrow = form == DriftForm::Crms;
    const auto rows = service.probe(params, task);
    if (!rows && rows.error().code == ErrorCode::Cancelled) return tl::unexpected(rows.error());
    outcome.drift.push_back(rows ? driftOf(outcome, form, *rows) : Drift{form, dtype, {}, rows.error().message, {}});
  }
  return {};
}

// Leaves `after` empty where nothing folds.
Status probeFold(service::Service& service, const Options& options, ProbeOutcome& outcome, Console& console,
                 const Task& task) {
  protocol::FoldParams fold;
  fold.plan.policy = options.policy;
  fold.verify = false;
  ASSIGN_OR_RETURN(const auto folded, service.fold(fold, task));
  if (folded.plan.folded.empty()) {
    console.note(folded.reason + ", so there is no fold to probe");
    return {};
  }
  if (options.after) {
    auto params = options.params();
    params.folded = true;
    ASSIGN_OR_RETURN(auto after, service.probe(params, task));
    if (!after.paired) console.note("the fold is not shown, because its norms do not match the model's one to one");
    outcome.after = std::move(after);
  }
  if (!options.drift) return {};
  RETURN_IF_ERROR(addDrift(service, options, DriftForm::Fold, outcome, task));
  return addDrift(service, options, DriftForm::Crms, outcome, task);
}

Result<ProbeOutcome> probe(service::Service& service, const Options& options, Console& console, const Task& task) {
  ProbeOutcome outcome;
  outcome.model = service.model()->facts().path.string();
  outcome.seed = options.seed;
  ASSIGN_OR_RETURN(auto before, service.probe(options.params(), task));
  outcome.before = std::move(before);
  if (options.isFolder()) return outcome;
  protocol::ProbeSwapsParams swapping;
  swapping.dtype = options.dtype;
  ASSIGN_OR_RETURN(auto swaps, service.probeSwaps(swapping, task));
  if (swaps.cancelled) return fail(ErrorCode::Cancelled, "stopped on request");
  outcome.swaps = std::move(swaps);
  if (options.drift) RETURN_IF_ERROR(addDrift(service, options, DriftForm::Original, outcome, task));
  if (options.after || options.drift) RETURN_IF_ERROR(probeFold(service, options, outcome, console, task));
  return outcome;
}

Result<OpenedModel> openToProbe(service::Service& service, const std::string& path, const Options& options,
                                const Call& call, const Task& task) {
  ASSIGN_OR_RETURN(auto opened, openModel(service, path, options.inputs, call, task));
  if (!options.csv.empty()) {
    Files others = options.inputs.files();
    others.insert(others.end(), options.models.begin(), options.models.end());
    RETURN_IF_ERROR(checkWrittenBeside("the table", options.csv, service.model()->facts().files(), others));
  }
  RETURN_IF_ERROR(requireRunnable(path, opened.analysis));
  return opened;
}

// One model is open at a time.
Result<Exit> runFolder(const Options& options, const Call& call) {
  Console& console = call.console;
  const Task task = console.task(call.stop());
  if (options.after || options.drift)
    return fail(ErrorCode::Usage, "--after and --drift are of one model, and " + options.model + " is a folder");
  std::vector<ProbeOutcome> outcomes;
  for (const std::string& path : options.models) {
    service::Service service;
    ASSIGN_OR_RETURN(const auto opened, openToProbe(service, path, options, call, task));
    auto outcome = probe(service, options, console, task);
    if (!outcome) return tl::unexpected(inFile(path, outcome.error()));
    outcomes.push_back(std::move(*outcome));
  }
  if (outcomes.empty()) return fail(ErrorCode::Unreadable, options.model + " has no model in it (.pt, .pt2, .onnx)");
  if (!options.csv.empty()) RETURN_IF_ERROR(formats::writeWhole(options.csv, checkpointCsv(outcomes)));
  console.print(options.model + ": " + plural(outcomes.size(), "model") +
                "; angles in degrees to the uniform vector [1 ... 1]");
  for (const std::string& line : checkpointLines(outcomes)) console.print("  " + line);
  return console.finish(
      [&] {
        nlohmann::json models = nlohmann::json::array();
        for (const ProbeOutcome& outcome : outcomes) models.push_back(probeReport(outcome));
        return nlohmann::json{{"models", models}};
      },
      Exit::Done);
}

Result<Exit> run(const Options& options, const Call& call) {
  if (options.isFolder()) return runFolder(options, call);
  Console& console = call.console;
  const Task task = console.task(call.stop());
  service::Service service;
  ASSIGN_OR_RETURN(const auto opened, openToProbe(service, options.model, options, call, task));
  noteAssumedInputs(opened.analysis, console);
  const auto outcome = probe(service, options, console, task);
  if (!outcome) return tl::unexpected(inFile(options.model, outcome.error()));
  if (!options.csv.empty()) {
    RETURN_IF_ERROR(formats::writeWhole(options.csv, probeCsv(*outcome)));
  }
  console.print(options.model + ": " + plural(outcome->before.rows.size(), "norm") + ", run in " +
                outcome->before.dtype + "; angles in degrees to the uniform vector [1 ... 1]");
  if (!outcome->before.rows.empty()) {
    for (const std::string& line : probeLines(*outcome)) console.print("  " + line);
  }
  return console.finish(
      [&] {
        nlohmann::json report = probeReport(*outcome);
        report["inputs"] = protocol::toJson(opened.analysis.inputs);
        return report;
      },
      Exit::Done);
}

}  // namespace

Declared declareProbe(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<Options>();
  app.add_option_function<std::string>(
         "model",
         [options = options.get()](const std::string& path) {
           constexpr std::string_view kSuffixes[] = {".pt", ".onnx", ".pt2"};
           options->model = path;
           options->models = filesIn(path, kSuffixes);
         },
         "The model file, or a folder of models (checkpoints): a row for each of them and each norm")
      ->required()
      ->type_name("MODEL");
  options->inputs.addSeveralTo(app);
  app.add_option("--seed", options->seed, "Seed of the random vectors that the inputs are compared with")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--csv", options->csv, "Write the table to this file")->type_name("FILE.csv");
  app.add_flag("--after", options->after, "Also probe the folded model, which is made in memory");
  app.add_option("--dtype", options->dtype, "Run the model in this type")
      ->check(CLI::IsMember({"float64", "float32", "float16", "bfloat16"}));
  app.add_flag(
      "--drift", options->drift,
      "Also mean / rms in front of each norm in float32, float16 and bfloat16: of the model, its fold and crms");
  addChoice(app, "--policy", options->policy, "What --after and --drift fold");
  return {[options](const Call& call) { return run(*options, call); },
          [options] {
            NamedFiles files = namedFiles({options->model}, options->inputs, options->csv);
            for (const std::string& model : options->models) files.grants.toRead(model);
            return files;
          },
          {}};
}

}  // namespace normlens::engine
