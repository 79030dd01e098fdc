#include "tests/ui/screens/scenes.h"

#include <QAbstractButton>
#include <QAction>
#include <QCheckBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <csignal>

#include "tests/support/wait_for_layout.h"
#include "tests/ui/shell/presented.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/learn/figure.h"
#include "ui/models/difference_table.h"
#include "ui/models/inputs_model.h"
#include "ui/session/forced_errors.h"
#include "ui/session/norm_costs.h"
#include "ui/session/probe_run.h"
#include "ui/session/session.h"
#include "ui/session/streams.h"
#include "ui/widgets/delegates/edit_delegate.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/segmented.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/inspector/weight_view.h"
#include "ui/window/learn/lessons_page.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::screens {
namespace {

bool waitFor(const std::function<bool()>& there) {
  constexpr int kPatienceMs = 120'000;
  const bool came = QTest::qWaitFor(there, kPatienceMs);
  if (!came) qWarning("A scene waited in vain.");
  return came;
}

void open(Stage& stage, const QString& model) {
  ui::Session& session = *stage.window.session();
  stage.window.openFile(model);
  (void)waitFor([&] { return session.plan().has_value() && !session.busy(); });
  test::waitForLayout(*stage.window.workspace()->graph()->view(), 5000);
}

void trigger(Stage& stage, const char* action) {
  if (auto* found = stage.window.findChild<QAction*>(QLatin1String(action))) found->trigger();
}

void fold(Stage& stage) {
  stage.window.session()->fold();
  (void)waitFor([&] { return stage.window.session()->foldResult().has_value(); });
}

using ui::BottomPanel;

void idle(Stage& stage) {
  (void)waitFor([&] { return stage.window.session()->plan().has_value() && !stage.window.session()->busy(); });
}

void showTab(Stage& stage, BottomPanel::Tab tab) { stage.window.workspace()->bottom()->showTab(tab); }

void selectNorm(Stage& stage, int norm) {
  ui::Session& session = *stage.window.session();
  session.selection()->selectNorm(norm);
  (void)waitFor([&] { return session.selection()->zeroMean().has_value(); });
  QTest::qWait(500);
}

void startTraining(Stage& stage) {
  trigger(stage, "laboratory");
  auto* start = stage.window.findChild<QPushButton*>(QStringLiteral("labStart_equivalence"));
  (void)waitFor([&] { return start->isEnabled(); });
  start->click();
}

ui::WeightView* shownWeight(Stage& stage) {
  for (auto* view : stage.window.findChildren<ui::WeightView*>()) {
    if (view->isVisible()) return view;
  }
  return nullptr;
}

void selectOperator(Stage& stage, const std::string& label) {
  for (const protocol::GraphNode& node : stage.window.session()->index().graph().nodes) {
    if (node.label != label) continue;
    stage.window.session()->selection()->selectNode(node.id);
    break;
  }
}

void afterThePlan(Stage& stage) {
  open(stage, stage.model);
  selectNorm(stage, 3);
  if (ui::WeightView* view = shownWeight(stage)) {
    auto* when = view->findChild<ui::Segmented*>(QStringLiteral("weightWhen"));
    QTest::mouseClick(when, Qt::LeftButton, {}, QPoint(when->width() * 3 / 4, when->height() / 2));
  }
}

// Names as exporters make them, of which a good part differs.
void longNames(Stage& stage) {
  static const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("whisper.pt"));
  QFile::copy(stage.model, path);
  open(stage, path);
  selectNorm(stage, 3);
}

// Two buttons in the inspector's foot, and a limit in words in the proof.
void aNormThatStays(Stage& stage) {
  open(stage, stage.model);
  stage.window.session()->choices()->keepNorms({2}, true);
  idle(stage);
  fold(stage);
  selectNorm(stage, 2);
  showTab(stage, BottomPanel::Proof);
}

