#include "ui/widgets/elided_label.h"

#include <QEvent>
#include <algorithm>

#include "ui/theme/theme.h"

namespace normlens::ui {

ElidedLabel::ElidedLabel(const QString& text, Qt::TextElideMode mode, QWidget* parent) : QLabel(parent), mode_(mode) {
  setTextFormat(Qt::PlainText);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  setFullText(text);
}

void ElidedLabel::setFullText(const QString& text) {
  full_ = text;
  setAccessibleName(text);
  elide();
  updateGeometry();
}

void ElidedLabel::setWholeUpTo(int pixels) {
  wholeUpTo_ = pixels;
  updateGeometry();
}

QSize ElidedLabel::minimumSizeHint() const {
  constexpr int kLeast = 24;
  return {std::max(kLeast, std::min(sizeHint().width(), grown(wholeUpTo_))), QLabel::minimumSizeHint().height()};
}

QSize ElidedLabel::sizeHint() const {
  return {fontMetrics().horizontalAdvance(full_) + 2, QLabel::sizeHint().height()};
}

void ElidedLabel::resizeEvent(QResizeEvent* event) {
  QLabel::resizeEvent(event);
  elide();
}

void ElidedLabel::changeEvent(QEvent* event) {
  QLabel::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) elide();
}

void ElidedLabel::elide() {
  const QString shown = wordWrap() ? full_ : fontMetrics().elidedText(full_, mode_, width());
  if (shown != text()) setText(shown);
  setToolTip(shown == full_ ? QString() : full_);
}

}  // namespace normlens::ui
