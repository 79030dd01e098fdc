// An engine on gpu-box, by a program called ssh that runs the fake engine in another folder.
#pragma once

#include "tests/ui/shell/shell_test.h"

namespace normlens::test {

// A program called ssh in `folder` that does what a shell does with these lines.
inline ui::EngineCommand sshOf(const QTemporaryDir& folder, const QString& lines,
                               const QStringList& words = {QStringLiteral("me@gpu-box")}) {
  QFile file(folder.filePath(QStringLiteral("ssh")));
  if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate)) qFatal("no ssh");
  file.write("#!/bin/sh\n" + lines.toUtf8() + "\n");
  file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  return ui::EngineCommand{file.fileName()} + words;
}

// Answers like ssh where the connection stands: the words after options and host are run. It ends when they fail, and
// does not begin while the file "down" is there.
inline ui::EngineCommand connectedBy(const QTemporaryDir& folder, const ui::EngineCommand& engine) {
  const QString lines = QStringLiteral(
      "cd '%1'\necho \"$@\" > words\n"
      "while [ \"${1#-}\" != \"$1\" ]; do shift; done\nshift\n"
      "if rm down 2>/dev/null; then echo 'ssh: connect to host gpu-box port 22: No route to host' >&2; exit 255; fi\n"
      "\"$@\" || { echo 'Connection to gpu-box closed by remote host.' >&2; exit 255; }");
  return sshOf(folder, lines.arg(folder.path()), QStringList{QStringLiteral("me@gpu-box")} + engine);
}

// Names a file of `folder` so that no other process sees it under that path: /proc/self/cwd is a folder of its own to
// each, as a disk of its own is to each machine.
inline QString onlyHere(const QTemporaryDir& folder, const QString& name) {
  if (!QDir::setCurrent(folder.path())) qFatal("no folder");
  return QStringLiteral("/proc/self/cwd/") + name;
}

}  // namespace normlens::test
