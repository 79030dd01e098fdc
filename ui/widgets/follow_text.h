// Lets a widget whose size in pixels is that of its text grow with the chosen size of text.
//
//   followText(this, [this] { setFixedHeight(grown(52)); });
#pragma once

#include <QWidget>
#include <functional>

namespace normlens::ui {

// Calls `apply` now, and again whenever another size of text was chosen, as long as `widget` lives.
void followText(QWidget* widget, const std::function<void()>& apply);
// setFixedHeight() and setFixedWidth() with a length for the usual size of text.
void setTextHeight(QWidget* widget, int pixels);
void setTextWidth(QWidget* widget, int pixels);
void setTextWidthAtLeast(QWidget* widget, int pixels);  // setMinimumWidth()

}  // namespace normlens::ui
