#include "core/service/model_check.h"

#include <algorithm>
#include <mutex>

#include "core/base/plural.h"
#include "core/base/stopwatch.h"
#include "core/graph/text.h"
#include "core/service/describe/describe.h"

namespace normlens::service {
namespace {

// The stages that a model goes through, one after the other, and how long each of them and of its steps took.
class Walk {
 public:
  explicit Walk(Task task) : task_(std::move(task)) {}

  // function: Result<std::string>(const Task&), the string is what it found. False: it failed.
  template <class Function>
  bool stage(std::string name, const Function& function) {
    CheckStage& stage = stages_.emplace_back();
    stage.name = std::move(name);
    const Stopwatch watch;
    const Result<std::string> said = function(Task{[this](std::string_view what, double fraction) {
                                                     step(what);
                                                     task_.report(what, fraction);
                                                   },
                                                   task_.stop});
    stage.ms = watch.ms();
    endStep();
    if (!said) stage.error = said.error();
    stage.says = said.value_or(std::string());
    return said.has_value();
  }
  [[nodiscard]] std::vector<CheckStage> take() { return std::move(stages_); }

 private:
  void step(std::string_view what) {
    const std::lock_guard lock(mutex_);
    std::vector<CheckStep>& steps = stages_.back().steps;
    if (running_ && steps[*running_].name == what) return;
    close();
    const auto before = std::ranges::find(steps, what, &CheckStep::name);
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
  std::vector<CheckStage> stages_;
  std::mutex mutex_;  // a task reports from several threads
  std::optional<size_t> running_;
  Stopwatch since_;
};

void walk(Walk& way, Service& service, const std::filesystem::path& path, const InputChoice& inputs) {
  const bool opened = way.stage("open", [&](const Task& task) -> Result<std::string> {
    ASSIGN_OR_RETURN(const auto info, service.open(path, task));
    return info.format + ", " + std::to_string(info.file_bytes) + " bytes" +
           (info.note.empty() ? "" : ", " + info.note);
  });
  if (!opened) return;
  const auto soundGraph = [&](const Task&) -> Result<std::string> {
    const graph::Graph& graph = service.model()->graph();
    RETURN_IF_ERROR(graph::checkGraph(graph));
    return plural(graph.nodes.size(), "node") + ", " + plural(graph.values.size(), "value") + ", " +
           plural(graph.constants.size(), "constant");
  };
  if (!way.stage("check", soundGraph)) return;
  std::string notRun;
  const bool analyzed = way.stage("analyze", [&](const Task& task) -> Result<std::string> {
    service.setInputs(inputs);
    ASSIGN_OR_RETURN(const auto analysis, service.analyze(task));
    notRun = analysis.probe_error;
    return inWords(analysis.totals) + (notRun.empty() ? "" : "; not run: " + notRun);
  });
  if (!analyzed || !way.stage("check", soundGraph)) return;
  const bool planned = way.stage("plan", [&](const Task& task) -> Result<std::string> {
    ASSIGN_OR_RETURN(const auto plan, service.plan({}, task));
    return nameOf(plan.policy) + ": " + plural(plan.folded.size(), "norm") + ", " + plural(plan.edits.size(), "edit");
  });
  if (!planned) return;
  way.stage("fold", [&](const Task& task) -> Result<std::string> {
    protocol::FoldParams params;
    params.verify = notRun.empty();
    ASSIGN_OR_RETURN(const auto fold, service.fold(params, task));
    if (!fold.verify) return fold.reason.empty() ? "folded, not proved: it does not run" : fold.reason;
    if (!fold.ok) return fail(ErrorCode::Refused, fold.reason);
    return std::string("exact");
  });
}

}  // namespace

ModelCheck checkModel(Service& service, const std::filesystem::path& path, const InputChoice& inputs,
                      const Task& task) {
  Walk way(task);
  walk(way, service, path, inputs);
  const formats::Model* const model = service.model();
  return {way.take(), model != nullptr ? graph::printGraph(model->graph()) : std::string()};
}

}  // namespace normlens::service
