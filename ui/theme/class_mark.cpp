#include "ui/theme/class_mark.h"

#include <QCoreApplication>
#include <QPainter>
#include <QPainterPath>

#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

QPainterPath polygon(const QPolygonF& points) {
  QPainterPath path;
  path.addPolygon(points);
  path.closeSubpath();
  return path;
}

QPainterPath octagon(const QRectF& r) {
  const double cut = r.width() * 0.293;
  return polygon({{r.left() + cut, r.top()},
                  {r.right() - cut, r.top()},
                  {r.right(), r.top() + cut},
                  {r.right(), r.bottom() - cut},
                  {r.right() - cut, r.bottom()},
                  {r.left() + cut, r.bottom()},
                  {r.left(), r.bottom() - cut},
                  {r.left(), r.top() + cut}});
}

QPainterPath shapeOf(QChar letter, const QRectF& area) {
  const QPointF c = area.center();
  const double h = qMin(area.width(), area.height()) / 2;
  const QRectF square(c.x() - h * 0.88, c.y() - h * 0.88, h * 1.76, h * 1.76);
  QPainterPath path;
  switch (letter.toLatin1()) {
    case 'L':
    case 'B':
      path.addRoundedRect(square, 1.5, 1.5);
      break;
    case 'S':
      path.addRoundedRect(QRectF(c.x() - h * 1.15, c.y() - h * 0.7, h * 2.3, h * 1.4), h * 0.7, h * 0.7);
      break;
    case 'R':
      path.addEllipse(c, h * 0.95, h * 0.95);
      break;
    case 'Z':
      path = polygon(
          {{c.x(), c.y() - h * 1.12}, {c.x() + h * 1.12, c.y()}, {c.x(), c.y() + h * 1.12}, {c.x() - h * 1.12, c.y()}});
      break;
    case 'O':
      path = octagon(QRectF(c.x() - h * 0.95, c.y() - h * 0.95, h * 1.9, h * 1.9));
      break;
    case 'M':
      path = polygon({{c.x() - h * 0.55, c.y() - h * 0.95},
                      {c.x() + h * 0.55, c.y() - h * 0.95},
                      {c.x() + h * 1.1, c.y()},
                      {c.x() + h * 0.55, c.y() + h * 0.95},
                      {c.x() - h * 0.55, c.y() + h * 0.95},
                      {c.x() - h * 1.1, c.y()}});
      break;
    case 'A':
      path = polygon({{c.x(), c.y() - h}, {c.x() + h * 1.15, c.y() + h * 0.9}, {c.x() - h * 1.15, c.y() + h * 0.9}});
      break;
    default:
      path.addRoundedRect(square, h * 0.5, h * 0.5);
      break;
  }
  return path;
}

// White on the dark classes, near-black on the light ones.
QColor inkOn(QChar letter) {
  return letter == u'L' || letter == u'B' || letter == u'R' || letter == u'O' || letter == u'M' ? QColor(Qt::white)
                                                                                                : QColor(0x1B1F24);
}

struct ClassWords {
  char16_t letter;
  const char* word;
  const char* meaning;
};

constexpr ClassWords kClasses[] = {
    {u'L', QT_TRANSLATE_NOOP("ClassMark", "Linear"),
     QT_TRANSLATE_NOOP(
         "ClassMark", "Linear layer: its weight can be centered once, in the file, so that its output has zero mean.")},
    {u'B', QT_TRANSLATE_NOOP("ClassMark", "Bias"),
     QT_TRANSLATE_NOOP("ClassMark",
                       "Bias: adds a constant, as the last step of a linear layer does. Zero-mean if what it is added "
                       "to is, once the constant is centered in the file.")},
    {u'S', QT_TRANSLATE_NOOP("ClassMark", "Scaling"),
     QT_TRANSLATE_NOOP(
         "ClassMark",
         "Scaling or view: multiplies all channels equally or rearranges them, so a zero mean stays zero.")},
    {u'R', QT_TRANSLATE_NOOP("ClassMark", "Residual add"),
     QT_TRANSLATE_NOOP("ClassMark", "Residual add: zero-mean if both addends are zero-mean.")},
    {u'Z', QT_TRANSLATE_NOOP("ClassMark", "Zero-mean"),
     QT_TRANSLATE_NOOP("ClassMark", "Its output already has zero mean for every input.")},
    {u'O', QT_TRANSLATE_NOOP("ClassMark", "Opaque"),
     QT_TRANSLATE_NOOP("ClassMark",
                       "Opaque: the mean of its output is not known. A LayerNorm that it reaches without a linear "
                       "layer between needs centering.")},
    {u'A', QT_TRANSLATE_NOOP("ClassMark", "Centering"),
     QT_TRANSLATE_NOOP("ClassMark",
                       "Centering: subtracts the mean at run time. It costs time, but several norms can share it.")},
    {u'M', QT_TRANSLATE_NOOP("ClassMark", "RMSNorm"),
     QT_TRANSLATE_NOOP("ClassMark", "RMSNorm: divides by the root mean square and does not change the mean.")},
    {u'N', QT_TRANSLATE_NOOP("ClassMark", "LayerNorm"),
     QT_TRANSLATE_NOOP("ClassMark",
                       "LayerNorm: subtracts the mean of each row and divides by its standard deviation.")},
};

QString wordsOf(QChar letter, const char* ClassWords::*which) {
  for (const ClassWords& each : kClasses) {
    if (letter == each.letter) return QCoreApplication::translate("ClassMark", each.*which);
  }
  return {};
}

}  // namespace

void paintClassMark(QPainter& painter, const QRectF& area, QChar letter, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.classColor(letter));
  painter.drawPath(shapeOf(letter, area));
  const double height = qMin(area.width(), area.height());
  painter.setFont(uiFont(qMax(6, static_cast<int>(height * 0.64)), QFont::Bold));
  painter.setPen(inkOn(letter));
  QRectF textArea = area;
  if (letter == u'A') textArea.translate(0, height * 0.14);
  painter.drawText(textArea, Qt::AlignCenter, letter == u'A' ? QStringLiteral("c") : QString(letter));
  painter.restore();
}

QString classWord(QChar letter) { return wordsOf(letter, &ClassWords::word); }

QString classMeaning(QChar letter) { return wordsOf(letter, &ClassWords::meaning); }

}  // namespace normlens::ui
