// A request beside the session's jobs, which the engine answers after them: whether it runs, how far it is, and why it
// ended early. Each kind of run keeps its own figures, and forgets them when they are void. Thread: GUI thread.
#pragma once

#include <QObject>

#include "core/protocol/methods.h"
#include "ui/client/question.h"

namespace normlens::ui {

class Session;

class EngineRun : public QObject {
  Q_OBJECT

 public:
  [[nodiscard]] bool running() const { return question_.pending(); }
  [[nodiscard]] const QString& stage() const { return stage_; }      // in words, while it runs
  [[nodiscard]] virtual double fraction() const { return share_; }   // negative: unknown
  [[nodiscard]] const QString& problem() const { return problem_; }  // why it ended early; a sentence, or empty
  virtual void stop();                                               // Finished parts stay.

 Q_SIGNALS:
  void changed();     // figures, running or problem
  void progressed();  // stage or fraction

 protected:
  explicit EngineRun(Session* session);  // its owner

  // Emits changed() with the reply, unless take() has requested more; to emit it for the request is up to the caller.
  template <class Params, class T>
  void ask(const protocol::Method<Params, T>& method, const std::type_identity_t<Params>& params,
           const std::type_identity_t<std::function<void(T&)>>& take) {
    question_.ask(method, params, [this, take](Reply<T>& reply) {
      reply ? take(*reply) : fail(reply.error());
      if (!running()) Q_EMIT changed();
    });
  }
  virtual void fail(const EngineError& error);  // was stopped or died with the engine: no problem of its own
  virtual void progress(const QString& stage, double fraction);
  virtual void clear() {}  // drops the figures
  void forget();           // the figures and the problem

  Session* session_;
  Question question_;
  QString stage_, problem_;
  double share_ = 0;
};

}  // namespace normlens::ui
