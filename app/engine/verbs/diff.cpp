#include <algorithm>
#include <sstream>

#include "app/engine/verbs.h"
#include "app/engine/verbs/diff_report.h"
#include "app/engine/verbs/model_options.h"
#include "core/analysis/norms/norms.h"

namespace normlens::engine {
namespace {

struct DiffOptions {
  std::string a, b, dtypes, device = "cpu";
  std::optional<double> failAbove;
  int batches = 1;
  uint64_t seed = 1;
  bool rounding = false;
  std::vector<std::string> values;
  InputOptions inputs;
};

// Parses "float64,float32"; one Unknown where none is given: each model as it is.
Result<std::vector<graph::DType>> dtypesOf(const std::string& text) {
  std::vector<graph::DType> dtypes;
  std::stringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    dtypes.push_back(graph::dtypeFromName(name));
    if (!graph::isFloat(dtypes.back())) {
      return fail(ErrorCode::Usage, "--dtype " + text + ": '" + name + "' is not a floating-point type",
                  "float64, float32, float16 or bfloat16");
    }
  }
  if (dtypes.empty()) dtypes.push_back(graph::DType::Unknown);
  return dtypes;
}

Result<std::vector<graph::ValueId>> valuesNamed(const graph::Graph& graph, const std::vector<std::string>& names) {
  std::vector<graph::ValueId> ids;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(graph.values, name, &graph::Value::name);
    if (found == graph.values.end()) {
      return fail(ErrorCode::Usage, "the first model has no value '" + name + "'",
                  "use the names that the window shows");
    }
    ids.push_back(static_cast<graph::ValueId>(found - graph.values.begin()));
  }
  return ids;
}

struct Comparison {
  const formats::Model& a;
  const formats::Model& b;
  std::vector<analysis::LayerNorm> norms;
  std::vector<formats::Tensors> batches;
  run::DiffOptions options;
  std::unique_ptr<formats::Model> exact;  // a float64 copy of `a`, where its own rounding is wanted
};

DiffColumn compareIn(const Comparison& comparison, graph::DType dtype, const Task& task) {
  const auto& [a, b, norms, batches, options, exact] = comparison;
  const auto pair = run::inType(a, b, dtype);
  const bool asTheyAre = dtype == graph::DType::Unknown;
  DiffColumn column{std::string(graph::dtypeName(asTheyAre ? a.facts().dtype : dtype)), {}, run::ModelDiff{}};
  if (!pair) {
    column.diff = tl::unexpected(pair.error());
    return column;
  }
  column.note = run::typeNote(*pair);
  run::DiffOptions wanted = options;
  if (pair->a->facts().dtype != graph::DType::Float64) wanted.reference = exact.get();
  if (!wanted.limit) wanted.limit = pair->limit;
  column.diff = run::diffModels(*pair->a, norms, *pair->b, batches, wanted, task);
  return column;
}

// If only one type was requested, its obstacle is an error like any other.
Result<std::vector<DiffColumn>> compareInAll(const Comparison& comparison, const std::vector<graph::DType>& dtypes,
                                             Console& console, const Task& task) {
  std::vector<DiffColumn> columns;
  for (const graph::DType dtype : dtypes) {
    columns.push_back(compareIn(comparison, dtype, task));
    const DiffColumn& column = columns.back();
    RETURN_IF_ERROR(task.check());
    if (!column.diff && dtypes.size() == 1) return tl::unexpected(column.diff.error());
    if (!column.diff) console.note(column.dtype + ": " + column.diff.error().message);
    if (!column.note.empty()) console.note(column.dtype + ": " + column.note);
    if (column.diff && !column.diff->normsReason.empty()) {
      console.note("the norms could not be compared: " + column.diff->normsReason);
    }
  }
  return columns;
}

Result<Exit> runDiff(const DiffOptions& options, const Call& call) {
  Console& console = call.console;
  const Task task = console.task(call.stop());
  ASSIGN_OR_RETURN(const auto dtypes, dtypesOf(options.dtypes));
  formats::RunSettings settings;
  RETURN_IF_ERROR(formats::setDevice(settings, options.device));
  service::Service serviceA, serviceB;
  serviceB.setRules(call.rules.beside());
  ASSIGN_OR_RETURN(const auto a, openModel(serviceA, options.a, options.inputs, call, task));
  RETURN_IF_ERROR(requireRunnable(options.a, a.analysis));
  noteAssumedInputs(a.analysis, console);
  ASSIGN_OR_RETURN(const auto b, serviceB.open(options.b, task));

  const formats::Model& model = *serviceA.model();
  ASSIGN_OR_RETURN(auto values, valuesNamed(model.graph(), options.values));
  ASSIGN_OR_RETURN(auto batches, run::batchesLike(serviceA.inputs(), options.batches, options.seed));
  Comparison comparison{
      model,
      *serviceB.model(),
      analysis::findNorms(model.graph()).layerNorms,
      std::move(batches),
      {.reference = nullptr, .values = std::move(values), .limit = options.failAbove, .settings = settings},
      nullptr};
  if (options.rounding) {
    ASSIGN_OR_RETURN(comparison.exact, model.toFloat64());
  }
  ASSIGN_OR_RETURN(const auto columns, compareInAll(comparison, dtypes, console, task));
  for (const std::string& line : diffLines(columns)) console.print(line);
  const std::string above = options.failAbove ? whyAbove(columns, *options.failAbove) : std::string();
  if (!above.empty()) console.note(above);
  return console.finish([&] { return diffReport(columns, options.seed); }, above.empty() ? Exit::Done : Exit::NotDone);
}

}  // namespace

Declared declareDiff(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<DiffOptions>();
  app.add_option("a", options->a, "The first model, which gives the inputs and the names")->required()->type_name("A");
  app.add_option("b", options->b, "The second model")->required()->type_name("B");
  options->inputs.addTo(app);
  app.add_option("--dtype", options->dtypes,
                 "Both models in this type, or in several: float64,float32,float16,bfloat16; else as the files are")
      ->type_name("TYPES");
  app.add_option("--device", options->device, kDeviceHelp)->capture_default_str();
  app.add_option("--batches", options->batches,
                 "Number of input sets: the first as given, others drawn like it; the worst counts")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N");
  app.add_option("--seed", options->seed, "Seed of the drawn input sets")->type_name("N");
  app.add_flag("--rounding", options->rounding, "Also the rounding error of A in its type: against its float64 copy");
  app.add_option("--value", options->values, "Also this value of A, against the one of the same name in B")
      ->type_name("NAME")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option(
         "--fail-above", options->failAbove,
         "Exit with 1 where an output's max_rel is above this, in the first type, and where nothing of an output "
         "can be compared: it is not finite anywhere in both models, or no output has elements")
      ->check(notNegative())
      ->type_name("REL");
  return {[options](const Call& call) { return runDiff(*options, call); },
          [options] {
            NamedFiles files = namedFiles({options->a, options->b}, options->inputs);
            files.gpu = options->device.starts_with("cuda");
            return files;
          },
          {}};
}

}  // namespace normlens::engine
