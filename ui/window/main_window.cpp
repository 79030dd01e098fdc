#include "ui/window/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QCursor>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QTimer>
#include <QUrl>

#include "ui/client/devices.h"
#include "ui/client/engine_client.h"
#include "ui/client/gpu_trial.h"
#include "ui/client/placed_file.h"
#include "ui/graphview/graph_view.h"
#include "ui/models/norm_model.h"
#include "ui/session/forced_errors.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/project/recent_files.h"
#include "ui/session/project_keeper.h"
#include "ui/session/session.h"
#include "ui/theme/icons.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/info_bar.h"
#include "ui/widgets/lesson_link.h"
#include "ui/widgets/segmented.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/bottom/differences_page.h"
#include "ui/window/bottom/learn_page.h"
#include "ui/window/frame/about_page.h"
#include "ui/window/frame/command_palette.h"
#include "ui/window/frame/drop_frame.h"
#include "ui/window/frame/far_file_dialog.h"
#include "ui/window/frame/norm_panel.h"
#include "ui/window/frame/preferences_page.h"
#include "ui/window/frame/search_box.h"
#include "ui/window/frame/status_strip.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/frame/tool_bar.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/lab/lab_page.h"
#include "ui/window/learn/atlas_page.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/learn/lessons_page.h"
#include "ui/window/learn/probe_page.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/compare_view.h"
#include "ui/window/workspace/graph_actions.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/report_export.h"
#include "ui/window/workspace/welcome_page.h"
#include "ui/window/workspace/workspace.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

QStringList filesOf(const QMimeData& data) {
  QStringList files;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) files << url.toLocalFile();
  }
  return files;
}

constexpr int kMostLogLines = 5000, kLogHeight = 168, kLeastLogHeight = 44;

}  // namespace

MainWindow::MainWindow(WindowOptions options, QWidget* parent)
    : QMainWindow(parent),
      options_(std::move(options)),
      engine_(new EngineClient(this)),
      session_(new Session(engine_, this)),
      actions_(new Actions(this)) {
  setWindowIcon(applicationIcon());
  setWindowTitle(QStringLiteral("NormLens"));
  setAcceptDrops(true);
  resize(1440, 900);
  engine_->setCommand(options_.engine);
  build();
  connectActions();
  connectEngine();
  connectSession();
  connectViews();
  connectTheme();
  connectCommands();
  connectProject();
  if (options_.rememberLayout) preferences_ = preferencesFromSettings();
  preferences_.scheme = options_.scheme;
  usePreferences();
  if (options_.rememberLayout) {
    constexpr int kTitleBar = 40;
    resize(size().boundedTo(screen()->availableSize() - QSize(0, kTitleBar)));
    restoreGeometry(QSettings().value(QStringLiteral("window/geometry")).toByteArray());
    workspace_->restoreSizes();
  }
  refresh();
}

MainWindow::~MainWindow() {
  // The children are destroyed after this: what they emit then finds no window any more.
  session_->choices()->undoStack()->disconnect();
  delete project_;  // an orderly end: nothing is left aside
  session_->disconnect();
  engine_->disconnect();
}

void MainWindow::build() {
  auto* central = describe(new QWidget(this), "central");
  auto* layout = makeColumn(central);
  tools_ = new ToolBar(actions_, central);
  story_ = new StoryBar(central);
  info_ = new InfoBar(central);
  pages_ = describe(new QStackedWidget(central), "pages", {}, tr("Page"));
  pages_->setFocusPolicy(Qt::ClickFocus);
  welcome_ = new WelcomePage(pages_);
  workspace_ = new Workspace(session_, actions_, pages_);
  report_ = new ReportExport(session_, workspace_->graph(), this);
  pages_->addWidget(welcome_);
  pages_->addWidget(workspace_);
  preferencesPage_ = new PreferencesPage(pages_);
  pages_->addWidget(preferencesPage_);
  labRuns_ = new LabRuns(engine_, usualRunsFolder(), this);
  log_ = describe(new QPlainTextEdit(central), "log", {}, tr("Log"));
  log_->setReadOnly(true);
  log_->setMaximumBlockCount(kMostLogLines);
  log_->setTabChangesFocus(true);
  log_->document()->setDocumentMargin(12);
  log_->setPlaceholderText(tr("The log is empty."));
  followText(log_, [this] {
    log_->setMinimumHeight(grown(kLeastLogHeight));
    log_->setMaximumHeight(grown(kLogHeight));
  });
  log_->hide();
  status_ = new StatusStrip(central);
  layout->addWidget(tools_);
  layout->addWidget(story_);
  layout->addWidget(info_);
  layout->addWidget(pages_, 1);
  layout->addWidget(log_);
  layout->addWidget(status_);
  setCentralWidget(central);
  palette_ = new CommandPalette(central);
  drop_ = new DropFrame(central);
}

