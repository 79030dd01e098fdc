#include "ui/session/probe_run.h"

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

ProbeRun::ProbeRun(Session* session) : QObject(session), session_(session), question_(session->engine(), this) {
  connect(session_, &Session::modelChanged, this, &ProbeRun::forget);
  connect(session_, &Session::analysisChanged, this, &ProbeRun::forget);  // other inputs, other vectors
}

QString ProbeRun::obstacle() const {
  if (session_->path().isEmpty()) return tr("No model is open.");
  if (!session_->analysis() || !session_->served()) return tr("The model is not analysed yet.");
  if (session_->busy()) return tr("The engine is at work.");
  return {};
}

void ProbeRun::start(const protocol::ProbeParams& params) {
  if (!obstacle().isEmpty()) return;
  problem_.clear();
  question_.ask(protocol::methods::kProbe, params, [this](const Reply<protocol::ProbeResult>& reply) {
    if (reply) {
      result_ = *reply;
    } else if (!reply.error().cancelled()) {
      problem_ = asSentence(reply.error().message);
    }
    Q_EMIT changed();
  });
  Q_EMIT changed();
}

void ProbeRun::stop() { question_.stop(); }

void ProbeRun::forget() {
  question_.drop();
  result_.reset();
  problem_.clear();
  Q_EMIT changed();
}

}  // namespace normlens::ui
