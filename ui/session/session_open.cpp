// Session: which model it is about. The model shown stays until the one that was requested was read.
#include <utility>

#include "ui/session/session.h"

namespace normlens::ui {

void Session::open(const QString& path, const QString& model) { ask({path, model, std::nullopt}); }

void Session::openProject(const Project& project) { ask({project.model.path, project.model.name, project}); }

void Session::ask(Wanted wanted) {
  const QString path = wanted.path, model = wanted.model;
  dropNext();
  recovering_ = false;
  next_ = std::move(wanted);
  if (!model_) takeNext();
  startOpening(path, model);
}

void Session::dropNext() {
  if (std::exchange(next_, std::nullopt)) Q_EMIT openFailed();
}

void Session::reopen() {
  dropNext();
  recovering_ = true;
  startOpening(path_, modelName());
}

void Session::notOpened(bool served) {
  const bool another = next_.has_value();
  next_.reset();
  served_ = served;
  Q_EMIT jobChanged();  // the engine takes other requests than before
  Q_EMIT openFailed();
  if (!model_) return;
  if (served_) {
    resume();
  } else if (another) {
    reopen();
  }
}

void Session::takeNext() {
  if (!next_) return;
  Wanted next = *std::exchange(next_, std::nullopt);
  startOver(next.path);
  restoring_ = std::move(next.project);
}

void Session::startOver(const QString& path) {
  if (model_) Q_EMIT leaving();
  path_ = path;
  restoring_.reset();
  recovering_ = fatal_ = false;
  choices_->startOver();
  flavour_ = protocol::FoldParams().norm;
  inputs_ = {};
  clearModel();
}

void Session::close() {
  cancel();
  endJob();
  dropNext();
  served_ = false;
  startOver({});
}

void Session::resume() {
  if (!model_ || busy()) return;
  if (!served_) {
    reopen();
  } else if (!analysis_) {
    analyze();
  } else if (!plan_ || !samePlan(plannedFor_, choices_->params())) {
    requestPlan();
  }
}

void Session::recover() {
  engine_->start();
  served_ = false;
  if (path_.isEmpty()) return;
  if (fatal_) return dropNext();
  reopen();
}

}  // namespace normlens::ui
