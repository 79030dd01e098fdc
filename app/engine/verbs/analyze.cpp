#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/reports.h"
#include "core/service/describe/describe.h"

namespace normlens::engine {
namespace {

struct AnalyzeOptions {
  std::string model;
  InputOptions inputs;
};

// Prints a column for what can be done with a norm, one for what a plan would do.
void printNorms(const OpenedModel& model, const protocol::PlanInfo& plan, Console& console) {
  console.print(model.info.path + ": " + service::inWords(model.analysis.totals));
  const auto padded = [](const std::string& text, size_t width) {
    return text + std::string(width - std::min(width, text.size()) + 2, ' ');
  };
  size_t width = 0;
  for (const auto& norm : model.analysis.norms) width = std::max(width, norm.title.size());
  for (size_t n = 0; n < model.analysis.norms.size(); ++n) {
    const auto& norm = model.analysis.norms[n];
    const auto& state = plan.norms[n];
    constexpr size_t kVerdictWidth = 14;  // "with_centering"
    constexpr size_t kStateWidth = 10;    // "would fold"
    console.print("  " + padded(norm.title, width) + padded(nameOf(norm.verdict), kVerdictWidth) +
                  padded(state.state == NormOutcome::Kept ? "kept" : "would fold", kStateWidth) + norm.reason);
    if (!state.because.empty() && folds(norm.verdict)) console.print("    " + stateText(state, false));
    for (const auto& condition : norm.holds_if) console.print("    holds if " + asText(condition));
    for (const std::string& line : wouldFold(norm)) console.print("    " + line);
  }
  for (const auto& other : model.analysis.other_norms) {
    const std::string verdict = other.verdict ? std::string(nameOf(*other.verdict)) + ": " : "";
    console.print("  " + other.name + "  (" + other.kind + ")  " + verdict + other.reason);
    if (other.weightless)
      console.print("    weightless " + std::string(nameOf(*other.weightless)) + ": " + other.weightless_reason);
  }
}

Result<Exit> run(const AnalyzeOptions& options, const Call& call) {
  Console& console = call.console;
  service::Service service;
  ASSIGN_OR_RETURN(const auto model,
                   openModel(service, options.model, options.inputs, call, console.task(call.stop())));
  if (!model.analysis.probe_error.empty()) {
    const std::string advice = model.analysis.advice.text();
    console.note(couldNotRun(options.model, model.analysis) + "; so shapes are not known" +
                 (advice.empty() ? "" : "; " + advice));
  }
  if (!model.analysis.norms.empty()) noteAssumedInputs(model.analysis, console);
  ASSIGN_OR_RETURN(const auto plan, service.plan({}, console.task(call.stop())));
  printNorms(model, plan, console);
  RETURN_IF_ERROR(requireVerdicts(options.model, options.inputs, model.analysis));
  return console.finish([&] { return analyzeReport(model.info, model.analysis, plan); }, Exit::Done);
}

}  // namespace

Declared declareAnalyze(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<AnalyzeOptions>();
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  options->inputs.addTo(app);
  options->inputs.addSizesTo(app);
  options->inputs.addVerdictsTo(app);
  return {[options](const Call& call) { return run(*options, call); },
          [options] { return namedFiles({options->model}, options->inputs); },
          {}};
}

}  // namespace normlens::engine
