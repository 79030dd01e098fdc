// The role by which a screen reader announces a widget that paints itself; Qt knows those of its own widgets. Thread:
// GUI thread.
#pragma once

#include <QAccessible>

class QWidget;

namespace normlens::ui {

// Before the widget is first looked at: in its constructor.
void setSpokenRole(QWidget* widget, QAccessible::Role role);

}  // namespace normlens::ui
