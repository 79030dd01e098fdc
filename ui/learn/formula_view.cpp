#include "ui/learn/formula_view.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>

#include "ui/theme/theme.h"

namespace normlens::ui {
namespace {

constexpr int kPixels = 16, kPadding = 14;

QFont fontFor(bool slanted) {
  QFont font = uiFont(kPixels);
  font.setItalic(slanted);
  return font;
}

bool isLetterAlone(const QString& text, qsizetype at) {
  const auto isLetter = [&](qsizetype i) { return i >= 0 && i < text.size() && text[i].isLetter(); };
  return isLetter(at) && !isLetter(at - 1) && !isLetter(at + 1);
}

// Draws, or only measures where there is no painter; gives the width.
double set(QPainter* painter, const QString& text, double x, double baseline) {
  const double begin = x;
  for (qsizetype at = 0; at < text.size();) {
    const bool slanted = isLetterAlone(text, at);
    qsizetype end = at + 1;
    while (end < text.size() && isLetterAlone(text, end) == slanted) ++end;
    const QString run = text.mid(at, end - at);
    const QFont font = fontFor(slanted);
    if (painter != nullptr) {
      painter->setFont(font);
      painter->drawText(QPointF(x, baseline), run);
    }
    x += QFontMetricsF(font).horizontalAdvance(run);
    at = end;
  }
  return x - begin;
}

double widthOf(const QString& text) { return set(nullptr, text, 0, 0); }

double widthOf(const FormulaPart& part) {
  return part.denominator.isEmpty() ? widthOf(part.text) : std::max(widthOf(part.text), widthOf(part.denominator)) + 8;
}

double leftWidth(const std::vector<FormulaLine>& lines) {
  double widest = 0;
  for (const FormulaLine& line : lines) widest = std::max(widest, widthOf(line.left));
  return widest + widthOf(QStringLiteral("  =  "));
}

}  // namespace

std::vector<FormulaLine> parseFormulas(const QString& lines) {
  std::vector<FormulaLine> parsed;
  for (const QString& line : lines.split(u'\n', Qt::SkipEmptyParts)) {
    FormulaLine made{line.section(u'=', 0, 0).trimmed(), {}};
    QString rest = line.section(u'=', 1).trimmed();
    while (!rest.isEmpty()) {
      const auto open = rest.indexOf(u'{'), close = rest.indexOf(u'}', open);
      const bool isPlain = open < 0 || close < 0;
      if (isPlain || open > 0) made.right.push_back({rest.left(isPlain ? rest.size() : open), {}});
      if (isPlain) break;
      const QString inside = rest.mid(open + 1, close - open - 1);
      made.right.push_back({inside.section(u'|', 0, 0).trimmed(), inside.section(u'|', 1).trimmed()});
      rest = rest.mid(close + 1);
    }
    parsed.push_back(std::move(made));
  }
  return parsed;
}

FormulaView::FormulaView(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void FormulaView::setFormulas(const QString& lines) {
  lines_ = parseFormulas(lines);
  setAccessibleName(lines);
  setVisible(!lines_.empty());
  updateGeometry();
  update();
}

double FormulaView::rowHeight() { return QFontMetricsF(fontFor(false)).height() * 2.5; }

QSize FormulaView::sizeHint() const {
  double wide = 0;
  for (const FormulaLine& line : lines_) {
    double right = 0;
    for (const FormulaPart& part : line.right) right += widthOf(part);
    wide = std::max(wide, right);
  }
  return {static_cast<int>(leftWidth(lines_) + wide) + 2 * kPadding,
          static_cast<int>(rowHeight() * static_cast<double>(lines_.size())) + kPadding};
}

void FormulaView::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(theme.hairline);
  painter.setBrush(theme.chrome);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
  painter.setPen(QPen(theme.text, 1.2));
  const QFontMetricsF metrics(fontFor(false));
  const double aside = leftWidth(lines_);
  for (size_t i = 0; i < lines_.size(); ++i) {
    const double middle = kPadding / 2.0 + rowHeight() * (static_cast<double>(i) + 0.5);
    const double baseline = middle + metrics.capHeight() / 2;
    set(&painter, lines_[i].left, kPadding, baseline);
    double x = kPadding + aside - widthOf(QStringLiteral("=  "));
    x += set(&painter, QStringLiteral("=  "), x, baseline);
    for (const FormulaPart& part : lines_[i].right) {
      const double wide = widthOf(part);
      if (part.denominator.isEmpty()) {
        set(&painter, part.text, x, baseline);
      } else {
        set(&painter, part.text, x + (wide - widthOf(part.text)) / 2, middle - metrics.descent() - 2);
        set(&painter, part.denominator, x + (wide - widthOf(part.denominator)) / 2, middle + metrics.ascent() + 1);
        painter.drawLine(QPointF(x + 2, middle), QPointF(x + wide - 2, middle));
      }
      x += wide;
    }
  }
}

}  // namespace normlens::ui
