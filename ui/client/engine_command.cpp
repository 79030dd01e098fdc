#include "ui/client/engine_command.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <QSettings>
#include <QStandardPaths>

namespace normlens::ui {

QString defaultEngineProgram() {
  const QDir here(QCoreApplication::applicationDirPath());
  for (const char* relative : {"normlens-engine", "../libexec/normlens/normlens-engine", "../bin/normlens-engine"}) {
    const QFileInfo candidate(here.filePath(QLatin1String(relative)));
    if (candidate.isExecutable() && candidate.isFile()) return candidate.canonicalFilePath();
  }
  return QStandardPaths::findExecutable(QStringLiteral("normlens-engine"));
}

EngineCommand engineCommandFromSettings() {
  const QString fromEnvironment = qEnvironmentVariable("NORMLENS_ENGINE");
  if (!fromEnvironment.trimmed().isEmpty()) return engineCommandFromLine(fromEnvironment);
  const QString fromSettings = QSettings().value(QStringLiteral("engine/command")).toString();
  if (!fromSettings.trimmed().isEmpty()) return engineCommandFromLine(fromSettings);
  const QString program = defaultEngineProgram();
  return program.isEmpty() ? EngineCommand() : EngineCommand{program, QStringLiteral("serve")};
}

EngineCommand engineCommandFromLine(const QString& line) { return QProcess::splitCommand(line); }

}  // namespace normlens::ui
