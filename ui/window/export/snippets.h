// Python lines that run an exported file where its target runs it, or fold a module that is not in a file. Thread:
// pure.
#pragma once

#include <QString>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

// format: as protocol::ModelInfo::format. target: a TargetInfo's name. inputs: the model's.
[[nodiscard]] QString runSnippet(const QString& format, const QString& target, const QString& file,
                                 const std::vector<protocol::InputSpec>& inputs);
[[nodiscard]] QString moduleSnippet(const std::vector<protocol::InputSpec>& inputs);
[[nodiscard]] QString folderSnippet();

}  // namespace normlens::ui
