// MainWindow: the command palette, the places that commands lead to, and the preferences.
#include <QApplication>
#include <QCursor>
#include <QFileInfo>
#include <QStackedWidget>

#include "ui/client/devices.h"
#include "ui/client/engine_client.h"
#include "ui/client/gpu_trial.h"
#include "ui/models/norm_model.h"
#include "ui/session/forced_errors.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/project/project_keeper.h"
#include "ui/session/project/recent_files.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/lesson_link.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/command_palette.h"
#include "ui/window/frame/norm_panel.h"
#include "ui/window/frame/preferences_page.h"
#include "ui/window/frame/tool_bar.h"
#include "ui/window/lab/lab_page.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/learn/lessons_page.h"
#include "ui/window/learn/probe_page.h"
#include "ui/window/main_window.h"
#include "ui/window/workspace/graph_actions.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/welcome_page.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

void MainWindow::connectCommands() {
  connect(actions_->command, &QAction::triggered, this, [this] { palette_->open(paletteEntries()); });
  const GraphActions& graph = *workspace_->graph()->actions();
  actions_->fileMenu->insertActions(actions_->closeModel, {graph.saveView, graph.saveWhole});
  actions_->fileMenu->insertSeparator(actions_->closeModel);
  preferencesPage_->addDirection(graph.leftToRight);
  connect(actions_->explain, &QAction::triggered, this, &MainWindow::showLesson);
  connect(actions_->lessons, &QAction::triggered, this, [this] { showLessons({}); });
  connect(actions_->laboratory, &QAction::triggered, this, &MainWindow::showLaboratory);
  connect(actions_->probe, &QAction::triggered, this, &MainWindow::showProbe);
  connect(workspace_->bottom(), &BottomPanel::lessonWanted, this, &MainWindow::showLessons);
  connect(actions_->preferences, &QAction::triggered, this, &MainWindow::showPreferences);
  for (QAction* panel : actions_->panels) {
    connect(panel, &QAction::triggered, this,
            [this, panel] { showPanel(static_cast<ActionPanel>(panel->data().toInt())); });
  }
  connect(tools_, &ToolBar::deviceChosen, this, &MainWindow::chooseDevice);
  auto* gpu = new GpuTrial(engine_, this);
  connect(tools_, &ToolBar::devicesOpened, gpu, &GpuTrial::want);
  connect(gpu, &GpuTrial::changed, tools_, [this, gpu] { tools_->setGpuTip(gpu->text()); });
  connect(preferencesPage_, &PreferencesPage::closed, this, [this] {
    showWork();
    pages_->setFocus();
  });
  connect(preferencesPage_, &PreferencesPage::changed, this,
          [this] { applyPreferences(preferencesPage_->preferences()); });
  connect(preferencesPage_, &PreferencesPage::engineCommandChanged, this, [this] {
    applyPreferences(preferencesPage_->preferences());
    options_.engine = engineCommandFromSettings();
    engine_->setCommand(options_.engine);
    session_->recover();
  });
}

void MainWindow::chooseDevice(const QString& device) {
  Preferences chosen = preferences_;
  chosen.device = device;
  applyPreferences(chosen);
  preferencesPage_->setPreferences(chosen);
}

// Adds the entries that have a button, but no action.
void MainWindow::addButtonsTo(std::vector<PaletteEntry>& entries) {
  const QString icon = QStringLiteral("chevron_right");
  const auto addDevice = [&](const QString& title, const QString& device, bool there) {
    entries.push_back({title, {}, icon, there, [this, device] { chooseDevice(device); }});
  };
  addDevice(tr("Device: measure on the CPU"), QStringLiteral("cpu"), true);
  addDevice(tr("Device: measure on the GPU"), QStringLiteral("cuda"), !devicesOf(*engine_).gpu.isEmpty());
  const protocol::NormInfo* norm = session_->norm(session_->selection()->current().norm);
  const bool blocked = norm != nullptr && verdictFromName(norm->verdict) == Verdict::Blocked;
  entries.push_back({tr("Show the error if folded anyway"), blocked ? text(norm->title) : tr("of a blocked LayerNorm"),
                     icon, blocked && session_->forcedErrors()->obstacle().isEmpty(), [this] {
                       showPage(workspace_);
                       actions_->toggleInspector->setChecked(true);
                       session_->forcedErrors()->start({session_->selection()->current().norm});
                     }});
}

std::vector<PaletteEntry> MainWindow::paletteEntries() {
  std::vector<PaletteEntry> entries;
  const auto titleOf = [&](QAction* action) {
    if (action->actionGroup() == actions_->policyGroup) return tr("Policy: %1").arg(action->text());
    if (action->actionGroup() == actions_->flavourGroup) return tr("Exported norm: %1").arg(action->text());
    if (action->actionGroup() == actions_->themeGroup) return tr("Theme: %1").arg(action->text());
    if (actions_->panels.contains(action)) return tr("Go to: %1").arg(action->text());
    return action->text().section(u'\t', 0, 0);
  };
  const auto keysOf = [](const QAction* action) {
    const QString keys = action->shortcut().toString(QKeySequence::NativeText);
    return keys.isEmpty() ? action->text().section(u'\t', 1) : keys;
  };
  for (QAction* action : actions_->searchable() + workspace_->graph()->actions()->all()) {
    if (action == actions_->command) continue;
    entries.push_back({titleOf(action), keysOf(action), QStringLiteral("chevron_right"), action->isEnabled(),
                       [action] { action->trigger(); }});
  }
  addButtonsTo(entries);
  if (session_->analysis()) {
    for (const protocol::NormInfo& norm : session_->analysis()->norms) {
      const Verdict verdict = verdictFromName(norm.verdict);
      entries.push_back({text(norm.title), verdictTitle(verdict), verdictIcon(verdict), true,
                         [this, index = norm.index] { session_->selection()->selectNorm(index); }});
    }
  }
  for (const RecentFile& file : recentFiles()) {
    entries.push_back({tr("Open %1").arg(QFileInfo(file.path).fileName()), QFileInfo(file.path).absolutePath(),
                       QStringLiteral("file"), true, [this, path = file.path] { openFile(path); }});
  }
  return entries;
}

