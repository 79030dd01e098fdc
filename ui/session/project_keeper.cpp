#include "ui/session/project_keeper.h"

#include <QFileInfo>

#include "core/protocol/methods.h"
#include "ui/client/placed_file.h"
#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int kSettleMs = 400;
constexpr qint64 kMostHashed = qint64{1} << 30;  // A larger file is known by its size.

}  // namespace

Project projectOf(const Session& session) {
  Project project;
  project.model = modelFileAt(session.path());
  project.model.name = session.modelName();
  const protocol::PlanParams& params = session.choices()->params();
  project.policy = params.policy;
  project.prices = params.prices;
  project.maxGrowthPercent = params.max_growth_percent;
  for (const int norm : params.keep_norms) {
    if (const protocol::NormInfo* info = session.norm(norm)) project.kept << text(info->name);
  }
  const auto named = [&](const std::vector<int>& ids) {
    std::vector<NamedValue> values;
    for (const int id : ids) {
      const protocol::GraphValue* value = session.index().value(id);
      values.push_back({id, value != nullptr ? text(value->name) : QString()});
    }
    return values;
  };
  project.centered = named(params.center_values);
  project.copied = named(params.copy_values);
  project.untouched = named(params.keep_values);
  project.flavour = session.flavour();
  project.inputs = session.inputs();
  project.proved = session.foldResult() ? session.foldResult()->proved : session.provedBefore();
  project.bench = session.measurements()->last();
  project.benchRuns = session.measurements()->earlier();
  project.benchParams = session.measurements()->params();
  if (const protocol::NormInfo* selected = session.norm(session.selection()->current().norm)) {
    project.view.norm = text(selected->name);
  }
  return project;
}

ProjectKeeper::ProjectKeeper(Session* session, View view, const QString& recoveryFolder, QObject* parent)
    : QObject(parent),
      session_(session),
      view_(std::move(view)),
      recovery_(recoveryFolder),
      hash_(session->engine(), this) {
  connect(&timer_, &QTimer::timeout, this, &ProjectKeeper::putAside);
  const auto settle = [this] { settle_.start(kSettleMs); };
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, settle);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, settle);
  settle_.setSingleShot(true);
  connect(&settle_, &QTimer::timeout, this, &ProjectKeeper::lookAtModel);
  connect(session_, &Session::modelChanged, this, &ProjectKeeper::modelOpened);
  connect(session_, &Session::modelReplaced, this, [this] { reload(session_->path()); });
  connect(session_, &Session::planChanged, this, &ProjectKeeper::identify);
  connect(session_, &Session::projectRestored, this, &ProjectKeeper::shown);
  connect(session_, &Session::leaving, this, [this] {
    if (!opening_ || !opening_->stays) leaveAside();
  });
  connect(session_, &Session::openFailed, this, [this] {
    opening_.reset();
    recovering_.clear();
  });
}

void ProjectKeeper::shown(const Project& project) {
  view_.show(project.view);
  view_.showRuns(project.labRuns);
  written_ = reloaded_.empty() ? projectToJson(this->project()) : std::exchange(reloaded_, {});
  if (!recovering_.isEmpty()) {
    written_.clear();  // it is nowhere but here
    recovered_ = true;
    putAside();
    Recovery::discard(std::exchange(recovering_, {}));
  }
  Q_EMIT restored(project.lost);
}

void ProjectKeeper::setPath(const QString& path) {
  if (path == path_) return;
  path_ = path;
  Q_EMIT pathChanged();
}

Project ProjectKeeper::project() const {
  Project project = projectOf(*session_);
  project.model = model_;
  const QString norm = project.view.norm;
  project.view = view_.take();
  project.labRuns = view_.takeRuns();
  project.view.norm = norm;
  return project;
}

bool ProjectKeeper::dirty() const {
  if (!session_->analysis() || written_.empty()) return false;
  // The view is saved, but looking around is no change worth a warning.
  Project now = project();
  auto before = projectFromJson(written_);
  if (!before) return true;
  now.view = {};
  before->view = {};
  before->model = now.model;
  return projectToJson(now) != projectToJson(*before);
}

Status ProjectKeeper::save(const QString& path) {
  const Project now = project();
  const Status status = saveProject(path, now);
  if (!status) return status;
  written_ = projectToJson(now);
  recovery_.drop();
  putAside_.clear();
  setPath(path);
  return {};
}

Status ProjectKeeper::open(const QString& path) {
  recovering_.clear();
  ASSIGN_OR_RETURN(auto project, loadProject(path));
  start({std::move(project), QFileInfo(path).absoluteFilePath(), {}});
  return {};
}

void ProjectKeeper::start(Opening opening) {
  opening_.reset();
  missing_.reset();
  const Project wanted = opening.project;
  if (!QFileInfo(wanted.model.path).isFile() && machineOf(wanted.model.path).isEmpty()) {
    missing_ = std::move(opening);
    Q_EMIT modelMissing(wanted.model.path);
    return;
  }
  session_->openProject(wanted);
  opening_ = std::move(opening);
}

void ProjectKeeper::startWith(const QString& modelPath, Opening opening) {
  opening.project.model = {modelPath, {}, 0, 0, opening.project.model.name};  // no hash: it is expected to be another
  opening.project.proved.clear();
  opening.project.bench.reset();
  opening.project.benchRuns.clear();
  start(std::move(opening));
}

