// The engine's sentences in the words of the window. Thread: pure function.
#pragma once

#include <QString>

namespace normlens::ui {

// Where a sentence names an option of the command line ("give inputs with --inputs FILE.npz"), the window names its own
// place for it.
[[nodiscard]] QString inWindowWords(QString said);

}  // namespace normlens::ui
