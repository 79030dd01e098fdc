// Something that takes long is made on a worker thread, and taken on the GUI thread if its owner is still there. What
// is made holds nothing of the owner.
//
//   onWorker(this, [path] { return hashOf(path); }, [this](const QString& hash) { ... });
// Thread: called on the GUI thread; `make` runs on a worker, `take` on the GUI thread.
#pragma once

#include <QCoreApplication>
#include <QPointer>
#include <QRunnable>
#include <QThreadPool>
#include <memory>
#include <utility>

#include "core/base/handed_over.h"

namespace normlens::ui {

// The pool's own; deleted by it.
template <class Call>
class PoolWork final : public QRunnable {
 public:
  explicit PoolWork(HandedOver<Call>&& call) : call_(std::move(call)) {}
  void run() override { call_(); }

 private:
  HandedOver<Call> call_;
};

template <class Make, class Take>
void onWorker(QObject* owner, Make make, Take take) {
  QThreadPool::globalInstance()->start(
      new PoolWork(HandedOver([make = std::move(make), take = std::move(take), self = QPointer<QObject>(owner)] {
        auto made = std::make_shared<decltype(make())>(make());
        QMetaObject::invokeMethod(QCoreApplication::instance(), HandedOver([made, take, self] {
                                    if (self) take(std::move(*made));
                                  }),
                                  Qt::QueuedConnection);
      })));
}

}  // namespace normlens::ui
