// MainWindow: projects. Opening and saving them, work that was put aside, and a model that changed.
#include <QFileInfo>
#include <QStackedWidget>

#include "ui/graphview/graph_view.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/project/project_keeper.h"
#include "ui/session/project/recent_files.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/actions.h"
#include "ui/window/main_window.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

ProjectView viewOf(const graphview::GraphView& graph) {
  const graphview::ViewPlace place = graph.place();
  return {place.openGroups, place.zoom, place.center.x(), place.center.y(), {}};
}

}  // namespace

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
    info_->show(InfoBar::Tone::Error, tr("The model of this project, %1, is not there any more.").arg(model),
                tr("Show where it is now; the plan is kept."),
                {{tr("Locate"), [this] { askForModelOf(&ProjectKeeper::locate); }}});
  });
  connect(project_, &ProjectKeeper::modelIsAnother, this, [this] {
    info_->show(InfoBar::Tone::Error, tr("The model is not the one that this project was made with."),
                tr("The plan was made anew for what it holds now; what was measured may not hold for it."));
  });
  connect(project_, &ProjectKeeper::modelChangedOnDisk, this, [this](const QString& model, bool gone) {
    const QString name = QFileInfo(model).fileName();
    if (gone) {
      info_->show(InfoBar::Tone::Error, tr("%1 was moved or removed.").arg(name),
                  tr("What is shown is what was read; folding may fail."),
                  {{tr("Locate"), [this] { askForModelOf(&ProjectKeeper::reload); }}});
    } else {
      info_->show(InfoBar::Tone::Error, tr("%1 changed on the disk.").arg(name), tr("What is shown is what was read."),
                  {{tr("Reload"), [this] { useModel(&ProjectKeeper::reload, session_->path()); }}});
    }
  });
}

void MainWindow::showTitle() {
  const QString model = session_->title();
  const QString project = QFileInfo(project_->path()).completeBaseName();
  setWindowTitle(model.isEmpty()     ? QStringLiteral("NormLens")
                 : project.isEmpty() ? QStringLiteral("%1 – NormLens").arg(model)
                                     : QStringLiteral("%1 (%2) – NormLens").arg(project, model));
}

void MainWindow::openProjectFile(const QString& path) {
  info_->dismiss();
  const Status status = project_->open(path);
  if (!status) {
    info_->show(InfoBar::Tone::Error, asSentence(text(status.error().message)), asSentence(text(status.error().hint)));
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
  rememberFile({path, session_->analysis()->totals.free + session_->analysis()->totals.with_centering,
                session_->analysis()->totals.layer_norms});
  info_->show(InfoBar::Tone::Message, tr("Saved %1.").arg(path));
}

void MainWindow::tellRestored(const QStringList& lost) {
  if (lost.isEmpty()) return;
  constexpr qsizetype kNamed = 5;
  QString names = lost.mid(0, kNamed).join(QStringLiteral(", "));
  if (lost.size() > kNamed) names += tr(" and %1 more").arg(formatCount(lost.size() - kNamed));
  info_->show(InfoBar::Tone::Error, tr("The model has not all that the plan names: %1.").arg(names),
              tr("The rest of the plan is as it was saved."));
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
  info_->show(
      InfoBar::Tone::Message,
      tr("Work on %1 was not saved when the window went.").arg(QFileInfo(project->model.path).fileName()),
      tr("The plan, the inputs and the view were put aside."),
      {{tr("Recover"), [this, newest] { recover(newest); }}, {tr("Discard"), [newest] { Recovery::discard(newest); }}});
}

void MainWindow::recover(const QString& orphan) {
  const Status status = project_->recover(orphan);
  if (!status) info_->show(InfoBar::Tone::Error, asSentence(text(status.error().message)));
  if (!session_->path().isEmpty()) pages_->setCurrentWidget(workspace_);
  refresh();
}

}  // namespace normlens::ui
