#include <cstdio>

#include "app/engine/model_options.h"
#include "app/engine/reports.h"
#include "app/engine/verbs.h"
#include "core/analysis/norms.h"

namespace normlens::engine {
namespace {

struct Options {
  std::string a, b;
  std::optional<double> failAbove;
  InputOptions inputs;
};

void printRows(const std::vector<run::TensorDiff>& rows, const std::string& title, Console& console) {
  if (rows.empty()) return;
  console.print(title);
  for (const run::TensorDiff& row : rows) {
    char figures[128];
    std::snprintf(figures, sizeof figures, "max_abs %-9.3g max_rel %-9.3g mean_abs %-9.3g cosine %.9g", row.maxAbs,
                  row.maxRel, row.meanAbs, row.cosine);
    console.print("  " + std::string(figures) + "  " + row.name);
  }
}

Exit run(const Options& options, Console& console, const std::stop_token& stop) {
  const Task task = console.task(stop);
  service::Service serviceA, serviceB;
  const auto a = openModel(serviceA, options.a, options.inputs, console, task);
  if (!a) return console.fail(a.error());
  if (const Status runs = requireRunnable(options.a, *a); !runs) return console.fail(runs.error());
  const auto b = serviceB.open(options.b, task);
  if (!b) return console.fail(b.error());

  const formats::Model& model = *serviceA.model();
  const auto norms = analysis::findNorms(model.graph()).layerNorms;
  const auto diff = run::diffModels(model, norms, *serviceB.model(), serviceA.inputs(), options.failAbove, task);
  if (!diff) return console.fail(diff.error());
  printRows(diff->outputs, "outputs", console);
  printRows(diff->norms, "norms", console);
  if (!diff->normsReason.empty()) console.note("the norms could not be compared: " + diff->normsReason);
  if (!diff->firstDiverging.empty()) console.print("first norm that differs: " + diff->firstDiverging);
  const bool tooFar = options.failAbove && !(run::worstOf(diff->outputs).maxRel <= *options.failAbove);
  if (tooFar) console.note("the outputs differ by more than --fail-above");
  return console.finish(diffReport(*diff), tooFar ? Exit::NotDone : Exit::Done);
}

}  // namespace

RunVerb declareDiff(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("a", options->a, "The first model, which gives the inputs and the names")->required()->type_name("A");
  app.add_option("b", options->b, "The second model")->required()->type_name("B");
  options->inputs.addTo(app);
  app.add_option("--fail-above", options->failAbove, "Exit with 1 where an output's max_rel is above this")
      ->check(CLI::NonNegativeNumber)
      ->type_name("REL");
  return [options](Console& console, const std::stop_token& stop) { return run(*options, console, stop); };
}

}  // namespace normlens::engine
