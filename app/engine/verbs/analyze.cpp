#include <map>

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

Tone toneOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::Free:
      return Tone::Good;
    case Verdict::WithCentering:
    case Verdict::Unknown:
      return Tone::Caution;
    case Verdict::Blocked:
      return Tone::Bad;
  }
  return Tone::Plain;
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, text.size()) + 2, ' ');
}

// A reason is said of the first norm that has it; the others name that one.
class Reasons {
 public:
  Piece of(const std::string& norm, const std::string& reason) {
    const auto [first, isNew] = said_.try_emplace(reason, norm);
    return isNew || reason.empty() ? Piece{reason} : Piece{"as " + first->second, Tone::Faint};
  }

 private:
  std::map<std::string, std::string> said_;  // reason -> norm
};

// Prints a table: what can be done with a norm, and what a plan would do.
void printNorms(const OpenedModel& model, const protocol::PlanInfo& plan, Console& console) {
  console.print(model.info.path + ": " + service::inWords(model.analysis.totals));
  constexpr size_t kVerdictWidth = 14;  // "with_centering"
  constexpr size_t kStateWidth = 10;    // "would fold"
  const std::string head = "LayerNorm";
  size_t width = head.size();
  for (const auto& norm : model.analysis.norms) width = std::max(width, norm.title.size());
  if (!model.analysis.norms.empty()) {
    console.print(
        {{"  " + padded(head, width) + padded("verdict", kVerdictWidth) + padded("plan", kStateWidth) + "reason",
          Tone::Faint}});
  }
  Reasons reasons;
  for (size_t n = 0; n < model.analysis.norms.size(); ++n) {
    const auto& norm = model.analysis.norms[n];
    const auto& state = plan.norms[n];
    console.print({{"  " + padded(norm.title, width)},
                   {padded(nameOf(norm.verdict), kVerdictWidth), toneOf(norm.verdict)},
                   {padded(state.state == NormOutcome::Kept ? "stays" : "would fold", kStateWidth)},
                   reasons.of(norm.title, norm.reason)});
    if (!state.because.empty() && folds(norm.verdict)) console.print("    " + stateText(state, false));
    for (const auto& condition : norm.holds_if) console.print("    holds if " + asText(condition));
    for (const std::string& line : wouldFold(norm)) console.print("    " + line);
  }
  for (const auto& other : model.analysis.other_norms) {
    const std::string verdict = other.verdict ? std::string(nameOf(*other.verdict)) + ": " : "";
    console.print({{"  " + other.name + "  (" + other.kind + ")  " + verdict}, reasons.of(other.name, other.reason)});
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
