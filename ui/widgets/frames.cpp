#include "ui/widgets/frames.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QStyle>

#include "ui/widgets/follow_text.h"

namespace normlens::ui {

QFrame* makeLine(Qt::Orientation orientation, QWidget* parent) {
  auto* line = new QFrame(parent);
  line->setProperty("kind", orientation == Qt::Horizontal ? "hline" : "vline");
  if (orientation == Qt::Horizontal) {
    line->setFixedHeight(1);
  } else {
    line->setFixedWidth(1);
  }
  return line;
}

QLabel* makeLabel(const QString& text, const char* kind, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setTextFormat(Qt::PlainText);
  label->setProperty("kind", kind);
  return label;
}

QPushButton* makeButton(const QString& text, const char* kind, QWidget* parent) {
  auto* button = new QPushButton(text, parent);
  button->setProperty("kind", kind);
  button->setCursor(Qt::ArrowCursor);
  return button;
}

QFrame* makeBar(const QString& objectName, int height, QWidget* parent) {
  auto* bar = new QFrame(parent);
  bar->setObjectName(objectName);
  setTextHeight(bar, height);
  auto* layout = new QHBoxLayout(bar);
  layout->setContentsMargins(16, 0, 16, 0);
  layout->setSpacing(8);
  return bar;
}

QHBoxLayout* layoutOf(QFrame* bar) { return static_cast<QHBoxLayout*>(bar->layout()); }

void setKind(QWidget* widget, const char* kind) {
  if (widget->property("kind").toString() == QLatin1String(kind)) return;
  widget->setProperty("kind", kind);
  widget->style()->unpolish(widget);
  widget->style()->polish(widget);
}

}  // namespace normlens::ui