void MainWindow::showLesson() {
  QString lesson = lessonOf(QApplication::widgetAt(QCursor::pos()));
  if (lesson.isEmpty()) lesson = lessonOf(QApplication::focusWidget());
  pages_->setCurrentWidget(workspace_);
  actions_->toggleBottom->setChecked(true);
  workspace_->bottom()->showLesson(lesson);
}

void MainWindow::showLessons(const QString& link) {
  if (lessons_ == nullptr) {
    lessons_ = new LessonsPage(session_, options_.rememberLayout, pages_);
    pages_->addWidget(lessons_);
    connect(lessons_, &LessonsPage::closed, this, &MainWindow::showWork);
    connect(lessons_, &LessonsPage::written, this,
            [this](const QString& path, const QString& words) { showWritten(path, words); });
    connect(lessons_, &LessonsPage::themeWanted, this, [this](bool dark) {
      Preferences chosen = preferences_;
      chosen.scheme = dark ? ColorScheme::Dark : ColorScheme::Light;
      applyPreferences(chosen);
      preferencesPage_->setPreferences(chosen);
    });
    connect(lessons_, &LessonsPage::pageWanted, this, &MainWindow::showLearnPage);
  }
  showPage(lessons_);
  lessons_->open(link);
}

void MainWindow::showLaboratory() {
  if (lab_ == nullptr) {
    labRuns_->read();
    lab_ = new LabPage(session_, labRuns_, pages_);
    pages_->addWidget(lab_);
    connect(lab_, &LabPage::closed, this, &MainWindow::showWork);
    connect(lab_, &LabPage::pageWanted, this, &MainWindow::showLearnPage);
    connect(lab_, &LabPage::modelWanted, this, [this](const QString& path) { openFile(path); });
  }
  showPage(lab_);
  lab_->setFocus();
}

void MainWindow::showProbe() {
  if (probe_ == nullptr) {
    probe_ = new ProbePage(session_, pages_);
    pages_->addWidget(probe_);
    connect(probe_, &ProbePage::closed, this, &MainWindow::showWork);
    connect(probe_, &ProbePage::pageWanted, this, &MainWindow::showLearnPage);
  }
  showPage(probe_);
  probe_->setFocus();
}

void MainWindow::showLearnPage(LearnPageKind page) {
  if (page == LearnPageKind::Probe) return showProbe();
  if (page == LearnPageKind::Laboratory) return showLaboratory();
  showLessons({});
}

bool MainWindow::fillsWindow(const QWidget* page) const {
  const QWidget* pages[] = {lessons_, lab_, probe_};
  return page != nullptr && std::ranges::find(pages, page) != std::end(pages);
}

void MainWindow::showPanel(ActionPanel panel) {
  if (session_->path().isEmpty()) return;
  showPage(workspace_);
  if (panel == ActionPanel::NormList) return workspace_->norms()->showNorms();
  if (panel == ActionPanel::Modules) return workspace_->norms()->showModules();
  actions_->toggleBottom->setChecked(true);
  workspace_->bottom()->showTab(
      static_cast<BottomPanel::Tab>(static_cast<int>(panel) - static_cast<int>(ActionPanel::Plan)));
  workspace_->bottom()->focusTab();
}

void MainWindow::showPreferences() {
  preferencesPage_->setPreferences(preferences_);
  showPage(preferencesPage_);
  preferencesPage_->setFocus();
}

void MainWindow::applyPreferences(const Preferences& preferences) {
  const bool look = preferences.scheme != preferences_.scheme || preferences.fontPixels != preferences_.fontPixels;
  preferences_ = preferences;
  if (options_.rememberLayout) savePreferences(preferences_);
  usePreferences();
  refresh();
  if (look) applyLook();
}

void MainWindow::usePreferences() {
  session_->setDigits(preferences_.digits);
  session_->setLimits(preferences_.timeLimitSeconds, bytesOf(preferences_.memoryLimitGb));
  project_->setInterval(options_.recoveryFolder.isEmpty() ? 0 : preferences_.autosaveSeconds);
}

void MainWindow::applyLook() {
  const ColorScheme scheme = preferences_.scheme;
  const bool dark = scheme == ColorScheme::Dark || (scheme == ColorScheme::FollowDesktop && options_.desktopDark);
  applyTheme(*qApp, dark ? darkTheme() : lightTheme(), preferences_.fontPixels);
  setChosen(*actions_->themeGroup, colorSchemeName(scheme));
}

}  // namespace normlens::ui