void editsTurnedOff(Stage& stage) {
  open(stage, stage.model);
  stage.window.session()->choices()->keepNorms({2, 4}, true);
  idle(stage);
  showTab(stage, BottomPanel::Plan);
  QTest::qWait(200);
  auto* table = stage.window.findChild<QTableView*>(QStringLiteral("planTable"));
  table->scrollToBottom();
}

void foldedNorm(Stage& stage) {
  open(stage, stage.model);
  fold(stage);
  selectNorm(stage, 0);
}

// Its blocker out of sight, and all that is measured there.
void whyNot(Stage& stage) {
  open(stage, stage.other);
  fold(stage);
  idle(stage);
  selectNorm(stage, 5);
  ui::Session& session = *stage.window.session();
  showTab(stage, BottomPanel::Differences);
  auto* subject = stage.window.findChild<ui::Segmented*>(QStringLiteral("differenceSubject"));
  QTest::mouseClick(subject, Qt::LeftButton, {}, QPoint(subject->width() * 3 / 4, subject->height() / 2));
  stage.window.findChild<QAbstractButton*>(QStringLiteral("forcedGo"))->click();
  (void)waitFor([&] { return !session.forcedErrors()->running() && session.costs()->of(5).has_value(); });
  graphview::GraphView* view = stage.window.workspace()->graph()->view();
  view->setZoom(1);
  const auto& lighting = view->lighting();
  if (lighting.chosenBox() >= 0) view->centerOn(view->scene().box(lighting.chosenBox()).rect.center());
}

// The pointer on the tick of the first edit of a weight behind the tables.
void previewOfAnEdit(Stage& stage) {
  foldedNorm(stage);
  showTab(stage, BottomPanel::Plan);
  QTest::qWait(200);
  auto* table = stage.window.findChild<QTableView*>(QStringLiteral("planTable"));
  const QRect cell = table->visualRect(table->model()->index(2, 0));
  QTest::mouseMove(table->viewport(), ui::EditDelegate::tickArea(cell).center());
  (void)waitFor([&] { return stage.window.session()->preview()->fall().has_value(); });
  QTest::qWait(700);  // and what a centering would do in its place
}

void anEditLeftOut(Stage& stage) {
  previewOfAnEdit(stage);
  auto* table = stage.window.findChild<QTableView*>(QStringLiteral("planTable"));
  const QRect cell = table->visualRect(table->model()->index(2, 0));
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, ui::EditDelegate::tickArea(cell).center());
  idle(stage);
  QTest::qWait(500);
}

void inputsWrong(Stage& stage) {
  open(stage, stage.model);
  stage.window.workspace()->showPlace(ui::Workspace::Place::Inputs);
  auto* table = stage.window.findChild<QTableView*>(QStringLiteral("inputsTable"));
  table->model()->setData(table->model()->index(0, ui::InputsModel::Shape), QStringLiteral("2, -3"), Qt::EditRole);
}

void palette(Stage& stage) {
  open(stage, stage.model);
  trigger(stage, "command");
  QTest::keyClicks(stage.window.findChild<QLineEdit*>(QStringLiteral("paletteField")), QStringLiteral("fol"));
}

void normTable(Stage& stage) {
  open(stage, stage.other);
  stage.window.workspace()->showPlace(ui::Workspace::Place::Norms);
  stage.window.findChild<QCheckBox*>(QStringLiteral("normTableGrouped"))->setChecked(true);
}

void largeText(Stage& stage) {
  open(stage, stage.model);
  selectNorm(stage, 5);
  stage.window.findChild<QSpinBox*>(QStringLiteral("preferFont"))->setValue(15);
}

void engineLost(Stage& stage) {
  open(stage, stage.model);
  ::kill(static_cast<pid_t>(stage.window.engine()->processId()), SIGKILL);
  (void)waitFor([&] { return stage.window.engine()->state() == ui::EngineClient::State::Dead; });
}

void engineSilent(Stage& stage) {
  open(stage, stage.model);
  selectNorm(stage, 3);
  stage.window.session()->fold();
  (void)waitFor([&] { return stage.window.session()->job().fraction > 0.3; });
  ::kill(static_cast<pid_t>(stage.window.engine()->processId()), SIGSTOP);
  (void)waitFor([&] { return stage.window.engine()->silence() >= 7; });
}

