// The kinds of figures that a lesson's file can name. A new one: a source with a Figure, and a row in figures.cpp.
#pragma once

#include "ui/learn/figure.h"

namespace normlens::ui {

[[nodiscard]] QStringList figureKinds();
// nullptr: there is no such kind. The parent owns it.
[[nodiscard]] Figure* makeFigure(const QString& kind, QWidget* parent);

// One function for each kind; the source of its name describes the figure.
[[nodiscard]] Figure* makeCenteringFigure(QWidget* parent);
[[nodiscard]] Figure* makeCompressionFigure(QWidget* parent);
[[nodiscard]] Figure* makeCutFigure(QWidget* parent);
[[nodiscard]] Figure* makeForcedFigure(QWidget* parent);
[[nodiscard]] Figure* makeGraphWalkFigure(QWidget* parent);
[[nodiscard]] Figure* makeProjectionFigure(QWidget* parent);
[[nodiscard]] Figure* makeSpeedFigure(QWidget* parent);

}  // namespace normlens::ui
