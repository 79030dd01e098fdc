#include "ui/learn/figure.h"

#include <QStyle>

namespace normlens::ui {

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

void Figure::setPresented(double factor) {
  if (!presented_) {
    presented_ = true;
    column_->removeWidget(controls_);
    controls_->hide();
  }
  enlarge(factor);
}

void Figure::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (!presented_) return;
  const int tall = controls_->sizeHint().height();
  controls_->setGeometry(0, height() - tall, width(), tall);
  controls_->raise();
}

}  // namespace normlens::ui