// Goes to a change by its number.
void compared(Stage& stage, int number) {
  open(stage, stage.model);
  fold(stage);
  trigger(stage, "compareFolded");
  const auto graphs = [&] {
    return stage.window.findChild<QWidget*>(QStringLiteral("compare"))->findChildren<graphview::GraphView*>();
  };
  (void)waitFor([&] { return std::ranges::all_of(graphs(), [](auto* graph) { return graph->isLaidOut(); }); });
  const auto* summary = stage.window.findChild<ui::ElidedLabel*>(QStringLiteral("compareSummary"));
  (void)waitFor([&] { return !summary->accessibleName().contains(QStringLiteral("Comparing the weights")); });
  for (int change = 0; change < number; ++change) {
    QTest::keyClick(&stage.window, Qt::Key_F8);
    QTest::qWait(150);
  }
  QTest::qWait(1200);
}

void planVariants(Stage& stage) {
  open(stage, stage.other);
  fold(stage);
  showTab(stage, BottomPanel::Plan);
  auto* view = stage.window.findChild<ui::Segmented*>(QStringLiteral("planView"));
  view->setCurrent(1);
  Q_EMIT view->chosen(1);
  const auto* table = stage.window.findChild<QTableView*>(QStringLiteral("variantTable"));
  (void)waitFor([&] { return table->model()->rowCount() == 4; });
}

void groupPage(Stage& stage) {
  open(stage, stage.other);
  ui::Session& session = *stage.window.session();
  for (const protocol::GraphScope& scope : session.index().graph().scopes) {
    if (scope.path == "layer.1" || scope.path == "h.1") session.selection()->selectGroup(scope.id);
  }
}

void types(Stage& stage) {
  open(stage, stage.model);
  auto* mode = stage.window.findChild<ui::Segmented*>(QStringLiteral("graphMode"));
  mode->choose(2);
  stage.window.workspace()->graph()->view()->setZoom(1);
}

// Measured and colored by time; with room for the graph.
void costs(Stage& stage) {
  open(stage, stage.model);
  fold(stage);
  idle(stage);
  ui::Session& session = *stage.window.session();
  session.measure();
  (void)waitFor([&] { return session.measurements()->last().has_value() && !session.busy(); });
  auto* mode = stage.window.findChild<ui::Segmented*>(QStringLiteral("graphMode"));
  mode->choose(3);
  (void)waitFor([&] { return session.costs()->of(0).has_value(); });
}

void costsCompared(Stage& stage) {
  costs(stage);
  trigger(stage, "compareFolded");
  auto* button = stage.window.findChild<QAbstractButton*>(QStringLiteral("compareCosts"));
  (void)waitFor([&] { return button->isEnabled(); });
  button->click();
  QTest::qWait(1200);
}

