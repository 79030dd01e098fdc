// A checkpoint's folder (Hugging Face, timm) is folded by the Python package, which has its classes; the verb fold
// starts it.
#pragma once

#include <string>
#include <vector>

#include "app/engine/console.h"

namespace normlens::engine {

// A folder with config.json: the package says what else it lacks.
[[nodiscard]] bool isCheckpointFolder(const std::string& model);

// Ends this process: `python -m normlens.checkpoint WORDS` takes its place, with this engine. The program is
// NORMLENS_PYTHON, else python3. Returns where that cannot be started.
[[nodiscard]] Exit foldFolder(const std::vector<std::string>& words, Console& console);

}  // namespace normlens::engine
