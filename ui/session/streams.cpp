#include "ui/session/streams.h"

#include <utility>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {

Streams::Streams(Session* session) : EngineRun(session) {
  for (const auto signal : {&Session::modelChanged, &Session::analysisChanged}) {
    connect(session_, signal, this, &Streams::forgetAndAsk);  // other shapes, other streams
  }
  connect(session_, &Session::planChanged, this, [this] {
    if (!session_->plan() || !samePlan(askedFor_.plan, params().plan)) return forgetAndAsk();
    askIfWatched();
  });
  connect(session_, &Session::jobChanged, this, &Streams::changed);  // A job may be in the way.
}

protocol::StreamParams Streams::params() const { return {session_->choices()->params(), padding_}; }

QString Streams::obstacle() const {
  if (QString why = session_->runObstacle(); !why.isEmpty()) return why;
  if (!session_->analysis()->probe_error.empty()) return tr("Nothing can be proved, because the model cannot be run.");
  if (session_->busy()) return tr("The engine is busy.");
  if (!problem_.isEmpty()) return problem_;
  if (!report_) return tr("Analyzing the streams.");
  return asSentence(text(report_->reason));
}

void Streams::setWatched(bool watched) {
  watched_ = watched;
  askIfWatched();
}

void Streams::setPadding(const std::string& padding) {
  if (padding == padding_) return;
  padding_ = padding;
  forgetAndAsk();
}

void Streams::askIfWatched() {
  if (!watched_ || report_ || running() || !session_->plan() || !session_->served()) return;
  problem_.clear();
  askedFor_ = params();
  ask(protocol::methods::kStreams, askedFor_, [this](protocol::StreamReport& report) { report_ = std::move(report); });
  Q_EMIT changed();
}

void Streams::clear() {
  report_.reset();
  result_.reset();
}

void Streams::forgetAndAsk() {
  forget();
  askIfWatched();
}

void Streams::made(protocol::NarrowResult&& result) {
  result_ = std::move(result);
  Q_EMIT changed();
  if (result_->written) Q_EMIT written();
}

}  // namespace normlens::ui
