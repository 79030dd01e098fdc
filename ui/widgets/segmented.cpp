#include "ui/widgets/segmented.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/theme/theme.h"

namespace normlens::ui {

Segmented::Segmented(const QVector<Segment>& segments, QWidget* parent) : QWidget(parent), segments_(segments) {
  setFocusPolicy(Qt::TabFocus);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize Segmented::sizeHint() const {
  int widest = 0;
  const QFontMetrics metrics(uiFont(12, QFont::DemiBold));
  for (const Segment& segment : segments_) widest = qMax(widest, metrics.horizontalAdvance(segment.text));
  return {static_cast<int>(segments_.size()) * (widest + 24), 26};
}

void Segmented::setCurrent(int index) {
  current_ = index;
  setAccessibleDescription(segments_.value(index).text);
  update();
}

void Segmented::choose(int index) {
  if (index < 0 || index >= segments_.size() || index == current_) return;
  setCurrent(index);
  Q_EMIT chosen(index);
}

QRectF Segmented::cell(int index) const {
  const double each = width() / static_cast<double>(segments_.size());
  return {index * each, 0, each, static_cast<double>(height())};
}

int Segmented::cellAt(const QPoint& position) const {
  for (int i = 0; i < segments_.size(); ++i) {
    if (cell(i).contains(position)) return i;
  }
  return -1;
}

void Segmented::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(hasFocus() ? theme.accent : theme.hairline);
  painter.setBrush(theme.chrome);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  for (int i = 0; i < segments_.size(); ++i) {
    const QRectF area = cell(i);
    const bool on = i == current_;
    if (on) {
      painter.setPen(theme.control);
      painter.setBrush(theme.dark ? theme.hairline : theme.panel);
      painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    }
    painter.setFont(uiFont(12, on ? QFont::DemiBold : QFont::Normal));
    painter.setPen(on ? theme.text : theme.textSoft);
    painter.drawText(area, Qt::AlignCenter, segments_[i].text);
  }
}

void Segmented::mousePressEvent(QMouseEvent* event) { choose(cellAt(event->position().toPoint())); }

void Segmented::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Left) return choose(current_ - 1);
  if (event->key() == Qt::Key_Right) return choose(current_ + 1);
  QWidget::keyPressEvent(event);
}

bool Segmented::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int index = cellAt(help->pos());
    if (index >= 0) QToolTip::showText(help->globalPos(), segments_[index].tip, this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace normlens::ui
