#include "ui/session/project/recovery.h"

#include <QDir>
#include <QFile>
#include <QSaveFile>
#include <QStandardPaths>
#include <QUuid>

namespace normlens::ui {

namespace {

QString lockOf(const QString& file) { return file + QStringLiteral(".lock"); }

QString newFileIn(const QString& folder) {
  return QDir(folder).filePath(QUuid::createUuid().toString(QUuid::WithoutBraces) + QStringLiteral(".normlens"));
}

}  // namespace

Recovery::Recovery(const QString& folder) : folder_(folder), file_(newFileIn(folder)) {}

Recovery::~Recovery() { drop(); }

QString Recovery::usualFolder() {
  return QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)).filePath(QStringLiteral("recovery"));
}

bool Recovery::keep(const std::string& content) {
  if (folder_.isEmpty()) return false;
  if (!lock_) {
    if (!QDir().mkpath(folder_)) return false;
    lock_ = std::make_unique<QLockFile>(lockOf(file_));
    lock_->setStaleLockTime(0);  // only the death of the process frees it
    if (!lock_->tryLock(0)) {
      lock_.reset();
      return false;
    }
  }
  QSaveFile file(file_);
  const QByteArray bytes = QByteArray::fromStdString(content);
  return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit();
}

void Recovery::drop() {
  if (!lock_) return;
  QFile::remove(file_);
  lock_->unlock();
  lock_.reset();
}

void Recovery::leave() {
  if (!lock_) return;
  lock_.reset();  // which unlocks it
  file_ = newFileIn(folder_);
}

namespace {

constexpr QLatin1String kQuiet(".left.normlens");

}  // namespace

void Recovery::leaveQuietly() {
  if (!lock_) return;
  const QString file = file_;
  leave();
  QFile::rename(file, file.chopped(QLatin1String(".normlens").size()) + kQuiet);
  QFile::remove(lockOf(file));
}

bool Recovery::isQuiet(const QString& orphan) { return orphan.endsWith(kQuiet); }

QStringList Recovery::orphans() const {
  QStringList found;
  if (folder_.isEmpty()) return found;
  const QDir folder(folder_);
  for (const QString& name : folder.entryList({QStringLiteral("*.normlens")}, QDir::Files, QDir::Time)) {
    const QString file = folder.filePath(name);
    if (file == file_) continue;
    QLockFile lock(lockOf(file));
    lock.setStaleLockTime(0);
    if (lock.tryLock(0)) found << file;
  }
  return found;
}

void Recovery::discard(const QString& orphan) {
  QFile::remove(orphan);
  QFile::remove(lockOf(orphan));
}

}  // namespace normlens::ui
