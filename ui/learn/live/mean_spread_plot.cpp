#include "ui/learn/live/mean_spread_plot.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "ui/learn/card_paint.h"
#include "ui/session/words/format.h"
#include "ui/theme/theme.h"
#include "ui/widgets/plots/column_plot.h"

namespace normlens::ui {
namespace {

constexpr int kBins = 61;  // odd: one about zero

}  // namespace

double meanSize(const std::vector<double>& means) {
  double sum = 0;
  for (const double mean : means) sum += std::abs(mean);
  return means.empty() ? 0 : sum / static_cast<double>(means.size());
}

MeanSpreadPlot::MeanSpreadPlot(QWidget* parent) : ScaledPlot(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Means of the LayerNorm's input"));
  setToolTip(tr("The mean of each row that the LayerNorm normalises: what it would have to take away."));
}

void MeanSpreadPlot::setCaption(const QString& caption) {
  caption_ = caption;
  update();
}

void MeanSpreadPlot::setBefore(const std::vector<double>& means) {
  before_ = means;
  double most = 0;
  for (const double mean : means) most = std::max(most, std::isfinite(mean) ? std::abs(mean) : 0);
  reach_ = most > 0 ? roundUp(most) : 1;
  update();
}

void MeanSpreadPlot::setNow(const std::vector<double>& means, const QString& words) {
  now_ = means;
  words_ = words;
  setAccessibleDescription(tr("on average %1 away from zero").arg(formatNumber(meanSize(means), 3)));
  update();
}

std::vector<double> MeanSpreadPlot::binned(const std::vector<double>& means) const {
  std::vector<double> bins(kBins, 0.0);
  for (const double mean : means) {
    if (!std::isfinite(mean)) continue;
    const double at = (mean + reach_) / (2 * reach_) * kBins;
    bins[static_cast<size_t>(std::clamp(static_cast<int>(at), 0, kBins - 1))] += 1 / static_cast<double>(means.size());
  }
  return bins;
}

void MeanSpreadPlot::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF inside = paintCard(painter, rect(), {tr("Mean of the LayerNorm's input"), caption_}, theme, factor());
  const double line = 18 * scale();
  const QRectF plot = inside.adjusted(8, 4, -8, -2 * line);
  painter.setFont(uiFont(static_cast<int>(11 * factor())));
  painter.setPen(QPen(theme.hairline, 1));
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  const auto tick = [&](double value, Qt::Alignment alignment) {
    const double x = plot.center().x() + value / reach_ * plot.width() / 2;
    painter.setPen(theme.textFaint);
    painter.drawText(QRectF(x - 60, plot.bottom() + 2, 120, line), static_cast<int>(alignment | Qt::AlignTop),
                     formatNumber(value, 2));
  };
  for (const double value : {-reach_, -reach_ / 2, 0.0, reach_ / 2, reach_}) tick(value, Qt::AlignHCenter);
  painter.setPen(QPen(theme.control, 1));
  painter.drawLine(QPointF(plot.center().x(), plot.top()), QPointF(plot.center().x(), plot.bottom()));
  const auto before = binned(before_), now = binned(now_);
  const double most = std::max({1e-9, *std::ranges::max_element(before), *std::ranges::max_element(now)});
  const double step = plot.width() / kBins;
  for (int i = 0; i < kBins; ++i) {
    const double tall = now[static_cast<size_t>(i)] / most * plot.height();
    painter.fillRect(QRectF(plot.left() + i * step + 0.5, plot.bottom() - tall, std::max(1.0, step - 1), tall),
                     theme.linearLine);
  }
  QPainterPath outline(plot.bottomLeft());
  for (int i = 0; i < kBins; ++i) {
    const double y = plot.bottom() - before[static_cast<size_t>(i)] / most * plot.height();
    outline.lineTo(plot.left() + i * step, y);
    outline.lineTo(plot.left() + (i + 1) * step, y);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.classes.chosen, 1.5, Qt::DashLine));
  if (!before_.empty()) painter.drawPath(outline);
  painter.setPen(theme.textSoft);
  const QRectF foot(plot.left(), inside.bottom() - line, plot.width(), line);
  painter.drawText(foot, Qt::AlignLeft | Qt::AlignVCenter, tr("dashed: in the file"));
  painter.drawText(foot, Qt::AlignRight | Qt::AlignVCenter,
                   now_.empty() ? words_ : tr("%1: %2 on average").arg(words_, formatNumber(meanSize(now_), 2)));
}

}  // namespace normlens::ui
