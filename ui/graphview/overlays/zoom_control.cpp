#include "ui/graphview/overlays/zoom_control.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <cmath>

#include "ui/layout/box_metrics.h"
#include "ui/theme/theme.h"

namespace normlens::graphview {
namespace {

constexpr double kEdges[] = {0, 31, 78, 109, 140};

void paintCorners(QPainter& painter, const QPointF& c) {
  constexpr double kOut = 5.5, kIn = 2.2;
  for (const double x : {-1.0, 1.0}) {
    for (const double y : {-1.0, 1.0}) {
      QPainterPath corner(c + QPointF(x * kIn, y * kOut));
      corner.lineTo(c + QPointF(x * kOut, y * kOut));
      corner.lineTo(c + QPointF(x * kOut, y * kIn));
      painter.drawPath(corner);
    }
  }
}

}  // namespace

ZoomControl::ZoomControl(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::NoFocus);
  setCursor(Qt::ArrowCursor);
  setAccessibleName(tr("Zoom"));
}

void ZoomControl::setZoom(double zoom) {
  const int percent = static_cast<int>(std::lround(zoom * 100));
  if (percent == percent_) return;
  percent_ = percent;
  setAccessibleDescription(tr("%1 percent").arg(percent_));
  update();
}

QSize ZoomControl::sizeHint() const { return {ui::grown(140), ui::grown(28)}; }

QRectF ZoomControl::partRect(int part) const {
  const double scale = width() / kEdges[4];
  return {kEdges[part] * scale, 0, (kEdges[part + 1] - kEdges[part]) * scale, static_cast<double>(height())};
}

int ZoomControl::partAt(const QPointF& position) const {
  for (int part = 0; part < 4; ++part) {
    if (partRect(part).contains(position)) return part;
  }
  return -1;
}

void ZoomControl::paintEvent(QPaintEvent*) {
  const ui::Theme theme = ui::themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF frame = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
  painter.setPen(QPen(theme.control, 1));
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(frame, 6, 6);
  if (hovered_ >= 0) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.hover);
    painter.drawRoundedRect(partRect(hovered_).adjusted(2.5, 2.5, -2.5, -2.5), 4, 4);
  }
  painter.setPen(QPen(theme.hairline, 1));
  const double line = partRect(3).left() + 0.5;
  painter.drawLine(QPointF(line, 5), QPointF(line, height() - 5));
  painter.setPen(QPen(theme.textSoft, 1.4, Qt::SolidLine, Qt::FlatCap));
  painter.setBrush(Qt::NoBrush);
  const QPointF minus = partRect(0).center(), plus = partRect(2).center();
  painter.drawLine(minus - QPointF(4.5, 0), minus + QPointF(4.5, 0));
  painter.drawLine(plus - QPointF(4.5, 0), plus + QPointF(4.5, 0));
  painter.drawLine(plus - QPointF(0, 4.5), plus + QPointF(0, 4.5));
  paintCorners(painter, partRect(3).center());
  painter.setPen(theme.text);
  painter.setFont(layout::labelFont(ui::grown(12), false));
  painter.drawText(partRect(1), Qt::AlignCenter, QStringLiteral("%1%").arg(percent_));
}

void ZoomControl::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  constexpr void (ZoomControl::*kRequests[])() = {&ZoomControl::zoomOutRequested, &ZoomControl::actualSizeRequested,
                                                  &ZoomControl::zoomInRequested, &ZoomControl::fitRequested};
  if (const int part = partAt(event->position()); part >= 0) Q_EMIT(this->*kRequests[part])();
}

void ZoomControl::mouseDoubleClickEvent(QMouseEvent* event) { mousePressEvent(event); }

void ZoomControl::mouseMoveEvent(QMouseEvent* event) {
  const int part = partAt(event->position());
  if (part == hovered_) return;
  hovered_ = part;
  update();
}

void ZoomControl::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

bool ZoomControl::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString texts[] = {tr("Zoom out (−)"), tr("Zoom to 100% (Ctrl+0)"), tr("Zoom in (+)"),
                             tr("Show everything (F)")};
    const int part = partAt(help->pos());
    if (part >= 0) QToolTip::showText(help->globalPos(), texts[part], this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace normlens::graphview
