#include "ui/session/probe_run.h"

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

namespace methods = protocol::methods;

ProbeRun::ProbeRun(Session* session)
    : QObject(session), session_(session), question_(session->engine(), this), swapQuestion_(session->engine(), this) {
  connect(session_, &Session::modelChanged, this, &ProbeRun::forget);
  connect(session_, &Session::analysisChanged, this, &ProbeRun::forget);  // other inputs, other vectors
  connect(session_, &Session::foldChanged, this, &ProbeRun::forgetFold);
  connect(session_->engine(), &EngineClient::progressed, this, [this](qint64 id, const QString& stage, double share) {
    if (!swapQuestion_.is(id)) return;
    stage_ = stage;
    fraction_ = share;
    Q_EMIT progressed();
  });
}

QString ProbeRun::obstacle() const {
  if (QString why = session_->runObstacle(); !why.isEmpty()) return why;
  if (session_->busy()) return tr("The engine is at work.");
  return {};
}

void ProbeRun::start(ProbedModel model, int64_t seed) {
  if (!obstacle().isEmpty()) return;
  problem_.clear();
  wanted_ = model;
  seed_ = seed;
  ask(model == ProbedModel::Folded);
  Q_EMIT changed();
}

void ProbeRun::ask(bool folded) {
  question_.ask(methods::kProbe, {folded, seed_},
                [this, folded](const Reply<protocol::ProbeResult>& reply) { received(folded, reply); });
}

void ProbeRun::received(bool folded, const Reply<protocol::ProbeResult>& reply) {
  if (reply) {
    (folded ? folded_ : opened_) = *reply;
    if (!folded && wanted_ == ProbedModel::Both) ask(true);
  } else {
    fail(reply.error());
  }
  Q_EMIT changed();
}

void ProbeRun::startSwaps() {
  if (!obstacle().isEmpty()) return;
  problem_.clear();
  stage_.clear();
  fraction_ = 0;
  protocol::ProbeSwapsParams params;
  params.fold_first = true;
  swapQuestion_.ask(methods::kProbeSwaps, params, [this](const Reply<protocol::ProbeSwaps>& reply) {
    if (reply) {
      swaps_ = *reply;
    } else {
      fail(reply.error());
    }
    Q_EMIT changed();
  });
  Q_EMIT changed();
}

void ProbeRun::fail(const EngineError& error) {
  if (!error.cancelled() && !error.engineDied) problem_ = asSentence(error.message);
}

void ProbeRun::stop() {
  question_.stop();
  swapQuestion_.stop();
}

void ProbeRun::forget() {
  question_.drop();
  swapQuestion_.drop();
  opened_.reset();
  folded_.reset();
  swaps_.reset();
  problem_.clear();
  Q_EMIT changed();
}

void ProbeRun::forgetFold() {
  if (question_.pending() && wanted_ != ProbedModel::Opened) question_.drop();
  folded_.reset();
  Q_EMIT changed();
}

}  // namespace normlens::ui
