#include "ui/widgets/plots/histogram_plot.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/theme/theme.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kAxis = 18;

}  // namespace

HistogramPlot::HistogramPlot(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("histogram"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setToolTip(tr("Histogram of the tensor's numbers, in bars of equal width."));
  setAccessibleName(tr("Histogram of the tensor"));
}

void HistogramPlot::setBins(const std::vector<int64_t>& bins, double low, double high) {
  bins_ = bins;
  low_ = low;
  high_ = high;
  most_ = bins.empty() ? 0 : *std::max_element(bins.begin(), bins.end());
  setAccessibleDescription(
      tr("%1 bars from %2 to %3").arg(bins.size()).arg(formatNumber(low, 3), formatNumber(high, 3)));
  update();
}

void HistogramPlot::setAim(double at, const QString& words) {
  aim_ = at;
  aimWords_ = words;
  setAccessibleDescription(QStringLiteral("%1; %2").arg(accessibleDescription(), words));
  update();
}

QRectF HistogramPlot::plotArea() const {
  return {0, 4, static_cast<double>(width()), static_cast<double>(height() - kAxis - 4)};
}

void HistogramPlot::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  const QRectF plot = plotArea();
  if (most_ > 0) {
    const double step = plot.width() / static_cast<double>(bins_.size());
    for (size_t i = 0; i < bins_.size(); ++i) {
      if (bins_[i] == 0) continue;
      // Even one element in a million is to be seen.
      const double tall = std::max(1.0, static_cast<double>(bins_[i]) / static_cast<double>(most_) * plot.height());
      painter.fillRect(
          QRectF(plot.left() + static_cast<double>(i) * step, plot.bottom() - tall, std::max(1.0, step - 1), tall),
          aim_ ? theme.opaqueLine : theme.accentText);
    }
    const double line = aim_.value_or(0);
    if (low_ < line && high_ > line) {
      const double x = plot.left() + (line - low_) / (high_ - low_) * plot.width();
      painter.setPen(aim_ ? QPen(theme.text, 1.5, Qt::DashLine) : QPen(theme.textFaint, 1, Qt::DashLine));
      painter.drawLine(QPointF(x, aim_ ? 0 : plot.top()), QPointF(x, plot.bottom()));
    }
  }
  painter.setPen(QPen(theme.control, 1));
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.setFont(uiFont(11));
  painter.setPen(theme.textFaint);
  const QRectF axis(0, plot.bottom() + 2, width(), kAxis - 2);
  painter.drawText(axis, Qt::AlignLeft | Qt::AlignVCenter, formatNumber(low_, 3));
  painter.drawText(axis, Qt::AlignRight | Qt::AlignVCenter, formatNumber(high_, 3));
  if (!aim_) return;
  painter.setFont(uiFont(11, QFont::DemiBold));
  painter.setPen(theme.text);
  painter.drawText(axis, Qt::AlignHCenter | Qt::AlignVCenter, aimWords_);
}

bool HistogramPlot::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || bins_.empty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto last = static_cast<int>(bins_.size()) - 1;
  const int bin =
      std::clamp(static_cast<int>(help->pos().x() * static_cast<int>(bins_.size()) / qMax(1, width())), 0, last);
  const double wide = (high_ - low_) / static_cast<double>(bins_.size());
  QToolTip::showText(help->globalPos(),
                     tr("%1 numbers from %2 to %3")
                         .arg(formatCount(bins_[static_cast<size_t>(bin)]), formatNumber(low_ + bin * wide, 3),
                              formatNumber(low_ + (bin + 1) * wide, 3)),
                     this);
  return true;
}

}  // namespace normlens::ui
