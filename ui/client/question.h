// Requests of which only the newest is answered: a new one drops the one before. Thread: GUI thread.
#pragma once

#include <memory>

#include "ui/client/engine_client.h"

namespace normlens::ui {

class Question final {
  Q_DISABLE_COPY_MOVE(Question)

 public:
  // engine: not owned, outlives the question. owner: has this as a member; when it is gone nothing is answered.
  Question(EngineClient* engine, QObject* owner) : engine_(engine), owner_(owner) {}
  ~Question() { ++*asked_; }  // not answered any more, though its owner lives on

  template <class Params, class T>
  void ask(const protocol::Method<Params, T>& method, const std::type_identity_t<Params>& params,
           const std::type_identity_t<std::function<void(Reply<T>&)>>& done) {
    drop();
    request_ =
        engine_->request(method, params, owner_, [this, newest = asked_, asked = *asked_, done](Reply<T>& reply) {
          if (asked != *newest) return;
          request_ = 0;
          done(reply);
        });
  }
  void stop() {  // answered as cancelled, or with what came first
    if (pending()) engine_->cancel(request_);
  }
  void drop() {  // not answered any more
    stop();
    request_ = 0;
    ++*asked_;
  }
  [[nodiscard]] bool pending() const { return request_ != 0; }
  [[nodiscard]] bool is(EngineClient::RequestId id) const { return pending() && id == request_; }

 private:
  EngineClient* engine_;
  QObject* owner_;
  EngineClient::RequestId request_ = 0;  // 0: none
  // Grows with each drop. A request holds it too, since its answer may come when the question is gone.
  std::shared_ptr<int> asked_ = std::make_shared<int>(0);
};

}  // namespace normlens::ui
