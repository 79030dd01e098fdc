// The window that lessons are presented in. Thread: the window's.
#pragma once

#include <QApplication>

#include "ui/window/learn/presenter.h"

namespace normlens::test {

// nullptr while nothing is presented.
inline ui::Presenter* presenter() {
  for (QWidget* window : QApplication::topLevelWidgets()) {
    if (auto* found = qobject_cast<ui::Presenter*>(window)) return found;
  }
  return nullptr;
}

}  // namespace normlens::test
