#include "ui/client/engine_command.h"

#include <wordexp.h>

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

bool isSsh(const EngineCommand& command) { return programOf(command) == QStringLiteral("ssh"); }

// Returns the place, from `first` on, of the first word that is no option and no value of one; behind the last where
// there is none. `valued`: the letters of options with a value.
qsizetype firstArgument(const QStringList& words, qsizetype first, const QString& valued) {
  for (qsizetype i = first; i < words.size(); ++i) {
    const QString& word = words[i];
    if (!word.startsWith(u'-')) return i;
    if (word.startsWith(QStringLiteral("--"))) continue;
    const auto takesValue = [&](QChar letter) { return valued.contains(letter); };
    const auto letter = std::find_if(word.begin() + 1, word.end(), takesValue);
    if (letter != word.end() && letter + 1 == word.end()) ++i;  // the value is the next word
  }
  return words.size();
}

qsizetype placeOfSshHost(const EngineCommand& command) {
  return firstArgument(command, 1, QStringLiteral("BbcDEeFIiJLlmOopQRSWw"));
}

// As a shell takes them, but for commands in commands: of both kinds of quotes, variables and ~.
EngineCommand wordsOf(const QString& line) {
  wordexp_t expanded{};
  if (::wordexp(line.toUtf8().constData(), &expanded, WRDE_NOCMD) != 0) return QProcess::splitCommand(line);
  EngineCommand words;
  for (size_t i = 0; i < expanded.we_wordc; ++i) words << QString::fromUtf8(expanded.we_wordv[i]);
  ::wordfree(&expanded);
  return words;
}

}  // namespace

QString hostOf(const EngineCommand& command) {
  if (isSsh(command)) {
    const QString to = command.value(placeOfSshHost(command));
    return to.startsWith(QStringLiteral("ssh://")) ? QUrl(to).host() : to.section(u'@', -1);
  }
  const QString program = programOf(command);
  const bool isContainer = program == QStringLiteral("docker") || program == QStringLiteral("podman");
  if (isContainer && command.value(1) == QStringLiteral("exec"))
    return command.value(firstArgument(command, 2, QStringLiteral("euw")));
  // Any other program may lead anywhere, but for those that start a program here.
  static const QStringList kHere{QStringLiteral("env"),     QStringLiteral("nice"),    QStringLiteral("taskset"),
                                 QStringLiteral("numactl"), QStringLiteral("sh"),      QStringLiteral("bash"),
                                 QStringLiteral("gdb"),     QStringLiteral("valgrind")};
  return program.startsWith(QStringLiteral("normlens")) || kHere.contains(program) ? QString() : program;
}

EngineCommand startedCommand(EngineCommand command) {
  if (!isSsh(command)) return command;
  // ssh takes the first of two values, so these follow the command's own.
  qsizetype place = std::min(placeOfSshHost(command), command.size());
  for (const char* option : {"-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=5",
                             "-oServerAliveCountMax=3", "-oCompression=yes"}) {
    command.insert(place++, QLatin1String(option));
  }
  return command;
}

QString connectionEnd(const EngineCommand& command, int exitCode, const QString& lastWords) {
  constexpr int kNotFound = 127;  // a shell's
  const auto tr = [](const char* text) { return QCoreApplication::translate("EngineCommand", text); };
  const QString host = hostOf(command);
  if (host.isEmpty()) return {};
  if (exitCode == kNotFound) {
    return tr("The engine was not found on %1: %2. Install NormLens there, or name the engine with its folder.")
        .arg(host, lastWords);
  }
  if (exitCode != kConnectionEnded || !isSsh(command)) return {};
  if (lastWords.contains(QStringLiteral("Permission denied"))) {
    return tr("%1 wants a password, and the window cannot ask for it. Set up a key: run ssh-copy-id %1 in a terminal.")
        .arg(host);
  }
  if (lastWords.contains(QStringLiteral("Host key verification failed"))) {
    return tr("ssh does not trust the host key of %1: it is new or has changed. Run ssh %1 in a terminal to see it.")
        .arg(host);
  }
  return tr("The connection to %1 ended: %2")
      .arg(host, lastWords.isEmpty() ? tr("ssh gives no reason; the engine may have been killed there.") : lastWords);
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
  return engineCommandFromLine(QSettings().value(QStringLiteral("engine/command")).toString());
}

EngineCommand engineCommandFromLine(const QString& line) {
  if (!line.trimmed().isEmpty()) return wordsOf(line);
  const QString program = defaultEngineProgram();
  return program.isEmpty() ? EngineCommand() : EngineCommand{program, QStringLiteral("serve")};
}

}  // namespace normlens::ui
