#include "ui/learn/value_row.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/learn/card_paint.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

ValueRow::ValueRow(QString title, QString claim, QWidget* parent)
    : QWidget(parent), title_(std::move(title)), claim_(std::move(claim)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(title_);
}

void ValueRow::setValues(const Vector& values, size_t cells, int marked) {
  values_ = values;
  cells_ = cells;
  marked_ = marked;
  QStringList words;
  for (const double each : values_) words << QString::number(each, 'f', 1);
  setAccessibleDescription(words.join(QStringLiteral(", ")));
  update();
}

void ValueRow::setFactor(double factor) {
  factor_ = factor;
  update();
}

void ValueRow::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  // In a room the rows are low and the text is large: the title is beside the bars, without what it claims.
  const QRectF inside = factor_ > 1 ? paintLowCard(painter, rect(), title_, theme, factor_)
                                    : paintCard(painter, rect(), {title_, claim_}, theme, factor_);
  const double line = (factor_ > 1 ? 16 : 20) * factor_;
  const QRectF bars(inside.left(), inside.top(), inside.width(), inside.height() - line);
  double most = 1e-9;
  for (const double each : values_) most = std::max(most, std::abs(each));
  const double step = inside.width() / static_cast<double>(std::max<size_t>(cells_, 1));
  painter.setFont(monoFont(static_cast<int>(11 * factor_)));
  for (size_t i = 0; i < cells_; ++i) {
    const double left = inside.left() + step * static_cast<double>(i);
    const QRectF number(left, inside.bottom() - line, step - 4, line);
    if (i >= values_.size()) {
      painter.setPen(QPen(theme.control, 1, Qt::DashLine));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(left, bars.top(), step - 4, bars.height()));
      continue;
    }
    const bool marked = static_cast<int>(i) == marked_;
    const double reach = values_[i] / most * bars.height() / 2, middle = bars.center().y();
    painter.fillRect(QRectF(left, std::min(middle, middle - reach), step - 4, std::abs(reach)),
                     marked ? theme.classes.chosen : theme.streamLine);
    painter.setPen(QPen(theme.hairline, 1));
    painter.drawLine(QPointF(left, middle), QPointF(left + step - 4, middle));
    painter.setPen(theme.text);
    painter.drawText(number, Qt::AlignCenter, QString::number(values_[i], 'f', step < 46 * factor_ ? 0 : 1));
  }
}

}  // namespace normlens::ui
