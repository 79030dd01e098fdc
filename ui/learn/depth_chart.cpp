#include "ui/learn/depth_chart.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include "ui/theme/theme.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int kTitle = 34, kLeft = 56, kRight = 16, kFoot = 40, kLines = 4;
constexpr int kLegendLine = 22;                // where the legend has no room beside the title
constexpr int kToMark = 12, kBeforeMark = 20;  // Space an entry of the legend.

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

DepthChart::DepthChart(QString title, QString caption, QWidget* parent)
    : QWidget(parent), title_(std::move(title)), caption_(std::move(caption)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(title_);
}

void DepthChart::setSeries(std::vector<DepthSeries> series, const DepthAxis& axis, std::vector<DepthBand> bands) {
  series_ = std::move(series);
  axis_ = axis;
  bands_ = std::move(bands);
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

void DepthChart::setNamesChosen(bool names) {
  namesChosen_ = names;
  update();
}

QRectF DepthChart::plotArea() const {
  const int top = grown(kTitle) + (legendHasRoom() ? 0 : grown(kLegendLine));
  return QRectF(rect()).adjusted(grown(kLeft), top, -kRight, -grown(kFoot));
}

bool DepthChart::legendHasRoom() const {
  double wide = QFontMetricsF(uiFont(13, QFont::DemiBold)).horizontalAdvance(title_);
  for (const DepthSeries& series : series_)
    wide += QFontMetricsF(uiFont(12)).horizontalAdvance(series.name) + kToMark + kBeforeMark;
  return wide < width() - 2 * kRight;
}

DepthScale DepthChart::scale() const {
  return {plotArea(), static_cast<int>(names_.size()), axis_.logarithmic, axis_.low, axis_.high};
}

QPointF DepthChart::placeOf(int place, double value) const { return scale().at(place, value); }

QString DepthChart::tickWords(double value) const {
  if (!axis_.logarithmic) return formatNumber(value) + axis_.unit;
  if (axis_.unit == QStringLiteral("%")) return formatNumber(std::pow(10.0, value) * 100) + u'%';
  return powerOfTen(value);
}

void DepthChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint(painter);
}

