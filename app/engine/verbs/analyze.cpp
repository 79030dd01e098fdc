#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/reports.h"

namespace normlens::engine {
namespace {

struct Options {
  std::string model;
  InputOptions inputs;
};

void printNorms(const OpenedModel& model, Console& console) {
  console.print(model.info.path + ": " + asText(model.analysis.totals));
  size_t width = 0;
  for (const auto& norm : model.analysis.norms) width = std::max(width, norm.name.size());
  for (const auto& norm : model.analysis.norms) {
    constexpr size_t kVerdictWidth = 14;  // "with_centering"
    console.print("  " + norm.name + std::string(width - norm.name.size() + 2, ' ') + norm.verdict +
                  std::string(kVerdictWidth - std::min(kVerdictWidth, norm.verdict.size()) + 2, ' ') + norm.reason);
    for (const auto& condition : norm.holds_if) console.print("    holds if " + asText(condition));
    for (const std::string& line : wouldFold(norm)) console.print("    " + line);
  }
  for (const auto& other : model.analysis.other_norms) console.print("  " + other.name + "  (" + other.kind + ")");
}

Exit run(const Options& options, const Call& call) {
  Console& console = call.console;
  service::Service service;
  service.setRules(call.rules);
  const auto model = openModel(service, options.model, options.inputs, console, console.task(call.stop()));
  if (!model) return console.fail(model.error());
  if (!model->analysis.probe_error.empty()) {
    const std::string hint = model->analysis.never_runs ? "" : std::string("; ") + kGiveInputs;
    console.note(couldNotRun(options.model, model->analysis) + "; so shapes are not known" + hint);
  }
  if (!model->analysis.norms.empty()) noteAssumedInputs(model->analysis, console);
  printNorms(*model, console);
  return console.finish([&] { return analyzeReport(model->info, model->analysis); }, Exit::Done);
}

}  // namespace

Declared declareAnalyze(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  options->inputs.addTo(app);
  options->inputs.addSizesTo(app);
  return {[options](const Call& call) { return run(*options, call); },
          [options] { return namedFiles({options->model}, options->inputs); },
          {}};
}

}  // namespace normlens::engine