void MainWindow::connectActions() {
  connect(actions_->open, &QAction::triggered, this, &MainWindow::askForModel);
  connect(actions_->fold, &QAction::triggered, session_, &Session::fold);
  connect(actions_->verify, &QAction::triggered, session_, &Session::fold);
  connect(actions_->measure, &QAction::triggered, this, [this] {
    session_->measure();
    workspace_->bottom()->showTab(BottomPanel::Benchmark);
  });
  connect(actions_->exportModel, &QAction::triggered, this, [this] { showExport(ExportSheet::Kind::Target); });
  connect(actions_->exportReport, &QAction::triggered, this, [this] { showExport(ExportSheet::Kind::Report); });
  connect(actions_->undo, &QAction::triggered, session_->choices()->undoStack(), &QUndoStack::undo);
  connect(actions_->redo, &QAction::triggered, session_->choices()->undoStack(), &QUndoStack::redo);
  connect(actions_->suggestBest, &QAction::triggered, session_->choices(), &PlanChoices::suggestBest);
  connect(actions_->foldAll, &QAction::triggered, session_->choices(), &PlanChoices::foldAll);
  connect(actions_->resetPlan, &QAction::triggered, session_->choices(), &PlanChoices::reset);
  connect(actions_->foldNorm, &QAction::triggered, workspace_->inspector(), &Inspector::foldSelected);
  connect(actions_->centerHere, &QAction::triggered, this, [this] {
    actions_->toggleInspector->setChecked(true);
    workspace_->inspector()->centerSelected();
  });
  connect(actions_->stop, &QAction::triggered, session_, &Session::cancel);
  connect(actions_->restartEngine, &QAction::triggered, this, [this] {
    info_->dismiss();
    session_->recover();
  });
  connect(actions_->closeModel, &QAction::triggered, this, [this] {
    info_->dismiss();
    closeModel();
  });
  connect(actions_->quit, &QAction::triggered, this, &QWidget::close);
  connect(actions_->find, &QAction::triggered, tools_->search(), &SearchBox::begin);
  connect(actions_->compareFolded, &QAction::triggered, this, [this] { showComparison({}); });
  connect(actions_->compareWith, &QAction::triggered, this, &MainWindow::askForComparison);
  connect(actions_->findNext, &QAction::triggered, this, [this] { tools_->search()->step(1); });
  connect(actions_->findPrevious, &QAction::triggered, this, [this] { tools_->search()->step(-1); });
  connect(actions_->escape, &QAction::triggered, this, &MainWindow::stepBack);
  connect(actions_->graphOnly, &QAction::triggered, this, [this] {
    showPage(workspace_);
    workspace_->setGraphOnly(!workspace_->graphOnly());
    workspace_->graph()->view()->setFocus();
  });
  connect(actions_->policyGroup, &QActionGroup::triggered, this, [this](QAction* action) {
    session_->choices()->setPolicy(*fromName<Policy>(action->data().toString().toStdString()));
  });
}

