// Our own SVG icons (resources/icons), drawn in the color that is wanted.
#pragma once

#include <QColor>
#include <QIcon>
#include <QRectF>
#include <QString>

class QPainter;

namespace normlens::ui {

struct Theme;

// name: file name without ".svg". The icon is sharp at every size and scale; disabled it takes `disabled`.
// An unknown name gives a null icon.
[[nodiscard]] QIcon tintedIcon(const QString& name, const QColor& color, const QColor& disabled = {});

// Straight into a painter, for delegates and painted widgets.
void paintIcon(QPainter& painter, const QRectF& area, const QString& name, const QColor& color);

// The program's own mark, in its own colors.
[[nodiscard]] QIcon applicationIcon();
// The box of a choice that is on or off.
void paintTick(QPainter& painter, const QRectF& box, bool on, const Theme& theme);

}  // namespace normlens::ui
