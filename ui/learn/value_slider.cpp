#include "ui/learn/value_slider.h"

#include <QKeyEvent>
#include <QSignalBlocker>
#include <QSlider>
#include <algorithm>
#include <cmath>

#include "ui/widgets/frames.h"

namespace normlens::ui {
namespace {

constexpr int kSteps = 4000;

}  // namespace

ValueSlider::ValueSlider(const char* objectName, const SlidValue& what, QWidget* parent)
    : QWidget(parent), what_(what), value_(what.low) {
  setToolTip(what.tip);
  auto* column = makeColumn(this, 2);
  auto* heading = new QHBoxLayout;
  heading->addWidget(makeLabel(what.name, "name", this));
  heading->addStretch();
  written_ = makeLabel({}, "mono", this);
  heading->addWidget(written_);
  slider_ = new QSlider(Qt::Horizontal, this);
  slider_->setObjectName(QLatin1String(objectName));
  slider_->setAccessibleName(what.name);
  slider_->setRange(0, kSteps);
  slider_->setPageStep(kSteps / 10);
  slider_->installEventFilter(this);
  auto* ends = new QHBoxLayout;
  ends->addWidget(makeLabel(what.words(what.low), "small", this));
  ends->addStretch();
  ends->addWidget(makeLabel(what.words(what.high), "small", this));
  column->addLayout(heading);
  column->addWidget(slider_);
  column->addLayout(ends);
  connect(slider_, &QSlider::valueChanged, this,
          [this](int at) { take(what_.low + (what_.high - what_.low) * at / kSteps); });
  show(value_);
}

void ValueSlider::show(double value) {
  value_ = std::clamp(value, what_.low, what_.high);
  const QSignalBlocker quiet(slider_);
  slider_->setValue(static_cast<int>(std::lround((value_ - what_.low) / (what_.high - what_.low) * kSteps)));
  written_->setText(what_.words(value_));
}

void ValueSlider::setValue(double value) { show(value); }

void ValueSlider::take(double value) {
  show(value);
  Q_EMIT moved(value_);
}

bool ValueSlider::eventFilter(QObject* watched, QEvent* event) {
  if (watched != slider_ || event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool less = key->key() == Qt::Key_Left, more = key->key() == Qt::Key_Right;
  if (!less && !more) return false;
  const double unit = key->modifiers().testFlag(Qt::ShiftModifier) ? what_.unit / 10 : what_.unit;
  // Onto the grid of its units: where a mouse has left it, and back to exactly 0.
  take(std::round(value_ / unit + (more ? 1 : -1)) * unit);
  return true;
}

}  // namespace normlens::ui
