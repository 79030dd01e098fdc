#include "ui/window/main_window.h"

#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QTimer>
#include <QUrl>

#include "ui/client/engine_client.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/project/project_keeper.h"
#include "ui/session/session.h"
#include "ui/theme/icons.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/bottom/differences_page.h"
#include "ui/window/frame/command_palette.h"
#include "ui/window/frame/norm_panel.h"
#include "ui/window/frame/preferences_page.h"
#include "ui/window/frame/search_box.h"
#include "ui/window/frame/status_strip.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/frame/tool_bar.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/compare_view.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/report_export.h"
#include "ui/window/workspace/welcome_page.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

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
  auto* central = new QWidget(this);
  central->setObjectName(QStringLiteral("central"));
  auto* layout = makeColumn(central);
  tools_ = new ToolBar(actions_, central);
  story_ = new StoryBar(central);
  info_ = new InfoBar(central);
  pages_ = describe(new QStackedWidget(central), "pages");
  pages_->setFocusPolicy(Qt::ClickFocus);
  welcome_ = new WelcomePage(pages_);
  workspace_ = new Workspace(session_, actions_, pages_);
  report_ = new ReportExport(session_, workspace_->graph(), this);
  pages_->addWidget(welcome_);
  pages_->addWidget(workspace_);
  preferencesPage_ = new PreferencesPage(pages_);
  pages_->addWidget(preferencesPage_);
  labRuns_ = new LabRuns(engine_, usualRunsFolder(), this);
  status_ = new StatusStrip(central);
  layout->addWidget(tools_);
  layout->addWidget(story_);
  layout->addWidget(info_);
  layout->addWidget(pages_, 1);
  layout->addWidget(status_);
  setCentralWidget(central);
  palette_ = new CommandPalette(central);
}

void MainWindow::connectActions() {
  connect(actions_->open, &QAction::triggered, this, &MainWindow::askForModel);
  connect(actions_->fold, &QAction::triggered, session_, &Session::fold);
  connect(actions_->verify, &QAction::triggered, session_, &Session::fold);
  connect(actions_->measure, &QAction::triggered, this, [this] {
    session_->measure();
    workspace_->bottom()->showTab(BottomPanel::Benchmark);
  });
  connect(actions_->exportModel, &QAction::triggered, this, [this] { askForExport(false); });
  connect(actions_->exportReport, &QAction::triggered, this, [this] { report_->ask(this); });
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
  connect(actions_->toggleInspector, &QAction::toggled, workspace_->inspector(), &QWidget::setVisible);
  connect(actions_->toggleBottom, &QAction::toggled, workspace_->bottom(), &QWidget::setVisible);
  connect(actions_->flavourGroup, &QActionGroup::triggered, this,
          [this](QAction* action) { session_->setFlavour(action->data().toString()); });
  connect(actions_->policyGroup, &QActionGroup::triggered, this,
          [this](QAction* action) { session_->choices()->setPolicy(action->data().toString()); });
}

void MainWindow::connectViews() {
  connect(welcome_, &WelcomePage::openClicked, this, &MainWindow::askForModel);
  connect(welcome_, &WelcomePage::fileChosen, this, [this](const QString& path) { openFile(path); });
  connect(story_, &StoryBar::stepClicked, this, &MainWindow::showStep);
  connect(story_, &StoryBar::nextClicked, this, [this] { nextAction(story_->nextAction()); });
  connect(status_, &StatusStrip::cancelClicked, session_, &Session::cancel);
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
  connect(graph, &GraphPane::told, this,
          [this](const QString& message) { info_->show(InfoBar::Tone::Message, message); });
  connect(workspace_->inspector(), &Inspector::modelWanted, this, &MainWindow::openFile);
  connect(workspace_->inspector(), &Inspector::nodeWanted, graph, &GraphPane::lookAt);
  connect(workspace_->inspector(), &Inspector::hideClicked, this,
          [this] { actions_->toggleInspector->setChecked(false); });
  connect(workspace_->bottom(), &BottomPanel::nodeChosen, graph, &GraphPane::goToNode);
  connect(workspace_->bottom(), &BottomPanel::exportAnywayClicked, this, [this] { askForExport(true); });
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
  if (isProjectFile(path)) {
    openProjectFile(path);
    return;
  }
  const QFileInfo info(path);
  info_->dismiss();
  // The model is opened with the plan that it was left with.
  if (const QString left =
          options_.recoveryFolder.isEmpty() ? QString() : project_->leftOf(info.absoluteFilePath(), model);
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
  const QStringList filters{tr("Models and projects (*.pt *.pth *.ts *.pt2 *.onnx *.normlens)"), tr("All files (*)")};
  askForFile(this, {QStringLiteral("openDialog"), tr("Open a model"), filters, last}, [this](const QString& path) {
    if (options_.rememberLayout) QSettings().setValue(QStringLiteral("window/folder"), folderOf(path));
    openFile(path);
  });
}

void MainWindow::askForComparison() {
  askForFile(this, {QStringLiteral("compareDialog"), tr("Compare with"), modelFilters(), folderOf(session_->path())},
             [this](const QString& path) { showComparison(path); });
}

void MainWindow::showComparison(const QString& path) {
  if (compare_ == nullptr) {
    compare_ = new CompareView(session_, pages_);
    pages_->addWidget(compare_);
    connect(compare_, &CompareView::closed, this, &MainWindow::showWork);
  }
  showPage(compare_);
  compare_->compareWith(path);
}

void MainWindow::showPage(QWidget* page) {
  pages_->setCurrentWidget(page);
  refresh();
}

void MainWindow::showWork() { showPage(session_->path().isEmpty() ? static_cast<QWidget*>(welcome_) : workspace_); }

void MainWindow::askForExport(bool force) {
  if (!session_->foldResult()) return;
  const QFileInfo model(session_->path());
  const FileQuestion question{QStringLiteral("exportDialog"), tr("Export the folded model"),
                              exportFilters(model.suffix()), model.absolutePath(),
                              model.completeBaseName() + QStringLiteral(".folded")};
  askForFile(this, question, [this, force](const QString& path) { session_->exportTo(path, force); });
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
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.size() != 1 || !urls.first().isLocalFile()) return;
  event->acceptProposedAction();
  welcome_->setDropping(true);
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent* event) {
  welcome_->setDropping(false);
  QMainWindow::dragLeaveEvent(event);
}

void MainWindow::dropEvent(QDropEvent* event) {
  welcome_->setDropping(false);
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.isEmpty()) return;
  event->acceptProposedAction();
  openFile(urls.first().toLocalFile());
}

}  // namespace normlens::ui
