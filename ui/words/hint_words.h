// A hint of the engine in the words of the window. Thread: pure function.
#pragma once

#include <QString>

#include "core/base/words/hint.h"

namespace normlens::ui {

// "give smaller ones on the tab Inputs"
[[nodiscard]] QString hintWords(const Hint& hint);

}  // namespace normlens::ui