void MainWindow::connectViews() {
  connect(welcome_, &WelcomePage::openClicked, this, &MainWindow::askForModel);
  connect(welcome_, &WelcomePage::atlasClicked, this, &MainWindow::showAtlas);
  connect(welcome_, &WelcomePage::fileChosen, this, [this](const QString& path) { openFile(path); });
  connect(story_, &StoryBar::stepClicked, this, &MainWindow::showStep);
  connect(story_, &StoryBar::confirmClicked, session_, &Session::resume);
  connect(story_, &StoryBar::nextClicked, this, [this] { nextAction(story_->nextAction()); });
  connect(status_, &StatusStrip::cancelClicked, session_, &Session::cancel);
  connect(status_, &StatusStrip::logClicked, this, [this] { log_->setVisible(log_->isHidden()); });
  connect(workspace_, &Workspace::arranged, this, &MainWindow::refresh);
  connect(workspace_->bottom(), &BottomPanel::inputsWanted, this, [this] { showPanel(ActionPanel::Inputs); });
  connect(tools_->search(), &SearchBox::chosen, this,
          [this](SearchModel::Target target, int id) { goTo(static_cast<int>(target), id); });
  GraphPane* graph = workspace_->graph();
  connect(workspace_->norms(), &NormPanel::scopeChosen, graph, &GraphPane::goToScope);
  connect(graph, &GraphPane::scopeShown, workspace_->norms(), &NormPanel::revealScope);
  connect(graph, &GraphPane::centerHereRequested, this, [this](int value) {
    actions_->toggleInspector->setChecked(true);
    workspace_->inspector()->askCenter(value);
  });
  connect(graph, &GraphPane::compareHereRequested, this, [this](int value) {
    showPanel(ActionPanel::Differences);
    workspace_->bottom()->differences()->compareValue(value);
  });
  connect(graph, &GraphPane::reported, this,
          [this](const QString& message) { info_->show(InfoBar::Tone::Message, message); });
  connect(workspace_->inspector(), &Inspector::modelWanted, this, &MainWindow::openFile);
  connect(workspace_->inspector(), &Inspector::nodeWanted, graph, &GraphPane::lookAt);
  connect(workspace_->inspector(), &Inspector::hideClicked, this,
          [this] { actions_->toggleInspector->setChecked(false); });
  connect(workspace_->bottom(), &BottomPanel::comparisonWanted, this,
          [this](const VariantRow& a, const VariantRow& b) { comparison()->comparePlans(a, b); });
  connect(workspace_->bottom(), &BottomPanel::nodeChosen, graph, &GraphPane::goToNode);
  connect(workspace_->bottom(), &BottomPanel::exportAnywayClicked, this, &MainWindow::exportAnyway);
  connect(workspace_->sheet(), &ExportSheet::reportWanted, report_, &ReportExport::start);
  connect(workspace_->sheet(), &ExportSheet::overwriteAsked, this, &MainWindow::askToOverwrite);
  connect(workspace_->sheet(), &ExportSheet::overwriteOver, this,
          [this] { info_->dismissAbout(QStringLiteral("overwrite")); });
  connect(workspace_->sheet(), &ExportSheet::differenceWanted, this, [this] {
    workspace_->showPlace(Workspace::Place::Graph);
    const int norm = session_->normNamed(text(session_->foldResult()->verify->first_diverging));
    if (norm >= 0) session_->selection()->selectNorm(norm);
    workspace_->bottom()->showTab(BottomPanel::Proof);
  });
}

void MainWindow::connectTheme() {
  setChosen(*actions_->themeGroup, colorSchemeName(options_.scheme));
  connect(actions_->themeGroup, &QActionGroup::triggered, this, [this](QAction* action) {
    Preferences chosen = preferences_;
    chosen.scheme = colorSchemeFromName(action->data().toString());
    applyPreferences(chosen);
    preferencesPage_->setPreferences(chosen);
  });
}

void MainWindow::openFile(const QString& path, const QString& model) {
  compareNext_.clear();
  if (isProjectFile(path)) {
    openProjectFile(path);
    return;
  }
  const QFileInfo info(path);
  const QString whole = machineOf(path).isEmpty() ? info.absoluteFilePath() : path;
  info_->dismiss();
  // The model is opened with the plan that it was left with.
  if (const QString left = options_.recoveryFolder.isEmpty() ? QString() : project_->leftOf(whole, model);
      !left.isEmpty()) {
    recover(left);
    return;
  }
  session_->open(info.exists() ? info.absoluteFilePath() : path, model);
  showPage(workspace_);
}

