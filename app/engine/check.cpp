#include <cstdio>
#include <mutex>

#include "app/engine/model_options.h"
#include "app/engine/verbs.h"
#include "core/base/plural.h"
#include "core/base/stopwatch.h"
#include "core/graph/text.h"

namespace normlens::engine {
namespace {

using nlohmann::json;

struct Options {
  std::string model;
  bool graph = false;
  InputOptions inputs;
};

struct Step {
  std::string name;
  double ms = 0;
};

struct Stage {
  std::string name, says;
  std::optional<Error> error;
  double ms = 0;
  std::vector<Step> steps;  // as the engine reports them; one that comes again goes on
};

// The stages that a model goes through, one after the other, and how long each of them and of its steps took.
class Walk {
 public:
  explicit Walk(Task task) : task_(std::move(task)) {}

  // function: Result<std::string>(const Task&), the string says what it found. False: it failed.
  template <class Function>
  bool stage(std::string name, const Function& function) {
    Stage& stage = stages_.emplace_back();
    stage.name = std::move(name);
    const Stopwatch watch;
    const Result<std::string> said = function(Task{[this](std::string_view what, double fraction) {
                                                     step(what);
                                                     task_.report(what, fraction);
                                                   },
                                                   task_.stop});
    stage.ms = watch.ms();
    endStep();
    said ? static_cast<void>(stage.says = *said) : static_cast<void>(stage.error = said.error());
    return said.has_value();
  }
  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }

 private:
  void step(std::string_view what) {
    const std::lock_guard lock(mutex_);
    std::vector<Step>& steps = stages_.back().steps;
    if (running_ && steps[*running_].name == what) return;
    close();
    const auto before = std::ranges::find(steps, what, &Step::name);
    running_ = static_cast<size_t>(before - steps.begin());
    if (before == steps.end()) steps.push_back({std::string(what)});
    since_ = {};
  }
  void endStep() {
    const std::lock_guard lock(mutex_);
    close();
    running_.reset();
  }
  void close() {
    if (running_) stages_.back().steps[*running_].ms += since_.ms();
  }

  Task task_;
  std::vector<Stage> stages_;
  std::mutex mutex_;  // a task reports from several threads
  std::optional<size_t> running_;
  Stopwatch since_;
};

void walk(Walk& way, service::Service& service, const Options& options) {
  const bool opened = way.stage("open", [&](const Task& task) -> Result<std::string> {
    const auto info = service.open(options.model, task);
    if (!info) return tl::unexpected(info.error());
    return info->format + ", " + std::to_string(info->file_bytes) + " bytes" +
           (info->note.empty() ? "" : ", " + info->note);
  });
  if (!opened) return;
  const auto soundGraph = [&](const Task&) -> Result<std::string> {
    const graph::Graph& graph = service.model()->graph();
    if (const Status sound = graph::checkGraph(graph); !sound) return tl::unexpected(sound.error());
    return plural(graph.nodes.size(), "node") + ", " + plural(graph.values.size(), "value") + ", " +
           plural(graph.constants.size(), "constant");
  };
  if (!way.stage("check", soundGraph)) return;
  std::string notRun;
  const bool analyzed = way.stage("analyze", [&](const Task& task) -> Result<std::string> {
    auto choice = options.inputs.choice();
    if (!choice) return tl::unexpected(choice.error());
    service.setInputs(std::move(*choice));
    const auto analysis = service.analyze(task);
    if (!analysis) return tl::unexpected(analysis.error());
    notRun = analysis->probe_error;
    const protocol::Totals& totals = analysis->totals;
    return plural(totals.layer_norms, "LayerNorm") + ", " + std::to_string(totals.free) + " free, " +
           std::to_string(totals.with_centering) + " with centering, " + std::to_string(totals.blocked) + " blocked" +
           (notRun.empty() ? "" : "; not run: " + notRun);
  });
  if (!analyzed || !way.stage("check", soundGraph)) return;
  const bool planned = way.stage("plan", [&](const Task& task) -> Result<std::string> {
    const auto plan = service.plan({}, task);
    if (!plan) return tl::unexpected(plan.error());
    return plan->policy + ": " + plural(plan->folded.size(), "norm") + ", " + plural(plan->edits.size(), "edit");
  });
  if (!planned) return;
  way.stage("fold", [&](const Task& task) -> Result<std::string> {
    protocol::FoldParams params;
    params.verify = notRun.empty();
    const auto fold = service.fold(params, task);
    if (!fold) return tl::unexpected(fold.error());
    if (!fold->verify) return fold->reason.empty() ? "folded, not proved: it does not run" : fold->reason;
    if (!fold->ok) return fail(ErrorCode::Refused, fold->reason);
    return std::string("exact");
  });
}

std::string milliseconds(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%10.1f ms", ms);
  return text;
}

void print(const std::vector<Stage>& stages, Console& console) {
  for (const Stage& stage : stages) {
    console.print(milliseconds(stage.ms) + "  " + stage.name + ": " +
                  (stage.error ? "failed: " + stage.error->message : stage.says));
    for (const Step& step : stage.steps) console.print("    " + milliseconds(step.ms) + "  " + step.name);
  }
}

json asJson(const std::vector<Stage>& stages) {
  json list = json::array();
  for (const Stage& stage : stages) {
    json steps = json::array();
    for (const Step& step : stage.steps) steps.push_back({{"name", step.name}, {"ms", step.ms}});
    json row{{"name", stage.name}, {"ms", stage.ms}, {"says", stage.says}, {"steps", std::move(steps)}};
    row["error"] = stage.error ? json(stage.error->message) : json(nullptr);
    list.push_back(std::move(row));
  }
  return list;
}

Exit run(const Options& options, const Call& call) {
  service::Service service;
  service.setRules(call.rules);
  Walk way(call.console.task(call.stop()));
  walk(way, service, options);
  print(way.stages(), call.console);
  const bool withGraph = options.graph && service.model() != nullptr;
  const std::string text = withGraph ? graph::printGraph(service.model()->graph()) : std::string();
  if (withGraph) call.console.print(text);
  const std::optional<Error>& error = way.stages().back().error;
  if (error && error->code == ErrorCode::Cancelled) return call.console.fail(inFile(options.model, *error));
  const auto report = [&] {
    return json{
        {"model", options.model}, {"stages", asJson(way.stages())}, {"graph", withGraph ? json(text) : json(nullptr)}};
  };
  return call.console.finish(report, error ? exitFor(error->code) : Exit::Done);
}

}  // namespace

Declared declareCheck(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  app.add_flag("--graph", options->graph, "Print the graph as it was understood");
  options->inputs.addTo(app);
  return {[options](const Call& call) { return run(*options, call); },
          [options] { return namedFiles({options->model}, options->inputs); },
          {}};
}

}  // namespace normlens::engine
