// Links a widget to the lesson that explains it: F1 over it, or with the keyboard in it, opens that lesson.
#pragma once

#include <QString>

class QWidget;

namespace normlens::ui {

// Sets the tooltip, which then adds that F1 explains more. `lesson`: the name of a file of resources/lessons without
// number and suffix, "gamma_beta".
void explain(QWidget* widget, const QString& tip, const char* lesson);
// Links a whole page, without setting a tooltip.
void linkLesson(QWidget* widget, const char* lesson);

// Returns the lesson of the widget, or of the nearest one around it that has one; empty if none. widget may be null.
[[nodiscard]] QString lessonOf(const QWidget* widget);

}  // namespace normlens::ui