// Both files are held over the window, and let go there.
void drag(Stage& stage, bool drop) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(stage.model), QUrl::fromLocalFile(stage.other)});
  QDragEnterEvent enter({100, 100}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QCoreApplication::sendEvent(&stage.window, &enter);
  if (!drop) return;
  QDropEvent event({100, 100}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QCoreApplication::sendEvent(&stage.window, &event);
}

void dropping(Stage& stage) {
  open(stage, stage.model);
  drag(stage, false);
}

void comparedOther(Stage& stage) {
  drag(stage, true);
  const auto summary = [&] {
    const auto* label = stage.window.findChild<ui::ElidedLabel*>(QStringLiteral("compareSummary"));
    return label != nullptr ? label->accessibleName() : QStringLiteral("Waiting");
  };
  (void)waitFor([&] {
    return !summary().startsWith(QStringLiteral("Waiting")) &&
           !summary().contains(QStringLiteral("Comparing the weights"));
  });
  QTest::qWait(1200);
}

void notConfirmed(Stage& stage) {
  open(stage, stage.model);
  trigger(stage, "stop");
  const ui::Session& session = *stage.window.session();  // its button may be in a menu
  (void)waitFor([&] { return session.early() && session.confirmation().kind == ui::JobKind::None; });
}

// In all four precisions; `view`: what is shown beside the table.
void differences(Stage& stage, const QString& model, int view) {
  open(stage, model);
  if (model == stage.other) stage.window.session()->choices()->setPolicy(Policy::Paper);
  idle(stage);
  fold(stage);
  idle(stage);
  showTab(stage, BottomPanel::Differences);
  for (const char* type : {"difference_float16", "difference_bfloat16"}) {
    stage.window.findChild<QCheckBox*>(QLatin1String(type))->setChecked(true);
  }
  auto* go = stage.window.findChild<QAbstractButton*>(QStringLiteral("differenceGo"));
  go->click();
  auto* figures = stage.window.findChild<QTableView*>(QStringLiteral("differenceFigures"));
  (void)waitFor([&] {
    return figures->model()->columnCount() == ui::DifferenceMatrix::FirstType + 4 &&
           go->text() == QStringLiteral("Compare");
  });
  auto* shown = stage.window.findChild<ui::Segmented*>(QStringLiteral("differenceView"));
  QTest::mouseClick(shown, Qt::LeftButton, {}, QPoint(shown->width() * (2 * view + 1) / 6, shown->height() / 2));
  selectNorm(stage, 3);
}

// Written to a place that is gone afterwards.
void narrowed(Stage& stage) {
  open(stage, stage.model);
  stage.window.workspace()->showSheet(ui::ExportSheet::Kind::Streams);
  ui::Session& session = *stage.window.session();
  (void)waitFor([&] { return session.streams()->obstacle().isEmpty(); });
  const QTemporaryDir folder(QDir::temp().filePath(QStringLiteral("n-XXXXXX")));  // short: the bar tells it
  session.narrowTo(folder.filePath(QStringLiteral("gpt2.narrow.pt")));
  (void)waitFor([&] { return session.streams()->result().has_value(); });
}

void exportSheet(Stage& stage) {
  trigger(stage, "export");
  (void)waitFor([&] { return stage.window.findChild<QAbstractButton*>(QStringLiteral("exportPlace5")) != nullptr; });
  QTest::qWait(200);
}

void streams(Stage& stage, const QString& model) {
  open(stage, model);
  stage.window.workspace()->showSheet(ui::ExportSheet::Kind::Streams);
  (void)waitFor([&] { return stage.window.session()->streams()->report().has_value(); });
}

// NOLINTNEXTLINE(readability-function-size): a table
QVector<Scene> windowScenes() {
  const auto at = [](BottomPanel::Tab tab) {
    return [tab](Stage& stage) {
      open(stage, stage.model);
      showTab(stage, tab);
    };
  };
  return {
      {QStringLiteral("welcome"), [](Stage&) { QTest::qWait(300); }},
      {QStringLiteral("opening"),
       [](Stage& stage) {
         stage.window.openFile(stage.model);
         QTest::qWait(1800);
       },
       {QStringLiteral("--slow"), QStringLiteral("open=60000")}},
      {QStringLiteral("plan"), at(BottomPanel::Plan)},
      {QStringLiteral("plan_variants"), planVariants},
      {QStringLiteral("plan_edits_off"), editsTurnedOff},
      {QStringLiteral("state_folded"), foldedNorm},
      {QStringLiteral("state_preview"), previewOfAnEdit, {}, false},
      {QStringLiteral("state_unticked"), anEditLeftOut, {}, false},
      {QStringLiteral("state_why_not"), whyNot, {}, false},
      {QStringLiteral("cost"), costs},
      {QStringLiteral("cost_compared"), costsCompared},
      {QStringLiteral("norm_table"), normTable},
      {QStringLiteral("inputs"),
       [](Stage& stage) {
         open(stage, stage.model);
         stage.window.workspace()->showPlace(ui::Workspace::Place::Inputs);
       }},
      {QStringLiteral("graph_only"),
       [](Stage& stage) {
         open(stage, stage.model);
         trigger(stage, "graphOnly");
       }},
      {QStringLiteral("inputs_wrong"), inputsWrong},
      {QStringLiteral("long_names"), longNames},
      {QStringLiteral("norm_that_stays"), aNormThatStays},
      {QStringLiteral("proof"),
       [](Stage& stage) {
         open(stage, stage.model);
         fold(stage);
       }},
      {QStringLiteral("differences_empty"), at(BottomPanel::Differences)},
      {QStringLiteral("differences"), [](Stage& stage) { differences(stage, stage.model, 0); }},
      {QStringLiteral("differences_figures"), [](Stage& stage) { differences(stage, stage.model, 1); }},
      {QStringLiteral("differences_tensors"), [](Stage& stage) { differences(stage, stage.model, 2); }},
      {QStringLiteral("differences_paper"), [](Stage& stage) { differences(stage, stage.other, 0); }},
      {QStringLiteral("benchmark_empty"), at(BottomPanel::Benchmark)},
      {QStringLiteral("export_folded"),
       [](Stage& stage) {
         open(stage, stage.model);
         fold(stage);
         exportSheet(stage);
       }},
      {QStringLiteral("export_before"),
       [](Stage& stage) {
         open(stage, stage.other);
         exportSheet(stage);
       }},
      {QStringLiteral("streams"), [](Stage& stage) { streams(stage, stage.model); }},
      {QStringLiteral("streams_refused"), [](Stage& stage) { streams(stage, stage.other); }},
      {QStringLiteral("streams_written"), narrowed},
      {QStringLiteral("words"),
       [](Stage& stage) {
         open(stage, stage.model);
         stage.window.workspace()->showWords(QStringLiteral("gamma_beta"));
       }},
      {QStringLiteral("probe"),
       [](Stage& stage) {
         open(stage, stage.model);
         trigger(stage, "probe");
         (void)waitFor([&] { return stage.window.session()->probe()->opened().has_value(); });
       }},
      {QStringLiteral("atlas"), [](Stage& stage) { trigger(stage, "atlas"); }},
      {QStringLiteral("probe_both"),
       [](Stage& stage) {
         open(stage, stage.model);
         fold(stage);
         trigger(stage, "probe");
         const auto* probe = stage.window.session()->probe();
         (void)waitFor([&] { return probe->opened().has_value(); });
         auto* model = stage.window.findChild<ui::Segmented*>(QStringLiteral("probeModel"));
         model->setCurrent(2);
         Q_EMIT model->chosen(2);
         (void)waitFor([&] { return probe->folded().has_value(); });
         stage.window.findChild<QPushButton*>(QStringLiteral("probeMeasure"))->click();
         (void)waitFor([&] { return stage.window.session()->swaps()->figures().has_value(); });
         stage.window.findChild<QTableView*>(QStringLiteral("probeTable"))->selectRow(2);
       }},
      {QStringLiteral("lab_empty"), [](Stage& stage) { trigger(stage, "laboratory"); }},
      {QStringLiteral("lab_transformer"),
       [](Stage& stage) {
         trigger(stage, "laboratory");
         stage.window.findChild<QAbstractButton*>(QStringLiteral("labSettings_crms"))->click();
       }},
      {QStringLiteral("lab_training"),
       [](Stage& stage) {
         startTraining(stage);
         auto* bar = stage.window.findChild<QProgressBar*>(QStringLiteral("labProgress"));
         (void)waitFor([&] { return bar->value() > 600; });
       },
       {QStringLiteral("--round"), QStringLiteral("60")}},
      {QStringLiteral("lab_done"),
       [](Stage& stage) {
         startTraining(stage);
         auto* says = stage.window.findChild<QLabel*>(QStringLiteral("labSays1"));
         (void)waitFor([&] { return !says->text().isEmpty(); });
       }},
      {QStringLiteral("log"),
       [](Stage& stage) {
         open(stage, stage.model);
         trigger(stage, "showLog");
       }},
      {QStringLiteral("norm_page"),
       [](Stage& stage) {
         open(stage, stage.model);
         selectNorm(stage, 5);
       }},
      {QStringLiteral("norm_blocked"),
       [](Stage& stage) {
         open(stage, stage.other);
         selectNorm(stage, 4);
       }},
      {QStringLiteral("weight_after"), afterThePlan},
      {QStringLiteral("node_page"),
       [](Stage& stage) {
         open(stage, stage.model);
         selectOperator(stage, "gelu");
       }},
      {QStringLiteral("group_page"), groupPage},
      {QStringLiteral("types"), types},
      {QStringLiteral("about"), [](Stage& stage) { trigger(stage, "about"); }},
      {QStringLiteral("dropping"), dropping},
      {QStringLiteral("not_confirmed"), notConfirmed, {QStringLiteral("--early"), QStringLiteral("60000")}},
      {QStringLiteral("palette"), palette},
      {QStringLiteral("preferences"), [](Stage& stage) { trigger(stage, "preferences"); }},
      {QStringLiteral("large_text"), largeText},
      {QStringLiteral("compared"), [](Stage& stage) { compared(stage, 6); }},
      {QStringLiteral("compared_other"), comparedOther},
      {QStringLiteral("compared_weight"), [](Stage& stage) { compared(stage, 1); }},
      {QStringLiteral("engine_lost"), engineLost},
      {QStringLiteral("engine_silent"), engineSilent, {QStringLiteral("--slow"), QStringLiteral("fold=3000")}, false},
      {QStringLiteral("folding"),
       [](Stage& stage) {
         open(stage, stage.model);
         stage.window.session()->fold();
         QTest::qWait(2500);
       },
       {QStringLiteral("--slow"), QStringLiteral("fold=60000")}},
  };
}

// The benchmark's page: one measurement and several, and each of its charts.

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

// Scenes of the lessons, by their own data.

constexpr QSize kRoom(1280, 720);  // the least that is presented on
constexpr int kReplyMs = 150;      // for what a figure asks the engine

// As it is once what moves has arrived; a film in its middle.
void settle(ui::Figure& figure, const ui::LessonStep& step) {
  figure.showState(step.state, ui::Motion::Cut);
  QTest::qWait(kReplyMs);
  if (const ui::Film film = figure.film(); film.length > 0) figure.showTime(film.length / 2);
  (void)waitFor([&] { return figure.isSettled(); });
}

ui::LessonsPage& goTo(Stage& stage, const QString& link) {
  open(stage, stage.model);
  trigger(stage, "lessons");
  auto* page = stage.window.findChild<ui::LessonsPage*>();
  page->walk()->goTo(link);
  return *page;
}

void read(Stage& stage, const QString& link) {
  ui::LessonsPage& page = goTo(stage, link);
  settle(*page.figure(), page.walk()->current());
}

void present(Stage& stage, const QString& link) {
  ui::LessonsPage& page = goTo(stage, link);
  page.present();
  ui::Presenter* room = test::presenter();
  room->showNormal();
  room->setGeometry(QRect(QPoint(), kRoom));
  settle(*room->figure(), page.walk()->current());
  stage.picture = room;
}

QVector<Scene> lessonScenes() {
  QVector<Scene> scenes;
  for (const ui::Lesson& lesson : ui::bundledLessons()) {
    for (const ui::LessonStep& step : lesson.steps) {
      const QString link = lesson.name + u'/' + step.name, name = lesson.name + u'_' + step.name;
      scenes << Scene{QStringLiteral("lesson_") + name, [link](Stage& stage) { read(stage, link); }, {}}
             << Scene{QStringLiteral("present_") + name, [link](Stage& stage) { present(stage, link); }, {}, false};
    }
  }
  return scenes;
}

}  // namespace

QVector<Scene> scenes() { return windowScenes() + benchScenes() + lessonScenes(); }

}  // namespace normlens::screens
