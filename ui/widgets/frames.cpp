#include "ui/widgets/frames.h"

#include <QComboBox>
#include <QPushButton>
#include <QStyle>

#include "ui/widgets/follow_text.h"

namespace normlens::ui {

namespace {

template <typename Layout>
Layout* makeLayout(QWidget* parent, int spacing, const QMargins& margins) {
  auto* layout = new Layout(parent);
  layout->setContentsMargins(margins);
  layout->setSpacing(spacing);
  return layout;
}

}  // namespace

QVBoxLayout* makeColumn(QWidget* parent, int spacing, const QMargins& margins) {
  return makeLayout<QVBoxLayout>(parent, spacing, margins);
}

QHBoxLayout* makeRow(QWidget* parent, int spacing, const QMargins& margins) {
  return makeLayout<QHBoxLayout>(parent, spacing, margins);
}

QFrame* makeCard(QWidget* parent) {
  auto* card = new QFrame(parent);
  card->setProperty("kind", "card");
  return card;
}

QComboBox* makeNameChoice(int letters, QWidget* parent) {
  auto* choice = new QComboBox(parent);
  choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  choice->setMinimumContentsLength(letters);
  return choice;
}

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

QLabel* makeWords(const char* kind, QWidget* parent, const QString& text) {
  QLabel* label = makeLabel(text, kind, parent);
  label->setWordWrap(true);
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
  makeRow(bar, 8, {16, 0, 16, 0});
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