void MainWindow::askForModel() {
  const QString last = session_->path().isEmpty() ? QSettings().value(QStringLiteral("window/folder")).toString()
                                                  : folderOf(session_->path());
  const QStringList filters{tr("Models and projects (*.pt *.pth *.ts *.jit *.pt2 *.onnx *.normlens)"),
                            tr("All files (*)")};
  const FileQuestion question{QStringLiteral("openDialog"), tr("Open a model"), filters, last};
  const auto use = [this](const QStringList& paths) {
    if (options_.rememberLayout) QSettings().setValue(QStringLiteral("window/folder"), folderOf(paths.first()));
    paths.size() == 1 ? openFile(paths.first()) : openFiles(paths);
  };
  askForFileThere(
      engine_, this, question, [use](const QString& file) { use({file}); },
      [this, question, use] { askForFiles(this, question, use); });
}

void MainWindow::askForComparison() {
  askForFile(this, {QStringLiteral("compareDialog"), tr("Compare with"), modelFilters(), folderOf(session_->path())},
             [this](const QString& path) { showComparison(path); });
}

CompareView* MainWindow::comparison() {
  if (compare_ == nullptr) {
    compare_ = new CompareView(session_, pages_);
    pages_->addWidget(compare_);
    connect(compare_, &CompareView::closed, this, &MainWindow::showWork);
  }
  showPage(compare_);
  return compare_;
}

void MainWindow::showComparison(const QString& path) { comparison()->compareWith(pathThere(path)); }

void MainWindow::showPage(QWidget* page) {
  pages_->setCurrentWidget(page);
  refresh();
}

void MainWindow::showWork() { showPage(session_->path().isEmpty() ? static_cast<QWidget*>(welcome_) : workspace_); }

void MainWindow::showExport(ExportSheet::Kind kind) {
  showPage(workspace_);
  workspace_->showSheet(kind);
}

void MainWindow::exportAnyway() {
  if (!session_->foldResult()) return;
  const QFileInfo model(session_->path());
  const FileQuestion question{QStringLiteral("exportDialog"), tr("Export the folded model"),
                              exportFilters(model.suffix()), folderOf(session_->path()),
                              model.completeBaseName() + QStringLiteral(".folded")};
  const auto use = [this](const QString& path) { session_->exportTo(path, true); };
  askForFileThere(engine_, this, question, use, [this, question, use] { askForFile(this, question, use); });
}

void MainWindow::askToOverwrite(const QStringList& files, const QString& why) {
  QStringList names;
  for (const QString& file : files) names << QFileInfo(file).fileName();
  const bool one = names.size() == 1;
  info_->show(InfoBar::Tone::Choice, (one ? tr("%1 exists.") : tr("%1 exist.")).arg(names.join(tr(" and "))),
              one ? why : tr("Overwrite replaces both."),
              {{one ? tr("Keep it") : tr("Keep them")},
               {tr("Overwrite"), [this, files] { workspace_->sheet()->overwrite(files); }}});
  info_->setTopic(QStringLiteral("overwrite"));
}

void MainWindow::closeModel() {
  session_->close();
  welcome_->refresh();
  showWork();
  pages_->setFocus();
}

void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  if (shown_) return;
  shown_ = true;
  pages_->setFocus();  // no button looks chosen before the keyboard is used
  QTimer::singleShot(0, this, [this] {
    if (engine_->state() == EngineClient::State::Stopped) engine_->start();
    offerRecovery();
  });
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (options_.rememberLayout) {
    QSettings().setValue(QStringLiteral("window/geometry"), saveGeometry());
    workspace_->saveSizes();
  }
  project_->end();
  QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const QStringList files = filesOf(*event->mimeData());
  if (files.isEmpty()) return;
  event->acceptProposedAction();
  drop_->show(dropPlan(files));
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent* event) {
  drop_->hide();
  QMainWindow::dragLeaveEvent(event);
}

