// The benchmark's page: one measurement and several, and each of its charts.
#include <QAbstractButton>
#include <QMenu>
#include <QPushButton>

#include "tests/ui/screens/scenes.h"
#include "ui/session/session.h"

namespace normlens::screens {
namespace {

void measure(Stage& stage, const std::vector<std::string>& sweep) {
  ui::Session& session = *stage.window.session();
  protocol::BenchParams params = session.measurements()->params();
  params.sweep = sweep;
  session.measurements()->setParams(params);
  session.measure();
  (void)waitFor([&] { return session.measurements()->last().has_value() && !session.busy(); });
}

void measured(Stage& stage) {
  open(stage, stage.model);
  fold(stage);
  measure(stage, {});
}

void showKind(Stage& stage, const char* kind) {
  stage.window.findChild<QAbstractButton*>(QLatin1String(kind))->click();
}

// A sweep, one point of which fails, beside an earlier one and a paper's figures.
void measuredOverSizes(Stage& stage) {
  open(stage, stage.model);
  fold(stage);
  measure(stage, {"seq=64,256,1024"});
  measure(stage, {"seq=64,256,1024,4096,16384"});
  showKind(stage, "benchSpeedup");
  const QMenu* beside = stage.window.findChild<QPushButton*>(QStringLiteral("benchBeside"))->menu();
  beside->actions().first()->menu()->actions()[1]->trigger();
  beside->actions().last()->menu()->actions()[2]->trigger();
}

// The same with the table, or another kind of chart.
std::function<void(Stage&)> ofKind(void (*measure)(Stage&), const char* button) {
  return [measure, button](Stage& stage) {
    measure(stage);
    showKind(stage, button);
  };
}

}  // namespace

QVector<Scene> benchScenes() {
  return {
      {QStringLiteral("benchmark"), measured},
      {QStringLiteral("benchmark_sizes"), measuredOverSizes},
      {QStringLiteral("benchmark_table"), ofKind(measuredOverSizes, "benchTableButton")},
      {QStringLiteral("benchmark_distribution"), ofKind(measured, "benchDistribution")},
      {QStringLiteral("benchmark_ops"), ofKind(measured, "benchOps")},
      {QStringLiteral("benchmark_break_even"), ofKind(measured, "benchBreakEven")},
      {QStringLiteral("benchmark_live"),
       [](Stage& stage) {
         open(stage, stage.model);
         fold(stage);
         trigger(stage, "measure");
         (void)waitFor([&] {
           const auto& live = stage.window.session()->measurements()->live().result();
           return live && live->points.front().rounds.size() > 8;
         });
       },
       {QStringLiteral("--round"), QStringLiteral("300")}},
  };
}

}  // namespace normlens::screens
