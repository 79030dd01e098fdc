// The kinds of figures that a lesson's file can name. A new one: a Figure and a row in figures.cpp.
#pragma once

#include <QString>
#include <QStringList>

class QWidget;

namespace normlens::ui {

class Figure;

[[nodiscard]] QStringList figureKinds();
// nullptr: there is no such kind. The parent owns it.
[[nodiscard]] Figure* makeFigure(const QString& kind, QWidget* parent);

}  // namespace normlens::ui