void MainWindow::dropEvent(QDropEvent* event) {
  drop_->hide();
  const QStringList files = filesOf(*event->mimeData());
  if (files.isEmpty()) return;
  event->acceptProposedAction();
  openFiles(files);
}

// One that is open already stays, with its plan: the other is compared with it.
void MainWindow::openFiles(const QStringList& files) {
  DropPlan plan = dropPlan(files);
  if (plan.files.isEmpty()) return info_->show(InfoBar::Tone::Error, plan.words);
  const auto isOpen = [this](const QString& file) {
    return session_->model() && QFileInfo(file) == QFileInfo(session_->path());
  };
  if (plan.files.size() > 1 && isOpen(plan.files.last())) std::swap(plan.files.first(), plan.files.last());
  if (plan.files.size() == 1 || !isOpen(plan.files.first())) openFile(plan.files.first());
  compareNext_ = plan.files.size() > 1 ? plan.files.last() : QString();
  showDropped();
}

// The comparison needs the first model's graph.
void MainWindow::showDropped() {
  if (compareNext_.isEmpty() || !actions_->compareWith->isEnabled() || !session_->plan()) return;
  showComparison(std::exchange(compareNext_, {}));
}

// ---- the command palette, the places that commands lead to, and the preferences

void MainWindow::connectCommands() {
  connect(actions_->command, &QAction::triggered, this, [this] { palette_->open(paletteEntries()); });
  const GraphActions& graph = *workspace_->graph()->actions();
  actions_->fileMenu->insertActions(actions_->closeModel, {graph.saveView, graph.saveWhole});
  actions_->fileMenu->insertSeparator(actions_->closeModel);
  preferencesPage_->addDirection(graph.leftToRight);
  actions_->helpMenu->insertAction(actions_->about, graph.keys);
  connect(actions_->about, &QAction::triggered, this, &MainWindow::showAbout);
  connect(actions_->explain, &QAction::triggered, this, &MainWindow::showLesson);
  connect(actions_->lessons, &QAction::triggered, this, [this] { showLessons({}); });
  connect(actions_->laboratory, &QAction::triggered, this, &MainWindow::showLaboratory);
  connect(actions_->probe, &QAction::triggered, this, &MainWindow::showProbe);
  connect(actions_->atlas, &QAction::triggered, this, &MainWindow::showAtlas);
  connect(workspace_->words(), &LearnPage::lessonWanted, this, &MainWindow::showLessons);
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
  Segmented* modes = workspace_->graph()->modes();
  for (int mode = 0; mode < modes->segments().size(); ++mode) {
    entries.push_back({tr("Graph: %1").arg(modes->segments()[mode].text),
                       {},
                       icon,
                       session_->model().has_value(),
                       [this, modes, mode] {
                         showPage(workspace_);
                         workspace_->showPlace(Workspace::Place::Graph);
                         modes->choose(mode);
                       }});
  }
  const protocol::NormInfo* norm = session_->norm(session_->selection()->current().norm);
  const bool blocked = norm != nullptr && norm->verdict == Verdict::Blocked;
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
    if (action->actionGroup() == actions_->themeGroup) return tr("Theme: %1").arg(action->text());
    if (actions_->panels.contains(action)) return tr("Go to: %1").arg(action->text());
    return action->text().section(u'\t', 0, 0);
  };
  const auto keysOf = [](const QAction* action) {
    const QString keys = action->shortcut().toString(QKeySequence::NativeText);
    return keys.isEmpty() ? action->text().section(u'\t', 1) : keys;
  };
  for (QAction* action : actions_->searchable() + workspace_->graph()->actions()->all()) {
    // As a policy it would be there twice.
    const bool twice = action->actionGroup() == actions_->policyGroup && action->text() == actions_->foldAll->text();
    if (action == actions_->command || twice) continue;
    entries.push_back({titleOf(action), keysOf(action), QStringLiteral("chevron_right"), action->isEnabled(),
                       [action] { action->trigger(); }});
  }
  addButtonsTo(entries);
  if (session_->analysis()) {
    for (const protocol::NormInfo& norm : session_->analysis()->norms) {
      const Verdict verdict = norm.verdict;
      entries.push_back({text(norm.title), verdictTitle(verdict), verdictIcon(verdict), true,
                         [this, index = norm.index] { session_->selection()->selectNorm(index); }});
    }
  }
  for (const RecentFile& file : recentFiles()) {
    entries.push_back({tr("Open %1").arg(QFileInfo(file.path).fileName()), folderOf(file.path), QStringLiteral("file"),
                       true, [this, path = file.path] { openFile(path); }});
  }
  return entries;
}

