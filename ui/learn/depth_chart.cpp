#include "ui/learn/depth_chart.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/session/words/format.h"
#include "ui/theme/theme.h"

namespace normlens::ui {
namespace {

constexpr int kTitle = 34, kLeft = 56, kRight = 16, kFoot = 40, kLines = 4;

}  // namespace

DepthAxis logarithmicAxis(std::initializer_list<const std::vector<double>*> values) {
  double least = 0, most = 0;
  for (const auto* all : values) {
    for (const double each : *all) {
      if (!std::isfinite(each) || each <= 0) continue;
      least = least == 0 ? each : std::min(least, each);
      most = std::max(most, each);
    }
  }
  if (most == 0) return {true, -2, 0, {}};
  const double high = std::ceil(std::log10(most) + 1e-9);
  return {true, std::min(std::floor(std::log10(least)), high - 2), high, {}};
}

DepthChart::DepthChart(const QString& title, const QString& caption, QWidget* parent)
    : QWidget(parent), title_(title), caption_(caption) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(title);
}

void DepthChart::setSeries(std::vector<DepthSeries> series, const DepthAxis& axis,
                           const std::optional<DepthBand>& band) {
  series_ = std::move(series);
  axis_ = axis;
  band_ = band;
  update();
}

void DepthChart::setNames(const QStringList& names) {
  names_ = names;
  setAccessibleDescription(tr("%1 norms").arg(names.size()));
  update();
}

void DepthChart::setChosen(int place) {
  chosen_ = place;
  update();
}

QRectF DepthChart::plotArea() const {
  return QRectF(rect()).adjusted(grown(kLeft), grown(kTitle), -kRight, -grown(kFoot));
}

double DepthChart::step() const { return plotArea().width() / std::max<double>(1, static_cast<double>(names_.size())); }

QPointF DepthChart::placeOf(int place, double value) const {
  const QRectF plot = plotArea();
  const double at = axis_.logarithmic ? std::log10(std::max(value, 1e-300)) : value;
  const double share = std::clamp((at - axis_.low) / (axis_.high - axis_.low), 0.0, 1.0);
  return {plot.left() + (place + 0.5) * step(), plot.bottom() - share * plot.height()};
}

int DepthChart::placeAt(const QPointF& at) const {
  if (!plotArea().contains(at) || names_.isEmpty()) return -1;
  return std::clamp(static_cast<int>((at.x() - plotArea().left()) / step()), 0, static_cast<int>(names_.size()) - 1);
}

QString DepthChart::tickWords(double value) const {
  if (!axis_.logarithmic) return QString::number(value, 'g', 4) + axis_.unit;
  const double number = std::pow(10.0, value);
  if (axis_.unit == QStringLiteral("%")) return QStringLiteral("%1 %").arg(number * 100, 0, 'g', 4);
  return QString::number(number, 'g', 4);
}

void DepthChart::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(theme.hairline);
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
  painter.setBackground(theme.panel);
  paintGround(painter);
  paintLegend(painter);
  for (const DepthSeries& series : series_) paintSeries(painter, series);
}

void DepthChart::paintGround(QPainter& painter) const {
  const Theme theme = themeOf(this);
  const QRectF plot = plotArea();
  painter.setFont(uiFont(11));
  if (chosen_ >= 0 && chosen_ < names_.size()) {
    painter.fillRect(QRectF(plot.left() + chosen_ * step(), plot.top(), step(), plot.height()), theme.selection);
  }
  const double range = axis_.high - axis_.low;
  const double every = axis_.logarithmic ? std::ceil(range / kLines) : range / kLines;
  for (double tick = axis_.low; tick <= axis_.high + 1e-9; tick += every) {
    const double y = plot.bottom() - (tick - axis_.low) / range * plot.height();
    painter.setPen(QPen(theme.hairline, 1));
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(theme.textSoft);
    painter.drawText(QRectF(0, y - 10, plot.left() - 8, 20), Qt::AlignRight | Qt::AlignVCenter, tickWords(tick));
  }
  if (band_) {
    const double top = placeOf(0, band_->level + band_->about).y(), low = placeOf(0, band_->level - band_->about).y();
    QColor shade = theme.textFaint;
    shade.setAlphaF(0.18F);
    painter.fillRect(QRectF(plot.left(), top, plot.width(), std::max(1.0, low - top)), shade);
    painter.setPen(QPen(theme.textSoft, 1.2, Qt::DashLine));
    const double level = placeOf(0, band_->level).y();
    painter.drawLine(QPointF(plot.left(), level), QPointF(plot.right(), level));
    painter.drawText(QRectF(plot.left() + 8, top - 20, plot.width(), 18), Qt::AlignLeft | Qt::AlignVCenter,
                     band_->words);
  }
  painter.setPen(theme.textSoft);
  const auto count = static_cast<int>(names_.size());
  const int each = std::max(1, static_cast<int>(std::ceil(28 / std::max(step(), 0.01))));
  for (int i = 0; i < count; i += each) {
    painter.drawText(QRectF(placeOf(i, 1).x() - 20, plot.bottom() + 2, 40, 16), Qt::AlignCenter, QString::number(i));
  }
  painter.drawText(QRectF(plot.left(), plot.bottom() + grown(18), plot.width(), 18), Qt::AlignCenter, caption_);
}

