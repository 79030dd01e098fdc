// What the inspector shows, as plain text for the clipboard.
#pragma once

#include <QString>

namespace normlens::ui {

class Session;

// Of the selected norm, node or edge; of the model where nothing is selected. Empty without a model.
[[nodiscard]] QString selectionText(const Session& session);

}  // namespace normlens::ui
