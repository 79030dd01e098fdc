#include "ui/learn/figure.h"

#include <QLabel>
#include <QPainter>
#include <QStyle>

namespace normlens::ui {
namespace {

constexpr int kLeastInRoom = 18;  // pixels of text

struct Kind {
  const char* name;
  Figure* (*make)(QWidget* parent);
};

constexpr Kind kKinds[] = {
    {"centering", makeCenteringFigure}, {"compression", makeCompressionFigure}, {"cut", makeCutFigure},
    {"forced", makeForcedFigure},       {"graph_walk", makeGraphWalkFigure},    {"projection", makeProjectionFigure},
    {"speed", makeSpeedFigure}};

}  // namespace

Motion wantedMotion(const QWidget& widget) {
  const int duration = widget.style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, &widget);
  return duration == 0 ? Motion::Cut : Motion::Animated;
}

Figure::Figure(QWidget* parent) : QWidget(parent), column_(new QVBoxLayout(this)) {
  column_->setContentsMargins({});
  column_->setSpacing(16);
}

void Figure::setControls(QWidget* controls) {
  controls_ = controls;
  controls_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  column_->addWidget(controls_);
}

// Above the controls and below them.
std::vector<QRect> Figure::pictureParts() const {
  if (presented_ || controls_ == nullptr || controls_->isHidden()) return {rect()};
  const int gap = column_->spacing();
  const QRect away = controls_->geometry().adjusted(0, -gap, 0, gap);
  std::vector<QRect> parts;
  for (const QRect& part : {QRect(0, 0, width(), away.top()), QRect(0, away.bottom() + 1, width(), height())}) {
    if (const QRect inside = part & rect(); !inside.isEmpty()) parts.push_back(inside);
  }
  return parts;
}

QSize Figure::pictureSize() const {
  int tall = 0;
  for (const QRect& part : pictureParts()) tall += part.height() + (tall > 0 ? column_->spacing() : 0);
  return {width(), tall};
}

void Figure::paintPicture(QPainter& painter) {
  int top = 0;
  for (const QRect& part : pictureParts()) {
    render(&painter, QPoint(0, top), QRegion(part), QWidget::DrawChildren);
    top += part.height() + column_->spacing();
  }
}

void Figure::setPresented(double factor) {
  if (!presented_) {
    presented_ = true;
    column_->setSpacing(8);  // text takes the room
    column_->removeWidget(controls_);
    controls_->hide();
  }
  enlarge(factor);
  for (QLabel* label : findChildren<QLabel*>()) {
    label->ensurePolished();
    if (label->fontInfo().pixelSize() < kLeastInRoom)
      label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(kLeastInRoom));
  }
}

void Figure::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (!presented_) return;
  const int tall = controls_->sizeHint().height();
  controls_->setGeometry(0, height() - tall, width(), tall);
  controls_->raise();
}

QStringList figureKinds() {
  QStringList names;
  for (const Kind& kind : kKinds) names << QString::fromLatin1(kind.name);
  return names;
}

Figure* makeFigure(const QString& kind, QWidget* parent) {
  for (const Kind& known : kKinds) {
    if (kind == QLatin1String(known.name)) return known.make(parent);
  }
  return nullptr;
}

}  // namespace normlens::ui
