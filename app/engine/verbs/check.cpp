
#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "core/base/formatted.h"
#include "core/service/model_check.h"

namespace normlens::engine {
namespace {

using nlohmann::json;

struct CheckOptions {
  std::string model;
  bool graph = false;
  InputOptions inputs;
};

void print(const std::vector<service::CheckStage>& stages, Console& console) {
  for (const service::CheckStage& stage : stages) {
    console.print(formatted("%10.1f ms", stage.ms) + "  " + stage.name + ": " +
                  (stage.error ? "failed: " + stage.error->message : stage.says));
    for (const service::CheckStep& step : stage.steps)
      console.print("    " + formatted("%10.1f ms", step.ms) + "  " + step.name);
  }
}

json asJson(const std::vector<service::CheckStage>& stages) {
  json list = json::array();
  for (const service::CheckStage& stage : stages) {
    json steps = json::array();
    for (const service::CheckStep& step : stage.steps) steps.push_back({{"name", step.name}, {"ms", step.ms}});
    json row{{"name", stage.name}, {"ms", stage.ms}, {"says", stage.says}, {"steps", std::move(steps)}};
    row["error"] = stage.error ? json(stage.error->message) : json(nullptr);
    list.push_back(std::move(row));
  }
  return list;
}

Result<Exit> runCheck(const CheckOptions& options, const Call& call) {
  ASSIGN_OR_RETURN(const auto inputs, options.inputs.choice());
  service::Service service;
  service.setRules(call.rules);
  const auto check = service::checkModel(service, options.model, inputs, call.console.task(call.stop()));
  const std::optional<Error>& error = check.stages.back().error;
  if (error && error->code == ErrorCode::Cancelled) return tl::unexpected(inFile(options.model, *error));
  print(check.stages, call.console);
  const bool withGraph = options.graph && !check.graph.empty();
  if (withGraph) call.console.print(check.graph);
  const auto report = [&] {
    return json{{"model", options.model},
                {"stages", asJson(check.stages)},
                {"graph", withGraph ? json(check.graph) : json(nullptr)}};
  };
  return call.console.finish(report, error ? exitFor(error->code) : Exit::Done);
}

}  // namespace

Declared declareCheck(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<CheckOptions>();
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  app.add_flag("--graph", options->graph, "Print the graph as NormLens reads it");
  options->inputs.addTo(app);
  return {[options](const Call& call) { return runCheck(*options, call); },
          [options] { return namedFiles({options->model}, options->inputs); },
          {}};
}

}  // namespace normlens::engine
