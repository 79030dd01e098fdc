// The command line that starts the engine. A setting, so that it may run elsewhere: "ssh gpu-box normlens-engine
// serve".
#pragma once

#include <QString>
#include <QStringList>

namespace normlens::ui {

// program and arguments; empty: there is nothing to start.
using EngineCommand = QStringList;

// normlens-engine beside our own executable (or in ../libexec/normlens, ../bin), else the one on PATH.
[[nodiscard]] QString defaultEngineProgram();

// The environment's NORMLENS_ENGINE, else the setting "engine/command", else the default engine.
[[nodiscard]] EngineCommand engineCommandFromSettings();

// Returns the machine or container that the command starts the engine on, as the user calls it: "gpu-box" of
// "ssh me@gpu-box normlens-engine serve" and of "docker exec -i gpu-box ...", "to-gpu.sh" of a program of that name.
// Empty: this machine.
[[nodiscard]] QString hostOf(const EngineCommand& command);

// Returns the command as it is started. ssh gets options: it ends with a message where it would ask for a password or
// about a host key, since the window has no place for its question; it ends when the host is silent, and it compresses.
// Options that the command sets itself hold.
[[nodiscard]] EngineCommand startedCommand(EngineCommand command);

constexpr int kConnectionEnded = 255;  // ssh's exit status

// Returns a sentence with what to do for a connection that ended with this exit status and these last words. Empty: it
// is not a connection's end.
[[nodiscard]] QString connectionEnd(const EngineCommand& command, int exitCode, const QString& lastWords);

// Splits a shell-like line: quotes keep words together. A blank line stands for the default engine with " serve".
[[nodiscard]] EngineCommand engineCommandFromLine(const QString& line);

}  // namespace normlens::ui
