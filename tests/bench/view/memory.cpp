#include "tests/bench/view/memory.h"

#include <QFile>

namespace normlens::bench {

double residentMegabytes(qint64 process) {
  QFile status(QStringLiteral("/proc/%1/status").arg(process));
  if (!status.open(QIODevice::ReadOnly)) return 0;
  for (const QByteArray& line : status.readAll().split('\n')) {
    if (line.startsWith("VmRSS:")) return line.simplified().split(' ').value(1).toDouble() / 1024;
  }
  return 0;
}

}  // namespace normlens::bench
