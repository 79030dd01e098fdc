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

// The environment's NORMLENS_ENGINE, else the setting "engine/command", else the default engine with " serve".
[[nodiscard]] EngineCommand engineCommandFromSettings();

// Splits a shell-like line: quotes keep words together.
[[nodiscard]] EngineCommand engineCommandFromLine(const QString& line);

}  // namespace normlens::ui
