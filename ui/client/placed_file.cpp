#include "ui/client/placed_file.h"

#include <QFileInfo>

namespace normlens::ui {

QString placedOn(const QString& machine, const QString& path) {
  return machine.isEmpty() ? path : machine + u':' + path;
}

// A file of this machine may have such a name too.
QString machineOf(const QString& file) {
  const QString machine = file.left(qMax(qsizetype{0}, file.indexOf(QStringLiteral(":/"))));
  return machine.contains(u'/') || QFileInfo::exists(file) ? QString() : machine;
}

QString pathThere(const QString& file) {
  const QString machine = machineOf(file);
  return machine.isEmpty() ? file : file.mid(machine.size() + 1);
}

}  // namespace normlens::ui
