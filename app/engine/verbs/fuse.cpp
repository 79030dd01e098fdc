#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/reports.h"
#include "core/base/plural.h"

namespace normlens::engine {
namespace {

struct FuseOptions {
  std::string model, output;
  bool noVerify = false, force = false;
  InputOptions inputs;
};

void printFusing(const std::string& model, const FuseOutcome& outcome, Console& console) {
  console.print(model + ": " + std::to_string(outcome.fusing.fused.size()) + " of " +
                plural(outcome.fusing.norms, "norm") + " fused with a residual add");
  if (!outcome.fusing.joined.empty())
    console.print("  written out as several nodes, now one node: " + std::to_string(outcome.fusing.joined.size()));
  if (outcome.fusing.verify) printVerify(*outcome.fusing.verify, console);
  if (outcome.output) console.print("  written to " + *outcome.output);
}

Exit endWithout(const FuseOutcome& outcome, Exit exit, Console& console) {
  console.note(outcome.fusing.reason + "; nothing was written", exit);
  return console.finish([&] { return fuseReport(outcome); }, exit);
}

Result<Exit> runFuse(const FuseOptions& options, const Call& call) {
  Console& console = call.console;
  const Task task = console.task(call.stop());
  service::Service service;
  ASSIGN_OR_RETURN(const auto opened, openModel(service, options.model, options.inputs, call, task));
  RETURN_IF_ERROR(checkOutput(service.model()->facts().files(), options.output));
  RETURN_IF_ERROR(requireRunnable(options.model, opened.analysis));
  noteAssumedInputs(opened.analysis, console);
  ASSIGN_OR_RETURN(auto fusing, service::fuseNorms(*service.model(), service.inputs(), !options.noVerify, task));
  FuseOutcome outcome{std::move(fusing), service.times().load_ms, 0, std::nullopt};
  if (!outcome.fusing.model) return endWithout(outcome, Exit::Done, console);
  if (!outcome.fusing.ok && !options.force) {
    printFusing(options.model, outcome, console);
    return endWithout(outcome, Exit::NotDone, console);
  }
  ASSIGN_OR_RETURN(outcome.save_ms, saveTo(*outcome.fusing.model, options.output, task));
  outcome.output = options.output;
  printFusing(options.model, outcome, console);
  return console.finish([&] { return fuseReport(outcome); }, Exit::Done);
}

}  // namespace

Declared declareFuse(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<FuseOptions>();
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  app.add_option("-o,--output", options->output, "Where to write the fused model")->required()->type_name("OUT");
  options->inputs.addTo(app);
  app.add_flag("--no-verify", options->noVerify, "Do not prove the result");
  app.add_flag("--force", options->force, "Write the result although it could not be proved");
  return {[options](const Call& call) { return runFuse(*options, call); },
          [options] { return namedFiles({options->model}, options->inputs, options->output); },
          {}};
}

}  // namespace normlens::engine
