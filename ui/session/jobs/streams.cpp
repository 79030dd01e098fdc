#include "ui/session/jobs/streams.h"

#include <utility>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

Streams::Streams(Session* session) : QObject(session), session_(session), question_(session->engine(), this) {
  for (const auto signal : {&Session::modelChanged, &Session::analysisChanged}) {
    connect(session_, signal, this, &Streams::forget);  // other shapes, other streams
  }
  connect(session_, &Session::planChanged, this, [this] {
    if (!session_->plan() || !samePlan(askedFor_.plan, params().plan)) return forget();
    ask();
  });
  connect(session_, &Session::jobChanged, this, &Streams::changed);  // what is in the way
}

protocol::StreamParams Streams::params() const { return {session_->choices()->params(), padding_}; }

QString Streams::obstacle() const {
  if (QString why = session_->runObstacle(); !why.isEmpty()) return why;
  if (!session_->analysis()->probe_error.empty()) return tr("The model cannot be run, so nothing could be proved.");
  if (session_->busy()) return tr("The engine is at work.");
  if (!problem_.isEmpty()) return problem_;
  if (!report_) return tr("The streams are being looked at.");
  return asSentence(text(report_->reason));
}

void Streams::setWatched(bool watched) {
  watched_ = watched;
  ask();
}

void Streams::setPadding(const std::string& padding) {
  if (padding == padding_) return;
  padding_ = padding;
  forget();
}

void Streams::ask() {
  if (!watched_ || report_ || question_.pending() || !session_->plan() || !session_->served()) return;
  problem_.clear();
  askedFor_ = params();
  question_.ask(protocol::methods::kStreams, askedFor_, [this](Reply<protocol::StreamReport>& reply) {
    if (reply) {
      report_ = std::move(*reply);
    } else if (!reply.error().cancelled() && !reply.error().engineDied) {
      problem_ = asSentence(reply.error().message);
    }
    Q_EMIT changed();
  });
  Q_EMIT changed();
}

void Streams::forget() {
  question_.drop();
  report_.reset();
  result_.reset();
  problem_.clear();
  ask();
  Q_EMIT changed();
}

void Streams::made(protocol::NarrowResult&& result) {
  result_ = std::move(result);
  Q_EMIT changed();
  if (result_->written) Q_EMIT written();
}

}  // namespace normlens::ui
