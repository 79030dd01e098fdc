#include "ui/client/process_memory.h"

#include <unistd.h>

#include <QFile>

namespace normlens::ui {

namespace {

std::optional<qint64> residentBytesOfOne(qint64 processId) {
  QFile file(QStringLiteral("/proc/%1/statm").arg(processId));
  if (!file.open(QIODevice::ReadOnly)) return std::nullopt;
  const QList<QByteArray> fields = file.readAll().split(' ');
  if (fields.size() < 2) return std::nullopt;
  return fields[1].toLongLong() * sysconf(_SC_PAGESIZE);
}

}  // namespace

std::optional<qint64> residentBytes(qint64 processId) {
  if (processId <= 0) return std::nullopt;
  QFile children(QStringLiteral("/proc/%1/task/%1/children").arg(processId));
  qint64 bytes = 0;
  if (children.open(QIODevice::ReadOnly)) {
    for (const QByteArray& child : children.readAll().simplified().split(' ')) {
      bytes += residentBytesOfOne(child.toLongLong()).value_or(0);
    }
  }
  return bytes > 0 ? bytes : residentBytesOfOne(processId);
}

}  // namespace normlens::ui
