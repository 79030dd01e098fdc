// What a frame of the lessons' figures costs: every step's animation as it plays, every slider and every picture that
// can be dragged, in a window of 1440 by 900 pixels with software drawing.
#pragma once

#include <QString>

namespace normlens::bench {

class FrameClock;

// engine: the program; model: a file. Prints a line for each figure. False where a figure drew no frame.
bool benchLessons(FrameClock& clock, const QString& engine, const QString& model);

}  // namespace normlens::bench
