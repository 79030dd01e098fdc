// Paints the ground of drawn figures: a card with its title at the left and what it claims at the right.
#pragma once

#include <QRectF>
#include <QString>

class QPainter;

namespace normlens::ui {

struct Theme;

struct CardWords {
  QString title, claim;
};

// factor: of text, as in Figure::setPresented(). What is left of the area for the figure.
QRectF paintCard(QPainter& painter, const QRectF& area, const CardWords& words, const Theme& theme, double factor);
// Paints a low card: the title is at the left, the figure beside it.
QRectF paintLowCard(QPainter& painter, const QRectF& area, const QString& title, const Theme& theme, double factor);

}  // namespace normlens::ui
