#include "ui/learn/live/centering_plots.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "ui/learn/card_paint.h"
#include "ui/theme/theme.h"
#include "ui/widgets/plots/column_plot.h"
#include "ui/words/format.h"

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
  setToolTip(tr("The mean of each row that the LayerNorm normalizes: what it has to subtract."));
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
  setAccessibleDescription(tr("on average %1 from zero").arg(formatNumber(meanSize(means), 3)));
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

ShareErrorPlot::ShareErrorPlot(QWidget* parent) : ScaledPlot(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Output error with RMSNorm in its place"));
  setToolTip(tr("The largest relative difference of an output. Each point is one run of the model."));
}

void ShareErrorPlot::setErrors(const std::map<double, double>& errors, double limit) {
  errors_ = errors;
  limit_ = limit;
  double least = limit > 0 ? limit : 1, most = limit;
  for (const auto& [share, error] : errors) {
    if (!std::isfinite(error)) continue;
    if (error > 0) least = std::min(least, error);
    most = std::max(most, error);
  }
  low_ = static_cast<int>(std::floor(std::log10(std::max(least, 1e-20))));
  high_ = std::max(low_ + 2, static_cast<int>(std::ceil(std::log10(std::max(most, 1e-20)))));
  update();
}

void ShareErrorPlot::setShare(double share) {
  share_ = share;
  update();
}

void ShareErrorPlot::setWords(const QString& type, const QString& trouble) {
  type_ = type;
  trouble_ = trouble;
  update();
}

// An error of exactly 0 lies on the axis.
QPointF ShareErrorPlot::at(const QRectF& plot, double share, double error) const {
  const double power = std::clamp(error > 0 ? std::log10(error) : low_, double(low_), double(high_));
  return {plot.left() + share * plot.width(), plot.bottom() - (power - low_) / (high_ - low_) * plot.height()};
}

void ShareErrorPlot::paintAxis(QPainter& painter, const QRectF& plot) const {
  const Theme theme = themeOf(this);
  const double line = 18 * scale();
  const int fitting = static_cast<int>(std::ceil(line * (high_ - low_) / std::max(1.0, plot.height())));
  const int step = std::max({1, (high_ - low_ + 3) / 4, fitting});
  for (int power = low_; power <= high_; power += step) {
    const double y = at(plot, 0, std::pow(10.0, power)).y();
    painter.setPen(QPen(theme.hairline, 1));
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(theme.textFaint);
    painter.drawText(QRectF(plot.left() - 60, y - line / 2, 54, line), Qt::AlignRight | Qt::AlignVCenter,
                     power == 0 ? QStringLiteral("1") : QStringLiteral("1e%1").arg(power));
  }
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    painter.drawText(QRectF(plot.left() + share * plot.width() - 40, plot.bottom() + 2, 80, line), Qt::AlignCenter,
                     share < 1 ? QString::number(share * 100) : QStringLiteral("100%"));
  }
}

void ShareErrorPlot::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const CardWords words{tr("Output error with RMSNorm in its place"), type_};
  const QRectF inside = paintCard(painter, rect(), words, theme, factor());
  painter.setFont(uiFont(static_cast<int>(11 * factor())));
  if (!trouble_.isEmpty() || errors_.empty()) {
    painter.setPen(theme.textSoft);
    painter.drawText(inside, Qt::AlignCenter | Qt::TextWordWrap, trouble_);
    return;
  }
  const QRectF plot = inside.adjusted(44 * scale(), 6, -26 * scale(), -20 * scale());
  paintAxis(painter, plot);
  const double limit = at(plot, 0, limit_).y();
  painter.setPen(QPen(theme.textSoft, 1, Qt::DashLine));
  painter.drawLine(QPointF(plot.left(), limit), QPointF(plot.right(), limit));
  painter.setPen(theme.textSoft);
  painter.drawText(QPointF(plot.left() + 4, limit - 4), tr("6 × rounding noise"));
  QPainterPath path;
  for (const auto& [share, error] : errors_) {
    const QPointF point = at(plot, share, error);
    path.elementCount() == 0 ? path.moveTo(point) : path.lineTo(point);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.opaqueLine, 2));
  painter.drawPath(path);
  for (const auto& [share, error] : errors_) {
    const bool chosen = share == share_;
    painter.setPen(Qt::NoPen);
    painter.setBrush(error <= limit_ ? theme.linearLine : chosen ? theme.accent : theme.opaqueLine);
    const double radius = (chosen ? 5 : 2.5) * factor();
    painter.drawEllipse(at(plot, share, error), radius, radius);
  }
  painter.setPen(QPen(theme.accent, 1));
  const double x = plot.left() + share_ * plot.width();
  painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
  const auto here = errors_.find(share_);
  if (here == errors_.end()) return;
  painter.setFont(uiFont(static_cast<int>(12 * factor()), QFont::DemiBold));
  painter.setPen(theme.text);
  const double y = at(plot, share_, here->second).y(), above = y - 22 * scale();
  const QRectF label(x - 130 * scale(), above < inside.top() ? y + 6 * scale() : above, 122 * scale(), 18 * scale());
  const bool left = x - 130 * scale() > plot.left();
  painter.drawText(left ? label : label.translated(138 * scale(), 0),
                   static_cast<int>((left ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter),
                   tr("%1 now").arg(formatError(here->second)));
}

}  // namespace normlens::ui
