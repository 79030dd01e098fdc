// A dialog for a file on the engine's machine. A folder's files come over the protocol. Thread: GUI thread.
#pragma once

#include <functional>

#include "ui/client/engine_client.h"
#include "ui/window/parts.h"

namespace normlens::ui {

// Asks for a file to open, or to write where one is suggested. `use` gets it with its machine. From there the user may
// go to `here`, a file of this machine; so it is at once where the engine's machine is this one.
void askForFileThere(EngineClient* engine, QWidget* parent, const FileQuestion& question,
                     const std::function<void(const QString& file)>& use, const std::function<void()>& here);

}  // namespace normlens::ui