void ProjectKeeper::reload(const QString& modelPath) {
  // A plan that is still on its way is not yet the session's.
  const Project* restoring = session_->restoring();
  if (restoring == nullptr) recovering_.clear();
  startWith(modelPath,
            {restoring != nullptr ? *restoring : project(), path_, reloaded_.empty() ? written_ : reloaded_, true});
}

void ProjectKeeper::locate(const QString& modelPath) {
  if (missing_) startWith(modelPath, Opening(*missing_));
}

// Called also when there is no model any more.
void ProjectKeeper::modelOpened() {
  // An engine that had to be started again opens the same file.
  const ModelFile now = modelFileAt(session_->path());
  if (session_->isSameModel() && now.path == model_.path) {
    model_.modifiedMs = now.modifiedMs;
    return;
  }
  if (const QStringList watched = watcher_.files() + watcher_.directories(); !watched.isEmpty())
    watcher_.removePaths(watched);
  hash_.drop();
  settle_.stop();
  written_.clear();
  recovered_ = false;
  expected_.reset();
  hashing_ = false;
  model_ = {};
  reloaded_.clear();
  view_.showRuns({});
  if (!session_->model()) {
    setPath({});
    recovery_.drop();
    putAside_.clear();
    return;
  }
  model_ = now;
  model_.name = session_->modelName();
  const auto opened = std::exchange(opening_, std::nullopt);
  const bool isProject = opened && session_->restoring() != nullptr && opened->project.model.path == session_->path();
  if (isProject) {
    expected_ = opened->project.model;
    reloaded_ = opened->written;
  }
  setPath(isProject ? opened->path : QString());
  watcher_.addPaths({session_->path(), QFileInfo(session_->path()).path()});
  onDisk_ = modelFileAt(model_.path);
}

// Once the plan is there: what the user waits for goes first. The engine reads the file for it, at some gigabytes a
// second, and answers nothing else meanwhile.
void ProjectKeeper::identify() {
  if (hashing_ || !session_->plan()) return;
  hashing_ = true;
  if (session_->model()->file_bytes > kMostHashed) return compare();
  hash_.ask(protocol::methods::kSourceHash, {}, [this](const Reply<protocol::SourceHash>& reply) {
    if (reply) model_.xxh3 = text(reply->xxh3);
    compare();
  });
}

void ProjectKeeper::compare() {
  if (!expected_) return;
  const ModelFile expected = *std::exchange(expected_, std::nullopt);
  const bool hashes = !expected.xxh3.isEmpty() && !model_.xxh3.isEmpty();
  const bool sizes = expected.bytes > 0 && expected.bytes != model_.bytes;
  if (hashes ? expected.xxh3 != model_.xxh3 : sizes) Q_EMIT modelIsAnother();
}

void ProjectKeeper::lookAtModel() {
  const ModelFile now = modelFileAt(model_.path);
  const bool gone = !QFileInfo::exists(model_.path);
  if (std::exchange(onDisk_, now) == now) return;  // another file of the folder has changed
  // A file that was replaced is no longer watched.
  if (!gone && !watcher_.files().contains(model_.path)) watcher_.addPath(model_.path);
  if (gone || now.bytes != model_.bytes || now.modifiedMs != model_.modifiedMs) {
    Q_EMIT modelChangedOnDisk(model_.path, gone);
  }
}

// ---- against crashes

void ProjectKeeper::setInterval(int seconds) {
  if (seconds <= 0) {
    timer_.stop();
    recovery_.drop();
  } else {
    timer_.start(seconds * 1000);
  }
}

// An untouched model is opened again as quickly as it is recovered.
bool ProjectKeeper::touched() const {
  return recovered_ || session_->choices()->undoStack()->canUndo() || session_->measurements()->last() ||
         !path_.isEmpty() || !session_->inputs().npz.empty() || !session_->inputs().specs.empty();
}

void ProjectKeeper::putAside() {
  if (!session_->analysis()) return;
  const std::string now = projectToJson(project());
  if (!touched() || now == putAside_ || now == written_) return;
  if (recovery_.keep(now)) putAside_ = now;
}

void ProjectKeeper::end() {
  timer_.stop();
  leaveAside();
}

void ProjectKeeper::leaveAside() {
  if (!session_->analysis() || (path_.isEmpty() ? !touched() : !dirty())) return;
  putAside();
  path_.isEmpty() ? recovery_.leaveQuietly() : recovery_.leave();
}

QStringList ProjectKeeper::orphans() const {
  QStringList offered;
  for (const QString& orphan : recovery_.orphans()) {
    if (orphan != recovering_ && !Recovery::isQuiet(orphan)) offered << orphan;
  }
  return offered;
}

QString ProjectKeeper::leftOf(const QString& modelPath, const QString& model) const {
  const ModelFile now = modelFileAt(modelPath);
  for (const QString& orphan : recovery_.orphans()) {
    const auto project = loadProject(orphan);
    if (!project || project->model.path != modelPath) continue;
    if (!model.isEmpty() && !project->model.name.isEmpty() && project->model.name != model) continue;
    const bool same = project->model.bytes == now.bytes && project->model.modifiedMs == now.modifiedMs;
    if (same) return orphan;
  }
  return {};
}

Status ProjectKeeper::recover(const QString& orphan) {
  ASSIGN_OR_RETURN(auto project, loadProject(orphan));
  start({std::move(project), {}, {}});
  recovering_ = orphan;  // kept until its plan is shown
  return {};
}

}  // namespace normlens::ui