void DepthChart::paintLegend(QPainter& painter) const {
  const Theme theme = themeOf(this);
  const QRectF line(16, 6, width() - 32, grown(24));
  painter.setFont(uiFont(13, QFont::DemiBold));
  painter.setPen(theme.text);
  painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, title_);
  painter.setFont(uiFont(12));
  double right = line.right();
  for (auto series = series_.rbegin(); series != series_.rend(); ++series) {
    const double wide = painter.fontMetrics().horizontalAdvance(series->name);
    right -= wide;
    painter.setPen(theme.textSoft);
    painter.drawText(QRectF(right, line.top(), wide + 2, line.height()), Qt::AlignLeft | Qt::AlignVCenter,
                     series->name);
    right -= 12;
    paintSceneMark(painter, {right, line.center().y()}, series->mark, theme.*(series->color), 0.8);
    right -= 20;
  }
}

void DepthChart::paintSeries(QPainter& painter, const DepthSeries& series) const {
  const Theme theme = themeOf(this);
  const QColor color = theme.*(series.color);
  const auto there = [&](size_t i) { return i < series.values.size() && std::isfinite(series.values[i]); };
  QPainterPath path;
  bool drawing = false;
  const double bar = std::clamp(step() * 0.7, 1.0, 16.0);
  for (size_t i = 0; i < series.values.size(); ++i) {
    if (!there(i)) {
      drawing = false;
      continue;
    }
    const QPointF at = placeOf(static_cast<int>(i), series.values[i]);
    if (series.way == DepthSeries::Way::Bars) {
      painter.fillRect(QRectF(at.x() - bar / 2, at.y(), bar, plotArea().bottom() - at.y()), color);
    }
    drawing ? path.lineTo(at) : path.moveTo(at);
    drawing = true;
    if (i >= series.spreads.size() || !std::isfinite(series.spreads[i])) continue;
    const QPointF up = placeOf(static_cast<int>(i), series.values[i] + series.spreads[i]);
    const QPointF down = placeOf(static_cast<int>(i), series.values[i] - series.spreads[i]);
    const QPointF cap(std::min(4.0, step() / 4), 0);
    painter.setPen(QPen(color, 1.2));
    painter.drawLine(up, down);
    painter.drawLine(up - cap, up + cap);
    painter.drawLine(down - cap, down + cap);
  }
  if (series.way == DepthSeries::Way::Line) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, 1.6));
    painter.drawPath(path);
  }
  if (series.way == DepthSeries::Way::Bars || (series.way == DepthSeries::Way::Line && step() < 12)) return;
  for (size_t i = 0; i < series.values.size(); ++i) {
    if (there(i)) paintSceneMark(painter, placeOf(static_cast<int>(i), series.values[i]), series.mark, color, 0.7);
  }
}

void DepthChart::mousePressEvent(QMouseEvent* event) {
  if (const int place = placeAt(event->position()); place >= 0) Q_EMIT chosen(place);
}

bool DepthChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int place = placeAt(help->pos());
  if (place < 0) return QWidget::event(event);
  QStringList lines{names_[place]};
  for (const DepthSeries& series : series_) {
    const auto at = static_cast<size_t>(place);
    if (at >= series.values.size() || !std::isfinite(series.values[at])) continue;
    QString words = QStringLiteral("%1: %2").arg(series.name, formatNumber(series.values[at], 4));
    if (at < series.spreads.size()) words += QStringLiteral(" ± %1").arg(formatNumber(series.spreads[at], 2));
    lines << words;
  }
  QToolTip::showText(help->globalPos(), lines.join(u'\n'), this);
  return true;
}

}  // namespace normlens::ui
