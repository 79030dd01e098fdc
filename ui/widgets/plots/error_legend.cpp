#include "ui/widgets/plots/error_legend.h"

#include <QPainter>

#include "ui/theme/error_scale.h"

namespace normlens::ui {

namespace {

constexpr int kScale = 150, kLeastScale = 40, kBar = 8, kSwatch = 14, kGap = 6, kApart = 18, kHeight = 18;

struct Words {
  QString floor = ErrorLegend::tr("within 6 × noise floor"), line = ErrorLegend::tr("6 × noise floor");
  QString least = QStringLiteral("≤ 1e-16"), most = QStringLiteral("1");
};

int widthOf(const QString& words) { return QFontMetrics(uiFont(11)).horizontalAdvance(words); }

// Returns the width of the part that explains the noise floor; endsWidth(), of the words at the ends of the scale.
int floorWidth(const Words& words) {
  return 2 * (kSwatch + kGap) + kApart + widthOf(words.floor) + widthOf(words.line) + 4;
}

int endsWidth(const Words& words) { return kApart + 2 * kGap + widthOf(words.least) + widthOf(words.most); }

}  // namespace

ErrorLegend::ErrorLegend(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("errorLegend"));
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setAccessibleName(tr("Colour scale of the errors"));
  setToolTip(
      tr("The colours stand for the largest relative difference, from 1e-16 or less to 1 or more, by decades. What is "
         "within six times what the original loses by that precision alone is its rounding: it has a calm colour, and "
         "lies below the dotted line of the chart."));
}

QSize ErrorLegend::sizeHint() const { return {floorWidth({}) + endsWidth({}) + kScale, grown(kHeight)}; }

QSize ErrorLegend::minimumSizeHint() const { return {floorWidth({}), grown(kHeight)}; }

void ErrorLegend::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  const Words words;
  QPainter painter(this);
  painter.setFont(uiFont(11));
  const int middle = height() / 2;
  int left = 0;
  const auto say = [&](const QString& text) {
    painter.setPen(theme.textSoft);
    painter.drawText(QRect(left, 0, widthOf(text) + 2, height()), Qt::AlignLeft | Qt::AlignVCenter, text);
    left += widthOf(text);
  };
  painter.fillRect(QRect(left, middle - kSwatch / 2 + 2, kSwatch, kSwatch - 4), floorColor(theme));
  left += kSwatch + kGap;
  say(words.floor);
  left += kApart;
  painter.setPen(QPen(theme.textSoft, 1.2, Qt::DotLine));
  painter.drawLine(left, middle, left + kSwatch, middle);
  left += kSwatch + kGap;
  say(words.line);
  const int wide = width() - floorWidth(words) - endsWidth(words);
  if (wide < kLeastScale) return;
  left += kApart;
  say(words.least);
  left += kGap;
  for (int x = 0; x < wide; ++x) {
    painter.fillRect(QRect(left + x, middle - kBar / 2, 1, kBar),
                     shareColor(static_cast<double>(x) / (wide - 1), theme));
  }
  left += wide + kGap;
  say(words.most);
}

}  // namespace normlens::ui
