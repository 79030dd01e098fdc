#include "ui/session/probe_run.h"

#include "ui/session/session.h"

namespace normlens::ui {

ProbeRun::ProbeRun(Session* session) : EngineRun(session) {
  connect(session_, &Session::modelChanged, this, &ProbeRun::forget);
  connect(session_, &Session::analysisChanged, this, &ProbeRun::forget);  // other inputs, other vectors
  connect(session_, &Session::foldChanged, this, &ProbeRun::forgetFold);
}

QString ProbeRun::obstacle() const {
  if (QString why = session_->runObstacle(); !why.isEmpty()) return why;
  if (session_->busy()) return tr("The engine is busy.");
  return {};
}

void ProbeRun::start(ProbedModel model, int64_t seed) {
  if (!obstacle().isEmpty()) return;
  problem_.clear();
  wanted_ = model;
  seed_ = seed;
  probe(model == ProbedModel::Folded);
}

void ProbeRun::probe(bool folded) {
  ask(protocol::methods::kProbe, {folded, seed_}, [this, folded](const protocol::ProbeResult& result) {
    (folded ? folded_ : opened_) = result;
    if (!folded && wanted_ == ProbedModel::Both) probe(true);
  });
  Q_EMIT changed();
}

void ProbeRun::clear() {
  opened_.reset();
  folded_.reset();
}

void ProbeRun::forgetFold() {
  if (running() && wanted_ != ProbedModel::Opened) question_.drop();
  folded_.reset();
  Q_EMIT changed();
}

SwapRun::SwapRun(Session* session) : EngineRun(session) {
  connect(session_, &Session::modelChanged, this, &SwapRun::forget);
  connect(session_, &Session::analysisChanged, this, &SwapRun::forget);
}

void SwapRun::start() {
  if (!session_->probe()->obstacle().isEmpty()) return;
  problem_.clear();
  stage_.clear();
  share_ = 0;
  protocol::ProbeSwapsParams params;
  params.fold_first = true;
  ask(protocol::methods::kProbeSwaps, params, [this](const protocol::ProbeSwaps& swaps) { figures_ = swaps; });
  Q_EMIT changed();
}

}  // namespace normlens::ui
