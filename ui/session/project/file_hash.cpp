#include "ui/session/project/file_hash.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QFile>
#include <QFileInfo>
#include <QPointer>
#include <QRunnable>
#include <QThreadPool>
#include <utility>

#include "core/base/handed_over.h"

namespace normlens::ui {

namespace {

constexpr qint64 kAtATime = 1 << 20;

QString hashOf(const QString& path, const std::atomic<bool>& stopped) {
  if (!QFileInfo(path).isFile()) return {};  // a pipe would be waited for
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return {};
  QCryptographicHash hash(QCryptographicHash::Sha256);
  QByteArray part(kAtATime, Qt::Uninitialized);
  for (;;) {
    if (stopped) return {};
    const qint64 got = file.read(part.data(), part.size());
    if (got < 0) return {};
    if (got == 0) return QString::fromLatin1(hash.result().toHex());
    hash.addData(QByteArrayView(part.constData(), got));
  }
}

// The pool's own; deleted by it.
template <class Call>
class Work final : public QRunnable {
 public:
  explicit Work(HandedOver<Call>&& call) : call_(std::move(call)) {}
  void run() override { call_(); }

 private:
  HandedOver<Call> call_;
};

}  // namespace

void FileHash::start(const QString& path) {
  stop();
  stopped_ = std::make_shared<std::atomic<bool>>(false);
  // The worker may outlive this object: it holds nothing of it but a pointer that is looked at on this thread only.
  QThreadPool::globalInstance()->start(new Work(HandedOver([path, stopped = stopped_, self = QPointer<FileHash>(this)] {
    const QString sha256 = hashOf(path, *stopped);
    QMetaObject::invokeMethod(QCoreApplication::instance(), HandedOver([path, stopped, self, sha256] {
                                if (self && !*stopped) Q_EMIT self->done(path, sha256);
                              }),
                              Qt::QueuedConnection);
  })));
}

void FileHash::stop() {
  if (stopped_) *stopped_ = true;
  stopped_.reset();
}

}  // namespace normlens::ui
