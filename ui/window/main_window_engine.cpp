// MainWindow: what it does at the signals of the session and the engine, and where a click leads.
#include <QAbstractSpinBox>
#include <QApplication>
#include <QDesktopServices>
#include <QFileInfo>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QStackedWidget>
#include <QTime>
#include <QUrl>
#include <algorithm>
#include <utility>

#include "ui/client/devices.h"
#include "ui/client/engine_client.h"
#include "ui/client/placed_file.h"
#include "ui/graphview/graph_view.h"
#include "ui/models/norm_model.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/plan_preview.h"
#include "ui/session/probe_run.h"
#include "ui/session/project/recent_files.h"
#include "ui/session/project_keeper.h"
#include "ui/session/session.h"
#include "ui/session/streams.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/norm_panel.h"
#include "ui/window/frame/preferences_page.h"
#include "ui/window/frame/search_box.h"
#include "ui/window/frame/status_strip.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/frame/tool_bar.h"
#include "ui/window/main_window.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/report_export.h"
#include "ui/window/workspace/welcome_page.h"
#include "ui/window/workspace/workspace.h"
#include "ui/words/format.h"
#include "ui/words/hint_words.h"

namespace normlens::ui {

namespace {

constexpr int kManyFailedStarts = 3;
// Of a connection that ended: attempts to reach it again, and seconds from one to the next. In all two minutes.
constexpr int kMostReconnections = 8, kLongestWait = 30;
constexpr QLatin1String kEngineTopic("engine"), kLeftOutTopic("left out"), kWorkTopic("work"), kFoldTopic("fold"),
    kDiskTopic("disk");

ProjectView viewOf(const graphview::GraphView& graph) {
  const graphview::ViewPlace place = graph.place();
  return {place.openGroups, place.zoom, place.center.x(), place.center.y(), {}};
}

}  // namespace

void MainWindow::connectEngine() {
  connect(engine_, &EngineClient::logged, this, &MainWindow::log);
  connect(engine_, &EngineClient::stateChanged, this, [this](EngineClient::State state) {
    if (state != EngineClient::State::Dead) reconnection_.stop();
    refresh();
  });
  reconnection_.setSingleShot(true);
  connect(&reconnection_, &QTimer::timeout, session_, &Session::recover);
  connect(engine_, &EngineClient::ready, this, [this] {
    const protocol::EngineInfo& info = engine_->info();
    log(tr("Engine %1 ready, torch %2, on %3.")
            .arg(text(info.version), info.torch.empty() ? tr("none") : text(info.torch), text(info.device)));
    info_->dismissAbout(kEngineTopic);
    if (!info.unconfined.empty() && !std::exchange(toldUnconfined_, true)) {
      log(text(info.unconfined));
      info_->show(InfoBar::Tone::Error, tr("Models are not fully confined on the engine's machine."),
                  text(info.unconfined));
    }
    refresh();
  });
  connect(engine_, &EngineClient::silenceChanged, this, &MainWindow::showSilence);
  connect(session_, &Session::engineLost, this, &MainWindow::showEngineLost);
  connect(session_, &Session::problem, this, [this](const QString& message, const QString& hint) {
    log(message);
    const QString host = engine_->host();  // A path in the message is one of that machine.
    info_->show(InfoBar::Tone::Error, message, host.isEmpty() ? hint : tr("%1 On %2.").arg(hint, host).trimmed());
    info_->setTopic(kWorkTopic);
  });
}

void MainWindow::connectSession() {
  connect(session_, &Session::openFailed, this, [this] { session_->model() ? refresh() : closeModel(); });
  connect(session_, &Session::modelChanged, this, [this] {
    fillSearch();
    if (!session_->model()) return;
    info_->dismissAbout(kWorkTopic);
    info_->dismissAbout(kDiskTopic);
    if (!session_->model()->note.empty() && !info_->asks())  // a bar with a choice is kept
      info_->show(InfoBar::Tone::Message, asSentence(text(session_->model()->note)));
  });
  connect(session_, &Session::analysisChanged, this, [this] {
    if (!session_->analysis()) return fillSearch();
    if (!session_->analysis()->probe_error.empty()) {
      info_->show(InfoBar::Tone::Error,
                  asSentence(tr("The model could not be run: %1").arg(text(session_->analysis()->probe_error))),
                  tr("Shapes are not known, so verdicts may be not known and written-out norms may be missed. The "
                     "graph is complete."),
                  session_->analysis()->never_runs
                      ? std::vector<InfoBar::Way>()
                      : std::vector<InfoBar::Way>{{tr("Give inputs"), [this] { showPanel(ActionPanel::Inputs); }}});
    } else if (!session_->analysis()->note.empty() && !info_->isVisible()) {
      info_->show(InfoBar::Tone::Message, asSentence(text(session_->analysis()->note)));
    }
    fillSearch();
  });
  connect(session_, &Session::stopped, status_, &StatusStrip::showStopped);
  connect(session_, &Session::confirmed, this, &MainWindow::logConfirmation);
  connect(session_, &Session::foldChanged, this, &MainWindow::showFoldResult);
  connect(session_->leftOut(), &LeftOut::changed, this, &MainWindow::showLeftOut);
  connect(session_->measurements(), &Measurements::changed, this, [this] {
    if (session_->measurements()->last()) workspace_->bottom()->showTab(BottomPanel::Benchmark);
  });
  connect(session_, &Session::exportDone, this, [this] { showExported(*session_->exported()); });
  connect(session_, &Session::tensorSaved, this, [this](const QString& path, qint64 bytes) {
    showWritten(path, tr("Wrote %1 (%2).").arg(path, formatBytes(bytes)));
  });
  connect(session_->streams(), &Streams::written, this, [this] {
    const protocol::ExportResult& done = *session_->streams()->result()->written;
    workspace_->sheet()->remember(text(done.path));
    showExported(done);
  });
  connect(report_, &ReportExport::written, this, [this](const QString& path) {
    workspace_->sheet()->remember(path);
    showWritten(path, tr("Wrote %1.").arg(path));
  });
  connect(report_, &ReportExport::failed, this, [this](const QString& why) { info_->show(InfoBar::Tone::Error, why); });
  for (const auto signal : {&Session::modelChanged, &Session::analysisChanged, &Session::planChanged,
                            &Session::foldChanged, &Session::jobChanged, &Session::exportDone}) {
    connect(session_, signal, this, &MainWindow::refresh);
  }
  connect(session_->probe(), &ProbeRun::changed, this, &MainWindow::refresh);
  for (const auto& [run, kind] : session_->beside()) {
    connect(run, &EngineRun::changed, this, &MainWindow::refresh);
    connect(run, &EngineRun::progressed, this, &MainWindow::refresh);
  }
  connect(session_, &Session::problemOver, this, [this] {
    if (!info_->isAbout(kEngineTopic)) info_->dismiss();
  });
  connect(session_->measurements(), &Measurements::changed, this, &MainWindow::refresh);
  connect(session_->measurements(), &Measurements::paramsChanged, this, &MainWindow::refresh);
  connect(session_->selection(), &GraphSelection::changed, this, &MainWindow::refresh);
  connect(session_, &Session::jobChanged, this, &MainWindow::dismissWhenWorkBegins);
  connect(session_->choices()->undoStack(), &QUndoStack::indexChanged, this, [this] {
    info_->dismissAbout(kWorkTopic);  // its cause was the plan as it was
    refresh();
  });
}

void MainWindow::logConfirmation(const QStringList& norms) {
  if (!session_->analysis()->probe_error.empty()) return;
  if (norms.isEmpty()) return log(tr("A run confirmed the inferred shapes. All verdicts stand."));
  log(tr("A run showed different shapes than inferred. Changed verdicts: %1.").arg(norms.join(QStringLiteral(", "))));
}

// The bar's message is about the work before. Keeps the engine's own: its buttons are still needed.
void MainWindow::dismissWhenWorkBegins() {
  const Job& job = session_->job();
  const bool asked = job.kind == JobKind::Folding || job.kind == JobKind::Measuring || job.kind == JobKind::Exporting ||
                     job.kind == JobKind::Narrowing;
  if (asked && job.stage.isEmpty() && !info_->isAbout(kEngineTopic)) info_->dismiss();
}

void MainWindow::refresh() {
  actions_->update(*session_);
  story_->setStory(storyOf(*session_));
  const bool work = pages_->currentWidget() == workspace_, alone = work && workspace_->graphOnly();
  actions_->fold->setShortcut(workspace_->sheet()->isVisible() ? QKeySequence() : QKeySequence(Actions::kFoldKeys));
  story_->setVisible(work && !alone);
  tools_->setVisible(!fillsWindow(pages_->currentWidget()) && !alone);
  status_->setVisible(!alone);
  actions_->escape->setEnabled(work || session_->running().kind != JobKind::None);
  status_->showEngine(*engine_);
  status_->showModel(*session_);
  status_->showJob(session_->running(), session_->canStop());
  showTitle();
  const Devices devices = devicesOf(*engine_);
  tools_->setDevices(devices, preferences_.device);
  preferencesPage_->setDevices(devices);
  session_->measurements()->setDevice(devices.used(preferences_.device));
  showDropped();
}

void MainWindow::showEngineLost(const QString& reason) {
  log(reason);
  const bool open = !session_->path().isEmpty(), reopens = open && session_->reopens();
  const bool reconnects = engine_->disconnected() && reopens == open && engine_->failedStarts() < kMostReconnections;
  if (reconnects) return reconnectLater(reason);
  QString hint = open ? tr("Your plan and view are safe.") : QString();
  if (options_.engine.isEmpty()) {
    hint = tr("Install it next to the window, or set the environment variable NORMLENS_ENGINE to it.");
  } else if (engine_->failedStarts() >= kManyFailedStarts) {
    hint = tr("It stopped %1 times before it was ready. See the log, or set another engine in Preferences.")
               .arg(engine_->failedStarts());
  } else if (open && !reopens) {
    const QString words = engine_->disconnected()
                              ? tr("The connection ended again on %1, so %1 will not be reopened automatically.")
                              : tr("It crashed again on %1, so %1 will not be reopened automatically.");
    hint = words.arg(QFileInfo(session_->path()).fileName()) + u' ' + hint;
  }
  info_->show(InfoBar::Tone::Error, reason, hint,
              {{reopens ? tr("Restart and reopen") : tr("Restart"), [this] { session_->recover(); }}});
  info_->setTopic(kEngineTopic);
  refresh();
}

// The waits double, as a network that is away for a minute is not back sooner when it is tried more often.
void MainWindow::reconnectLater(const QString& reason) {
  reconnection_.start(std::chrono::seconds(std::min(1 << engine_->failedStarts(), kLongestWait)));
  info_->show(InfoBar::Tone::Error, reason,
              tr("Connecting again in %1 s. Plan, proof and measurements are kept.")
                  .arg(std::chrono::duration_cast<std::chrono::seconds>(reconnection_.intervalAsDuration()).count()),
              {{tr("Connect now"), [this] { session_->recover(); }}});
  info_->setTopic(kEngineTopic);
  refresh();
}

// Each second of it. A bar that was answered, or gave way to another, does not come back.
void MainWindow::showSilence(int seconds) {
  refresh();
  if (seconds == 0) return info_->dismissAbout(kEngineTopic);
  if (seconds == EngineClient::kSilence) {
    log(tr("%1 has not answered for %2 s.").arg(engine_->name()).arg(seconds));
  } else if (!info_->isAbout(kEngineTopic)) {
    return;
  }
  QString hint = session_->path().isEmpty() ? QString() : tr("A restart keeps plan, charts and proofs.");
  const QString stage = session_->job().stage;
  if (!stage.isEmpty()) hint = tr("Its last step: %1.").arg(stage) + u' ' + hint;
  info_->show(InfoBar::Tone::Choice, tr("%1 has not answered for %2 s.").arg(engine_->name()).arg(seconds), hint,
              {{tr("Wait")}, {tr("Restart engine"), [this] { session_->recover(); }}});
  info_->setTopic(kEngineTopic);
}

void MainWindow::log(const QString& line) {
  log_->appendPlainText(QStringLiteral("%1  %2").arg(QTime::currentTime().toString(QStringLiteral("HH:mm:ss")), line));
}

// One thing at a time: the field, then what is open, then the work, then the selection. The export sheet says that it
// stops the work.
void MainWindow::stepBack() {
  QWidget* focus = QApplication::focusWidget();
  const bool running = session_->running().kind != JobKind::None;
  const bool work = pages_->currentWidget() == workspace_;
  const bool sheet = work && workspace_->place() == Workspace::Place::Export, writing = running && sheet;
  if (!writing && (qobject_cast<QLineEdit*>(focus) != nullptr || qobject_cast<QAbstractSpinBox*>(focus) != nullptr))
    return sheet ? workspace_->sheet()->setFocus() : workspace_->graph()->view()->setFocus();
  if (work && !writing && workspace_->stepBack()) return;
  if (!log_->isHidden()) return log_->hide();
  if (running) return session_->cancel();
  if (work) workspace_->graph()->view()->stepBack();
}

void MainWindow::showFoldResult() {
  const auto& result = session_->foldResult();
  if (!result) return info_->dismissAbout(kFoldTopic);
  workspace_->bottom()->showTab(BottomPanel::Proof);
  if (result->ok) return;
  const QString why = result->reason.empty() ? tr("The folded model is not proved equal to the original.")
                                             : asSentence(text(result->reason));
  QString hint = tr("Nothing was written.");
  if (result->verify && !result->verify->first_diverging.empty() &&
      !why.contains(text(result->verify->first_diverging))) {
    hint +=
        u' ' + tr("The first LayerNorm to differ is %1.").arg(session_->titleOfNorm(result->verify->first_diverging));
  }
  info_->show(InfoBar::Tone::Error, why, hint);
  info_->setTopic(kFoldTopic);
}

void MainWindow::showLeftOut() {
  const auto& left = session_->leftOut()->fall();
  if (!left) return info_->dismissAbout(kLeftOutTopic);
  if (left->centering >= 0 && !info_->isAbout(kLeftOutTopic)) return;  // dismissed before that was found
  const auto edits = static_cast<int>(left->edits.size());
  const QString fell = edits == 0   ? tr("The edit was left out.")
                       : edits == 1 ? tr("Leaving it out removed 1 other edit.")
                                    : tr("Leaving it out removed %1 other edits.").arg(edits);
  std::vector<InfoBar::Way> ways{{tr("Undo"), [this] { actions_->undo->trigger(); }}};
  if (left->centering >= 0) {
    ways.push_back({tr("Center there at run time instead"), [this, fall = *left] {
                      session_->choices()->undoStack()->undo();
                      session_->choices()->center(fall.centering, fall.edit);
                    }});
  }
  info_->show(InfoBar::Tone::Message, fell, fallen(*left), std::move(ways));
  info_->setTopic(kLeftOutTopic);
}

void MainWindow::showExported(const protocol::ExportResult& done) {
  const QString path = text(done.path);
  showWritten(path, tr("Wrote %1 (%2 in %3).").arg(path, formatBytes(done.bytes), formatMilliseconds(done.save_ms)),
              {{tr("Open it"), [this, path, model = session_->modelName()] { openFile(path, model); }},
               {tr("Compare with it"), [this, path] { showComparison(path); }}});
}

void MainWindow::showWritten(const QString& path, const QString& words, std::vector<InfoBar::Way> ways) {
  if (!machineOf(path).isEmpty()) return info_->show(InfoBar::Tone::Message, words, {}, std::move(ways));
  ways.push_back({tr("Show in folder"), [this, path] {
                    const QString folder = folderOf(path);
                    if (!QDesktopServices::openUrl(QUrl::fromLocalFile(folder)))
                      info_->show(InfoBar::Tone::Message,
                                  tr("No file manager was found. The file is in %1.").arg(folder));
                  }});
  info_->show(InfoBar::Tone::Message, words, {}, std::move(ways));
}

void MainWindow::nextAction(NextAction action) {
  const auto& norms = session_->analysis() ? session_->analysis()->norms : std::vector<protocol::NormInfo>();
  const auto blocked = std::find_if(norms.begin(), norms.end(),
                                    [](const protocol::NormInfo& norm) { return norm.verdict == Verdict::Blocked; });
  switch (action) {
    case NextAction::Open:
      return actions_->open->trigger();
    case NextAction::Fold:
      return actions_->fold->trigger();
    case NextAction::Export:
      return actions_->exportModel->trigger();
    case NextAction::Measure:
      return actions_->measure->trigger();
    case NextAction::Suggest:
      return actions_->suggestBest->trigger();
    case NextAction::Restart:
      return actions_->restartEngine->trigger();
    case NextAction::Resume:
      return session_->resume();
    case NextAction::ShowProof:
      return workspace_->bottom()->showTab(BottomPanel::Proof);
    case NextAction::ShowBlocked:
      if (blocked == norms.end()) return;
      workspace_->showPlace(Workspace::Place::Graph);
      session_->selection()->selectNorm(blocked->index);
      if (blocked->blocker) workspace_->graph()->lookAt(blocked->blocker->node);  // only Zero-mean goes there itself
      return;
    case NextAction::Inputs:
      return showPanel(ActionPanel::Inputs);
    case NextAction::None:
      return;
  }
}

void MainWindow::showStep(int step) {
  if (step == StoryModel) return showPanel(ActionPanel::Inputs);
  if (step == StoryFoldable) return showPanel(ActionPanel::NormList);
  workspace_->showPlace(Workspace::Place::Graph);
  constexpr BottomPanel::Tab kTabs[] = {BottomPanel::Plan, BottomPanel::Proof, BottomPanel::Benchmark};
  workspace_->bottom()->showTab(kTabs[step - StoryPlan]);
  actions_->toggleBottom->setChecked(true);
}

void MainWindow::fillSearch() {
  using Entry = SearchModel::Entry;
  using Target = SearchModel::Target;
  std::vector<Entry> entries;
  const QList<QAction*> commands = actions_->searchable();
  for (int i = 0; i < commands.size(); ++i) {
    entries.push_back({Target::Command, i, commands[i]->text(),
                       commands[i]->shortcut().toString(QKeySequence::NativeText), QStringLiteral("chevron_right")});
  }
  if (session_->analysis()) {
    for (const protocol::NormInfo& norm : session_->analysis()->norms) {
      const Verdict verdict = norm.verdict;
      entries.push_back({Target::Norm, norm.index, text(norm.title), verdictTitle(verdict), verdictIcon(verdict)});
    }
  }
  tools_->search()->model()->setEntries(std::move(entries));
  tools_->search()->model()->setIndex(&session_->index());
}

void MainWindow::goTo(int target, int id) {
  switch (static_cast<SearchModel::Target>(target)) {
    case SearchModel::Target::Command: {
      const QList<QAction*> commands = actions_->searchable();
      if (id >= 0 && id < commands.size()) commands[id]->trigger();
      break;
    }
    case SearchModel::Target::Norm:
      session_->selection()->selectNorm(id);
      break;
    case SearchModel::Target::Scope:
      workspace_->graph()->goToScope(id);
      break;
    case SearchModel::Target::Node:
      workspace_->graph()->goToNode(id);
      break;
  }
}

// ---- projects. Opening and saving them, work that was put aside, and a model that changed

void MainWindow::connectProject() {
  graphview::GraphView* graph = workspace_->graph()->view();
  const ProjectKeeper::View view{
      [graph] { return viewOf(*graph); },
      [graph](const ProjectView& wanted) {
        graph->setPlace({wanted.openGroups, wanted.zoom, QPointF(wanted.centerX, wanted.centerY)});
      },
      [this] { return labRuns_->ofProject(); },
      [this](const std::vector<lab::RunResult>& runs) { labRuns_->bring(runs); }};
  project_ = new ProjectKeeper(session_, view, options_.recoveryFolder, this);
  connect(actions_->saveProject, &QAction::triggered, this, &MainWindow::saveProject);
  connect(actions_->saveProjectAs, &QAction::triggered, this, &MainWindow::askForProject);
  connect(project_, &ProjectKeeper::pathChanged, this, &MainWindow::showTitle);
  connect(project_, &ProjectKeeper::restored, this, &MainWindow::tellRestored);
  connect(project_, &ProjectKeeper::modelMissing, this, [this](const QString& model) {
    info_->show(InfoBar::Tone::Error, tr("The model of this project, %1, no longer exists.").arg(model),
                tr("Locate the file; the plan is kept."),
                {{tr("Locate"), [this] { askForModelOf(&ProjectKeeper::locate); }}});
  });
  connect(project_, &ProjectKeeper::modelIsAnother, this, [this] {
    info_->show(InfoBar::Tone::Error, tr("The model has changed since this project was saved."),
                tr("The plan was made again for the new model. Earlier measurements may not apply to it."));
  });
  connect(project_, &ProjectKeeper::modelChangedOnDisk, this, [this](const QString& model, bool gone) {
    const QString name = QFileInfo(model).fileName();
    if (gone) {
      info_->show(InfoBar::Tone::Error, tr("%1 was moved or removed.").arg(name),
                  tr("The window shows the model as it was read. Folding may fail."),
                  {{tr("Locate"), [this] { askForModelOf(&ProjectKeeper::reload); }}});
    } else {
      info_->show(InfoBar::Tone::Error, tr("%1 changed on disk.").arg(name),
                  tr("The window shows the model as it was read."),
                  {{tr("Reload"), [this] { useModel(&ProjectKeeper::reload, session_->path()); }}});
    }
    info_->setTopic(kDiskTopic);
  });
}

void MainWindow::showTitle() {
  const QString model = session_->title();
  const QString project = QFileInfo(project_->path()).completeBaseName();
  const QString host = engine_->host();
  const QString program = host.isEmpty() ? QStringLiteral("NormLens") : tr("NormLens on %1").arg(host);
  setWindowTitle(model.isEmpty()     ? program
                 : project.isEmpty() ? QStringLiteral("%1 – %2").arg(model, program)
                                     : QStringLiteral("%1 (%2) – %3").arg(project, model, program));
}

void MainWindow::openProjectFile(const QString& path) {
  info_->dismiss();
  const Status status = project_->open(path);
  if (!status) {
    info_->show(InfoBar::Tone::Error, asSentence(text(status.error().message)),
                asSentence(hintWords(status.error().hint)));
    return;
  }
  if (!session_->path().isEmpty()) pages_->setCurrentWidget(workspace_);
  refresh();
}

// Opens the model with the same plan: by way of a project, so that what does not fit any more is reported.
void MainWindow::useModel(UseModel use, const QString& path) {
  (project_->*use)(path);
  showPage(workspace_);
}

void MainWindow::askForModelOf(UseModel use) {
  askForFile(this, {QStringLiteral("locateDialog"), tr("Where is the model?"), modelFilters(), {}},
             [this, use](const QString& path) { useModel(use, path); });
}

void MainWindow::saveProject() { project_->path().isEmpty() ? askForProject() : writeProject(project_->path()); }

void MainWindow::askForProject() {
  if (!session_->analysis()) return;
  const QFileInfo model(session_->path());
  const FileQuestion question{QStringLiteral("projectDialog"),
                              tr("Save the project"),
                              {tr("NormLens projects (*.normlens)")},
                              model.absolutePath(),
                              model.completeBaseName()};
  askForFile(this, question, [this](const QString& path) {
    // The suffix identifies a project.
    writeProject(isProjectFile(path) ? path : path + QStringLiteral(".normlens"));
  });
}

void MainWindow::writeProject(const QString& path) {
  const Status status = project_->save(path);
  if (!status) {
    info_->show(InfoBar::Tone::Error, asSentence(text(status.error().message)));
    return;
  }
  rememberFile(recentFile(path, session_->analysis()->totals));
  info_->show(InfoBar::Tone::Message, tr("Saved %1.").arg(path));
}

void MainWindow::tellRestored(const QStringList& lost) {
  if (lost.isEmpty()) return;
  constexpr qsizetype kNamed = 5;
  QString names = lost.mid(0, kNamed).join(QStringLiteral(", "));
  if (lost.size() > kNamed) names += tr(" and %1 more").arg(formatCount(lost.size() - kNamed));
  info_->show(InfoBar::Tone::Error, tr("The model lacks parts that the plan names: %1.").arg(names),
              tr("The rest of the plan is unchanged."));
}

void MainWindow::offerRecovery() {
  const QStringList orphans = options_.recoveryFolder.isEmpty() ? QStringList() : project_->orphans();
  if (orphans.isEmpty()) return;
  const QString& newest = orphans.constFirst();
  const auto project = loadProject(newest);
  if (!project) {
    // Nobody can make anything of it; that of a newer version waits for one.
    if (project.error().code == ErrorCode::Unreadable) Recovery::discard(newest);
    return;
  }
  const QString name = QFileInfo(project->model.path).fileName();
  const auto restore = [this, newest, name] {
    if (QFileInfo::exists(newest)) return recover(newest);
    info_->show(InfoBar::Tone::Message, tr("Another window has restored %1.").arg(name));
  };
  info_->show(InfoBar::Tone::Message, tr("You have unsaved work on %1 from last time.").arg(name),
              tr("Its plan, inputs and view are safe."),
              {{tr("Restore"), restore}, {tr("Discard"), [newest] { Recovery::discard(newest); }}});
}

void MainWindow::recover(const QString& orphan) {
  const Status status = project_->recover(orphan);
  if (!status) info_->show(InfoBar::Tone::Error, asSentence(text(status.error().message)));
  if (!session_->path().isEmpty()) pages_->setCurrentWidget(workspace_);
  refresh();
}

}  // namespace normlens::ui
