#include "ui/client/engine_command.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <QSettings>
#include <QStandardPaths>
#include <QUrl>
#include <algorithm>

namespace normlens::ui {

namespace {

QString programOf(const EngineCommand& command) { return QFileInfo(command.value(0)).fileName(); }

// Returns the first word that is no option and no value of one. `valued`: the letters of options with a value.
QString firstArgument(const QStringList& words, const QString& valued) {
  for (qsizetype i = 0; i < words.size(); ++i) {
    const QString& word = words[i];
    if (!word.startsWith(u'-')) return word;
    if (word.startsWith(QStringLiteral("--"))) continue;
    const auto takesValue = [&](QChar letter) { return valued.contains(letter); };
    const auto letter = std::find_if(word.begin() + 1, word.end(), takesValue);
    if (letter != word.end() && letter + 1 == word.end()) ++i;  // the value is the next word
  }
  return {};
}

}  // namespace

QString hostOf(const EngineCommand& command) {
  const QString program = programOf(command);
  if (program == QStringLiteral("ssh")) {
    const QString to = firstArgument(command.mid(1), QStringLiteral("BbcDEeFIiJLlmOopQRSWw"));
    return to.startsWith(QStringLiteral("ssh://")) ? QUrl(to).host() : to.section(u'@', -1);
  }
  const bool isContainer = program == QStringLiteral("docker") || program == QStringLiteral("podman");
  const bool isExec = isContainer && command.value(1) == QStringLiteral("exec");
  return isExec ? firstArgument(command.mid(2), QStringLiteral("euw")) : QString();
}

EngineCommand withoutQuestions(EngineCommand command) {
  const bool chosen = command.join(u' ').contains(QStringLiteral("BatchMode"), Qt::CaseInsensitive);
  if (programOf(command) == QStringLiteral("ssh") && !chosen) command.insert(1, QStringLiteral("-oBatchMode=yes"));
  return command;
}

QString connectionEnd(const EngineCommand& command, int exitCode, const QString& lastWords) {
  constexpr int kNotFound = 127;    // a shell's
  constexpr int kConnection = 255;  // ssh's
  const auto tr = [](const char* text) { return QCoreApplication::translate("EngineCommand", text); };
  const QString host = hostOf(command);
  if (host.isEmpty()) return {};
  if (exitCode == kNotFound) {
    return tr("The engine was not found on %1: %2. Install NormLens there, or name the engine with its folder.")
        .arg(host, lastWords);
  }
  if (exitCode != kConnection || programOf(command) != QStringLiteral("ssh")) return {};
  if (lastWords.contains(QStringLiteral("Permission denied"))) {
    return tr("%1 wants a password, and the window cannot ask for it. Set up a key: run ssh-copy-id %1 in a terminal.")
        .arg(host);
  }
  if (lastWords.contains(QStringLiteral("Host key verification failed"))) {
    return tr("ssh does not trust the host key of %1: it is new or has changed. Run ssh %1 in a terminal to see it.")
        .arg(host);
  }
  return tr("The connection to %1 ended: %2").arg(host, lastWords.isEmpty() ? tr("ssh gives no reason.") : lastWords);
}

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
