#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/probe/probe_report.h"
#include "core/base/plural.h"
#include "core/formats/file/whole_file.h"
#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

struct Options {
  std::string model, csv;
  Policy policy = Policy::Balanced;
  int64_t seed = protocol::ProbeParams().seed;
  bool after = false;
  InputOptions inputs;
};

// Leaves `after` empty where nothing folds.
Status probeFold(service::Service& service, const Options& options, ProbeOutcome& outcome, Console& console,
                 const Task& task) {
  protocol::FoldParams params;
  params.plan.policy = options.policy;
  params.verify = false;
  ASSIGN_OR_RETURN(const auto folded, service.fold(params, task));
  if (folded.plan.folded.empty()) {
    console.note(folded.reason + ", so there is no fold to look at");
    return {};
  }
  ASSIGN_OR_RETURN(auto after, service.probe({true, options.seed}, task));
  if (!after.paired) console.note("the norms of the fold are not those of the model one for one, so it is not told");
  outcome.after = std::move(after);
  return {};
}

Result<ProbeOutcome> probe(service::Service& service, const Options& options, Console& console, const Task& task) {
  ProbeOutcome outcome;
  outcome.seed = options.seed;
  ASSIGN_OR_RETURN(auto before, service.probe({false, options.seed}, task));
  outcome.before = std::move(before);
  ASSIGN_OR_RETURN(auto swaps, service.probeSwaps({}, task));
  if (swaps.cancelled) return fail(ErrorCode::Cancelled, "stopped on request");
  outcome.swaps = std::move(swaps);
  if (!options.after) return outcome;
  RETURN_IF_ERROR(probeFold(service, options, outcome, console, task));
  return outcome;
}

Result<Exit> run(const Options& options, const Call& call) {
  Console& console = call.console;
  const Task task = console.task(call.stop());
  service::Service service;
  ASSIGN_OR_RETURN(const auto opened, openModel(service, options.model, options.inputs, call, task));
  if (!options.csv.empty()) {
    RETURN_IF_ERROR(
        checkWrittenBeside("the table", options.csv, service.model()->facts().files(), {options.inputs.npz}));
  }
  RETURN_IF_ERROR(requireRunnable(options.model, opened.analysis));
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
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  options->inputs.addTo(app);
  app.add_option("--seed", options->seed, "Of the random vectors that the inputs are held against")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--csv", options->csv, "Write the table to this file")->type_name("FILE.csv");
  app.add_flag("--after", options->after, "Also of the folded model, which is made in memory");
  addChoice(app, "--policy", options->policy, "What --after folds");
  return {[options](const Call& call) { return run(*options, call); },
          [options] { return namedFiles({options->model}, options->inputs, options->csv); },
          {}};
}

}  // namespace normlens::engine
