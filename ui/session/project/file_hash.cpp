#include "ui/session/project/file_hash.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QFile>
#include <QFileInfo>
#include <QPointer>
#include <QThreadPool>
#include <memory>

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

}  // namespace

void FileHash::start(const QString& path) {
  stop();
  stopped_ = std::make_shared<std::atomic<bool>>(false);
  // The worker may outlive this object: it holds nothing of it but a pointer that is looked at on this thread only.
  HandedOver work([path, stopped = stopped_, self = QPointer<FileHash>(this)] {
    const QString sha256 = hashOf(path, *stopped);
    QMetaObject::invokeMethod(QCoreApplication::instance(), HandedOver([path, stopped, self, sha256] {
                                if (self && !*stopped) Q_EMIT self->done(path, sha256);
                              }),
                              Qt::QueuedConnection);
  });
  // The pool copies what it is given.
  QThreadPool::globalInstance()->start([task = std::make_shared<decltype(work)>(std::move(work))] { (*task)(); });
}

void FileHash::stop() {
  if (stopped_) *stopped_ = true;
  stopped_.reset();
}

}  // namespace normlens::ui
