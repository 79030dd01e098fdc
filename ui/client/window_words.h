// The engine's sentences in the words of the window. Thread: pure function.
#pragma once

#include <QString>

namespace normlens::ui {

// Replaces an option of the command line that a sentence names ("give inputs with --inputs FILE.npz") by the window's
// own place for it.
[[nodiscard]] QString inWindowWords(QString said);

}  // namespace normlens::ui
