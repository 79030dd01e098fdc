#include "ui/client/process_memory.h"

#include <unistd.h>

#include <QFile>

namespace normlens::ui {

std::optional<qint64> residentBytes(qint64 processId) {
  if (processId <= 0) return std::nullopt;
  QFile file(QStringLiteral("/proc/%1/statm").arg(processId));
  if (!file.open(QIODevice::ReadOnly)) return std::nullopt;
  const QList<QByteArray> fields = file.readAll().split(' ');
  if (fields.size() < 2) return std::nullopt;
  return fields[1].toLongLong() * sysconf(_SC_PAGESIZE);
}

}  // namespace normlens::ui