void MainWindow::showLesson() {
  QString lesson = lessonOf(QApplication::widgetAt(QCursor::pos()));
  if (lesson.isEmpty()) lesson = lessonOf(QApplication::focusWidget());
  showPage(workspace_);
  workspace_->showWords(lesson);
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

// Made when it is first wanted.
template <class Page>
void MainWindow::showFigures(Page*& page) {
  if (page == nullptr) {
    page = new Page(session_, pages_);
    pages_->addWidget(page);
    connect(page, &Page::closed, this, &MainWindow::showWork);
    connect(page, &Page::pageWanted, this, &MainWindow::showLearnPage);
  }
  showPage(page);
  page->setFocus();
}

void MainWindow::showProbe() { showFigures(probe_); }

void MainWindow::showAtlas() { showFigures(atlas_); }

void MainWindow::showLearnPage(LearnPageKind page) {
  if (page == LearnPageKind::Probe) return showProbe();
  if (page == LearnPageKind::Laboratory) return showLaboratory();
  if (page == LearnPageKind::Atlas) return showAtlas();
  showLessons({});
}

bool MainWindow::fillsWindow(const QWidget* page) const {
  const QWidget* pages[] = {lessons_, lab_, probe_, atlas_};
  return page != nullptr && std::ranges::find(pages, page) != std::end(pages);
}

void MainWindow::showPanel(ActionPanel panel) {
  if (session_->path().isEmpty()) return;
  using Place = Workspace::Place;
  showPage(workspace_);
  const auto showTab = [this](BottomPanel::Tab tab) {
    workspace_->setGraphOnly(false);
    actions_->toggleBottom->setChecked(true);
    workspace_->bottom()->showTab(tab);
    workspace_->bottom()->focusTab();
  };
  if (panel != ActionPanel::Learn && panel != ActionPanel::Log) {
    const bool back = panel == ActionPanel::NormTable && workspace_->place() == Place::Norms;
    workspace_->showPlace(back                              ? Place::Graph
                          : panel == ActionPanel::NormTable ? Place::Norms
                          : panel == ActionPanel::Inputs    ? Place::Inputs
                                                            : Place::Graph);
  }
  switch (panel) {
    case ActionPanel::NormList:
      workspace_->setGraphOnly(false);
      return workspace_->norms()->showNorms();
    case ActionPanel::Modules:
      workspace_->setGraphOnly(false);
      return workspace_->norms()->showModules();
    case ActionPanel::Plan:
      return showTab(BottomPanel::Plan);
    case ActionPanel::Proof:
      return showTab(BottomPanel::Proof);
    case ActionPanel::Differences:
      return showTab(BottomPanel::Differences);
    case ActionPanel::Benchmark:
      return showTab(BottomPanel::Benchmark);
    case ActionPanel::Learn:
      return workspace_->showWords({});
    case ActionPanel::Log:
      log_->show();
      return log_->setFocus(Qt::ShortcutFocusReason);
    case ActionPanel::NormTable:
    case ActionPanel::Inputs:
      return;
  }
}

void MainWindow::showPreferences() {
  preferencesPage_->setPreferences(preferences_);
  showPage(preferencesPage_);
  preferencesPage_->setFocus();
}

void MainWindow::showAbout() {
  if (about_ == nullptr) {
    about_ = new AboutPage(engine_, pages_);
    pages_->addWidget(about_);
    connect(about_, &AboutPage::closed, this, &MainWindow::showWork);
  }
  about_->showVersions();
  showPage(about_);
  about_->setFocus();
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
