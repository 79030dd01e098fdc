#include "ui/graphview/overlays/canvas_message.h"

#include <QCoreApplication>
#include <QPainter>
#include <QTimerEvent>
#include <algorithm>
#include <cmath>

#include "ui/layout/box_metrics.h"
#include "ui/theme/theme.h"

namespace normlens::graphview {
namespace {

constexpr int kTextPixels = 13;
constexpr int kTurnMs = 33;

QString tr(const char* words) { return QCoreApplication::translate("CanvasMessage", words); }

}  // namespace

void CanvasMessage::spinIfNeeded(QObject* owner, bool laysOut, bool overGraph) {
  const bool wanted = error.isEmpty() && (!busy.isEmpty() || (laysOut && (!overGraph || !stage.isEmpty())));
  if (!wanted) return timer_.stop();
  if (!timer_.isActive()) timer_.start(kTurnMs, owner);
}

bool CanvasMessage::turn(const QTimerEvent& event) {
  if (event.timerId() != timer_.timerId()) return false;
  angle_ = std::fmod(angle_ + 12, 360);
  return true;
}

QString CanvasMessage::text() const {
  if (!error.isEmpty()) return error;
  if (!busy.isEmpty()) return busy;
  if (!spins()) return tr("Open a model to see its graph");
  return stage.isEmpty() ? tr("Laying out the graph") : stage;
}

void CanvasMessage::paint(QPainter& painter, const QRectF& area, bool overGraph, const ui::Theme& theme) const {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(layout::labelFont(ui::grown(kTextPixels), false));
  if (!overGraph || !error.isEmpty()) {
    const QPointF middle = area.center();
    if (spins() && error.isEmpty()) paintSpinner(painter, middle - QPointF(0, 34), 13, theme);
    painter.setPen(error.isEmpty() ? theme.textSoft : theme.blocked);
    const double column = std::min(area.width(), 460.0);
    painter.drawText(QRectF(middle.x() - column / 2, middle.y() - 8, column, 120),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, text());
    return;
  }
  const double width = painter.fontMetrics().horizontalAdvance(text()) + 46;
  const QRectF note(12, 12, width, ui::grown(28));
  painter.setPen(QPen(theme.control, 1));
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(note.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  paintSpinner(painter, {note.left() + 17, note.center().y()}, 6, theme);
  painter.setPen(theme.textSoft);
  painter.drawText(note.adjusted(32, 0, -8, 0), Qt::AlignVCenter | Qt::AlignLeft, text());
}

void CanvasMessage::paintSpinner(QPainter& painter, const QPointF& center, double radius,
                                 const ui::Theme& theme) const {
  const QRectF circle(center.x() - radius, center.y() - radius, 2 * radius, 2 * radius);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.hairline, 2));
  painter.drawEllipse(circle);
  painter.setPen(QPen(theme.accentText, 2, Qt::SolidLine, Qt::RoundCap));
  painter.drawArc(circle, static_cast<int>(-angle_ * 16), 100 * 16);
}

}  // namespace normlens::graphview
