// Finds text that a window shows in part: a walk over what is visible.
#pragma once

#include <QStringList>

class QWidget;

namespace normlens::screens {

// One line for each find, "storyBar/nextAction (PushButton): ...": labels, buttons, fields, tabs and headers that are
// smaller than their text, cells whose text ends in "…" while no tooltip has the whole of it, widgets that reach beyond
// what they stand in or lie over each other. Empty: all can be read.
[[nodiscard]] QStringList clippedText(const QWidget& window);

}  // namespace normlens::screens
