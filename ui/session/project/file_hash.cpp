#include "ui/session/project/file_hash.h"

#include <QCryptographicHash>
#include <QFile>
#include <QFileInfo>

#include "ui/session/on_worker.h"

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
  onWorker(
      this, [path, stopped = stopped_] { return hashOf(path, *stopped); },
      [this, path, stopped = stopped_](const QString& sha256) {
        if (!*stopped) Q_EMIT done(path, sha256);
      });
}

void FileHash::stop() {
  if (stopped_) *stopped_ = true;
  stopped_.reset();
}

}  // namespace normlens::ui
