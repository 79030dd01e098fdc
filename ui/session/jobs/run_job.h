// Defines how the session runs a job, for those of its sources that start some. Thread: GUI thread.
#pragma once

#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

template <class Params, class T>
void Session::runJob(JobKind kind, const protocol::Method<Params, T>& method,
                     const std::type_identity_t<Params>& params,
                     const std::type_identity_t<std::function<void(T&)>>& done, const Failed& failed) {
  startJob(kind);
  jobQuestion_.ask(method, params, [this, kind, done, failed](Reply<T>& reply) {
    const Job ended = job_;
    endJob();
    if (reply) {
      done(*reply);
      return;
    }
    if (reply.error().engineDied) {  // reported once, by engineLost
      if (kind == JobKind::Measuring) failed(reply.error());
      return;
    }
    if (reply.error().cancelled()) {
      Q_EMIT stopped(ended);
    } else {
      Q_EMIT problem(asSentence(reply.error().message), asSentence(reply.error().hint));
    }
    if (failed) failed(reply.error());
  });
}

}  // namespace normlens::ui
