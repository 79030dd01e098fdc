// What is photographed: a name and what brings the window there.
#pragma once

#include <QString>
#include <QVector>
#include <functional>

#include "ui/window/main_window.h"

namespace normlens::screens {

struct Stage {
  ui::MainWindow& window;
  QString model;               // one that folds
  QString other;               // one with blocked norms
  QWidget* picture = nullptr;  // what is photographed in place of the window
};

struct Scene {
  QString name;
  std::function<void(Stage&)> set;
  QStringList engine = {};  // arguments of the fake engine that the scene needs; empty: any engine will do
  bool quick = true;        // does not wait for what only a real engine does, or for work that dawdles
};

[[nodiscard]] QVector<Scene> scenes();

}  // namespace normlens::screens