void DepthChart::paint(QPainter& painter) const {
  const Theme theme = themeOf(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(theme.hairline);
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
  painter.setBackground(theme.panel);
  paintGround(painter);
  paintLegend(painter);
  for (const DepthSeries& series : series_) paintSeries(painter, series);
  paintChosen(painter);
}

void DepthChart::paintGround(QPainter& painter) const {
  const Theme theme = themeOf(this);
  const QRectF plot = plotArea();
  if (chosen_ >= 0 && chosen_ < names_.size()) {
    painter.fillRect(QRectF(plot.left() + chosen_ * scale().step(), plot.top(), scale().step(), plot.height()),
                     theme.selection);
  }
  painter.setFont(uiFont(11));
  paintAxes(painter);
  for (const DepthBand& band : bands_) paintBand(painter, band);
}

void DepthChart::paintAxes(QPainter& painter) const {
  const Theme theme = themeOf(this);
  const QRectF plot = plotArea();
  for (const double tick : scale().ticks(kLines)) {
    const double y = scale().levelOf(tick);
    painter.setPen(QPen(theme.hairline, 1));
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(theme.textSoft);
    painter.drawText(QRectF(0, y - 10, plot.left() - 8, 20), Qt::AlignRight | Qt::AlignVCenter, tickWords(tick));
  }
  painter.setPen(theme.textSoft);
  const auto count = static_cast<int>(names_.size());
  const int each = std::max(1, static_cast<int>(std::ceil(28 / std::max(scale().step(), 0.01))));
  for (int i = 0; i < count; i += each) {
    painter.drawText(QRectF(placeOf(i, 1).x() - 20, plot.bottom() + 2, 40, 16), Qt::AlignCenter, QString::number(i));
  }
  painter.drawText(QRectF(plot.left(), plot.bottom() + grown(18), plot.width(), 18), Qt::AlignCenter, caption_);
}

void DepthChart::paintBand(QPainter& painter, const DepthBand& band) const {
  const Theme theme = themeOf(this);
  const QRectF plot = plotArea();
  const double top = placeOf(0, band.level + band.about).y(), low = placeOf(0, band.level - band.about).y();
  if (band.about > 0) {
    QColor shade = theme.textFaint;
    shade.setAlphaF(0.18F);
    painter.fillRect(QRectF(plot.left(), top, plot.width(), std::max(1.0, low - top)), shade);
  }
  painter.setPen(QPen(band.color != nullptr ? theme.*band.color : theme.textSoft, 1.2, Qt::DashLine));
  const double level = placeOf(0, band.level).y();
  painter.drawLine(QPointF(plot.left(), level), QPointF(plot.right(), level));
  // Above it, or below where there is no room.
  const double y = top - 20 >= plot.top() - 4 ? top - 20 : low + 2;
  painter.drawText(QRectF(plot.left() + 8, y, plot.width() - 16, 18),
                   static_cast<int>((band.wordsAtEnd ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter), band.words);
}

void DepthChart::paintChosen(QPainter& painter) const {
  const Theme theme = themeOf(this);
  const QRectF plot = plotArea();
  if (chosen_ < 0 || chosen_ >= names_.size() || !namesChosen_) return;
  painter.setFont(monoFont(11));
  const double wide = std::min(plot.width(), painter.fontMetrics().horizontalAdvance(names_[chosen_]) + 16.0);
  const double middle = std::clamp(placeOf(chosen_, 1).x(), plot.left() + wide / 2, plot.right() - wide / 2);
  const QRectF label(middle - wide / 2, plot.bottom() - grown(22), wide, grown(18));
  painter.setPen(QPen(theme.accentText, 1));
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(label, 4, 4);
  painter.setPen(theme.text);
  painter.drawText(label, Qt::AlignCenter,
                   painter.fontMetrics().elidedText(names_[chosen_], Qt::ElideLeft, static_cast<int>(wide) - 8));
}

void DepthChart::paintLegend(QPainter& painter) const {
  const Theme theme = themeOf(this);
  QRectF line(16, 6, width() - 32, grown(24));
  painter.setFont(uiFont(13, QFont::DemiBold));
  painter.setPen(theme.text);
  painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, title_);
  painter.setFont(uiFont(12));
  if (!legendHasRoom()) line.translate(0, grown(kLegendLine));
  double right = line.right();
  for (const DepthSeries& series : std::views::reverse(series_)) {
    const double wide = painter.fontMetrics().horizontalAdvance(series.name);
    right -= wide;
    painter.setPen(theme.textSoft);
    painter.drawText(QRectF(right, line.top(), wide + 2, line.height()), Qt::AlignLeft | Qt::AlignVCenter, series.name);
    right -= kToMark;
    const QPointF at(right, line.center().y());
    if (series.way == DepthSeries::Way::Limit) {
      painter.setPen(QPen(theme.*(series.color), 1.2, Qt::DashLine));
      painter.drawLine(at - QPointF(8, 0), at + QPointF(8, 0));
    } else {
      paintSceneMark(painter, at, series.mark, theme.*(series.color), 0.8);
    }
    right -= kBeforeMark;
  }
}

void DepthChart::paintSpread(QPainter& painter, int place, double value, double spread) const {
  const QPointF up = placeOf(place, value + spread), down = placeOf(place, value - spread);
  const QPointF cap(std::min(4.0, scale().step() / 4), 0);
  painter.drawLine(up, down);
  painter.drawLine(up - cap, up + cap);
  painter.drawLine(down - cap, down + cap);
}

void DepthChart::paintSeries(QPainter& painter, const DepthSeries& series) const {
  using Way = DepthSeries::Way;
  const Theme theme = themeOf(this);
  const QColor color = theme.*(series.color);
  const double bar = std::clamp(scale().step() * 0.7, 1.0, 16.0), foot = plotArea().bottom();
  std::vector<QPointF> marks;
  for (size_t i = 0; i < series.values.size(); ++i) {
    if (!std::isfinite(series.values[i])) continue;
    const auto place = static_cast<int>(i);
    const QPointF at = placeOf(place, series.values[i]);
    marks.push_back(at);
    painter.setPen(QPen(color, 1.2, series.way == Way::Limit ? Qt::DashLine : Qt::SolidLine));
    if (series.way == Way::Bars) painter.fillRect(QRectF(at.x() - bar / 2, at.y(), bar, foot - at.y()), color);
    if (series.way == Way::Stems) painter.drawLine(at, QPointF(at.x(), foot));
    if (series.way == Way::Limit)
      painter.drawLine(at - QPointF(scale().step() / 2, 0), at + QPointF(scale().step() / 2, 0));
    if (i < series.spreads.size() && std::isfinite(series.spreads[i]))
      paintSpread(painter, place, series.values[i], series.spreads[i]);
  }
  if (series.way == Way::Line) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, 1.6));
    const auto valueOf = [&](int place) {
      const auto i = static_cast<size_t>(place);
      return i < series.values.size() ? series.values[i] : std::numeric_limits<double>::quiet_NaN();
    };
    painter.drawPath(pathThrough(scale(), valueOf));
  }
  const bool crowded = series.way == Way::Line && scale().step() < 12;
  if (series.way == Way::Bars || series.way == Way::Limit || crowded) return;
  for (const QPointF& at : marks) paintSceneMark(painter, at, series.mark, color, 0.7);
}

void DepthChart::mousePressEvent(QMouseEvent* event) {
  if (const int place = scale().placeAt(event->position()); place >= 0) Q_EMIT chosen(place);
}

bool DepthChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int place = scale().placeAt(help->pos());
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
