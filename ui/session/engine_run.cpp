#include "ui/session/engine_run.h"

#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {

EngineRun::EngineRun(Session* session) : QObject(session), session_(session), question_(session->engine(), this) {
  connect(session_->engine(), &EngineClient::progressed, this, [this](qint64 id, const QString& stage, double share) {
    if (question_.is(id)) progress(stage, share);
  });
}

void EngineRun::progress(const QString& stage, double fraction) {
  stage_ = stage;
  share_ = fraction;
  Q_EMIT progressed();
}

void EngineRun::fail(const EngineError& error) {
  if (!error.cancelled() && !error.engineDied) problem_ = asSentence(error.message);
}

void EngineRun::stop() {
  question_.drop();
  Q_EMIT changed();
}

void EngineRun::forget() {
  question_.drop();
  clear();
  problem_.clear();
  Q_EMIT changed();
}

}  // namespace normlens::ui
