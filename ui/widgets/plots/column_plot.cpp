#include "ui/widgets/plots/column_plot.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kLeft = 44, kTop = 7, kLegend = 20;

void paintKey(QPainter& painter, double left, double middle, const QColor& color, const QString& word,
              const Theme& theme) {
  painter.setPen(QPen(color, 3, Qt::SolidLine, Qt::FlatCap));
  painter.drawLine(QPointF(left, middle), QPointF(left + 10, middle));
  painter.setPen(theme.textSoft);
  painter.drawText(QPointF(left + 15, middle + 4), word);
}

}  // namespace

double roundUp(double value) {
  if (!(value > 0) || std::isinf(value)) return 0;
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (value <= step * power * (1 + 1e-12)) return step * power;
  }
  return 10 * power;
}

ColumnPlot::ColumnPlot(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setToolTip(
      tr("The mean of what each input adds to the outputs (at most 256 drawn). Centering subtracts these means."));
  setAccessibleName(tr("Means of the weight, one per input"));
}

void ColumnPlot::setMeans(const std::vector<double>& means) {
  means_ = means;
  double largest = 0;
  for (const double mean : means) {
    if (std::isfinite(mean)) largest = std::max(largest, std::abs(mean));
  }
  reach_ = roundUp(largest);
  setAccessibleDescription(tr("%1 means, the largest %2").arg(means.size()).arg(formatNumber(largest, 3)));
  update();
}

void ColumnPlot::setLeft(double share) {
  left_ = share;
  update();
}

void ColumnPlot::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF plot = bare_ ? QRectF(rect()).adjusted(0, 2, 0, -2)
                            : QRectF(kLeft, kTop, width() - kLeft - 2, height() - kTop - kLegend - 4);
  const double zero = plot.center().y();
  painter.setFont(uiFont(11));
  painter.setPen(QPen(theme.hairline, 1));
  painter.drawLine(plot.topLeft(), plot.topRight());
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.setPen(theme.textFaint);
  const auto label = [&](double y, const QString& word) {
    if (!bare_) painter.drawText(QRectF(0, y - 8, kLeft - 8, 16), Qt::AlignRight | Qt::AlignVCenter, word);
  };
  label(zero, QStringLiteral("0"));
  if (reach_ > 0) {
    label(plot.top(), formatNumber(reach_, 2));
    label(plot.bottom(), QStringLiteral("−") + formatNumber(reach_, 2));
    const double step = plot.width() / static_cast<double>(means_.size());
    const auto paintBars = [&](const QColor& color, double share) {
      painter.setPen(QPen(color, std::clamp(step * 0.6, 1.0, 4.0), Qt::SolidLine, Qt::FlatCap));
      for (size_t i = 0; i < means_.size(); ++i) {
        if (!std::isfinite(means_[i])) continue;
        const double x = plot.left() + (static_cast<double>(i) + 0.5) * step;
        painter.drawLine(QPointF(x, zero), QPointF(x, zero - share * means_[i] / reach_ * plot.height() / 2));
      }
    };
    paintBars(theme.classes.chosen, 1);
    if (left_ > 0 && left_ < 1) paintBars(theme.linearLine, left_);
  }
  painter.setPen(left_ > 0 ? QPen(theme.hairline, 1) : QPen(theme.linearLine, 2));
  painter.drawLine(QPointF(plot.left(), zero), QPointF(plot.right(), zero));
  if (bare_) return;
  const double keyMiddle = height() - kLegend / 2.0 + 2;
  paintKey(painter, kLeft, keyMiddle, theme.classes.chosen, tr("before"), theme);
  if (left_ < 1) paintKey(painter, kLeft + 72, keyMiddle, theme.linearLine, tr("after centering"), theme);
}

}  // namespace normlens::ui
