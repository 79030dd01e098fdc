// Writes what the inspector shows as plain text for the clipboard.
#pragma once

#include <QString>

namespace normlens::ui {

class Session;

// Describes the selected norm, node or edge; the model where nothing is selected. Empty without a model.
[[nodiscard]] QString selectionText(const Session& session);

}  // namespace normlens::ui
