#include "ui/graphview/overlays/mean_legend.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPen>
#include <algorithm>

namespace normlens::graphview {
namespace {

constexpr int kRowHeight = 20, kLegendPad = 10, kSample = 34;

}  // namespace

MeanLegend::MeanLegend(QWidget* parent) : QWidget(parent) {
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setAccessibleName(tr("Legend of the lines"));
}

void MeanLegend::setStates(const MeanStates& states) {
  states_ = states;
  QStringList words;
  for (const Row& row : rows()) words << row.text;
  setAccessibleDescription(words.join(QStringLiteral(", ")));
  resize(sizeHint());
  update();
}

std::vector<MeanLegend::Row> MeanLegend::rows() const {
  const auto count = [this](MeanState state) { return states_.count(state); };
  return {{MeanState::Now, tr("zero-mean now: %1").arg(count(MeanState::Now))},
          {MeanState::Planned, tr("zero-mean after the plan: %1").arg(count(MeanState::Planned))},
          {MeanState::NotZero, tr("not zero-mean: %1").arg(count(MeanState::NotZero))},
          {MeanState::Unknown, tr("no LayerNorm depends on it")}};
}

QSize MeanLegend::sizeHint() const {
  const QFontMetrics metrics(ui::uiFont(12));
  int width = 0;
  for (const Row& row : rows()) width = std::max(width, metrics.horizontalAdvance(row.text));
  return {width + kSample + 3 * kLegendPad, 4 * ui::grown(kRowHeight) + kLegendPad};
}

void MeanLegend::paintEvent(QPaintEvent*) {
  const ui::Theme theme = ui::themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.control, 1));
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  painter.setFont(ui::uiFont(12));
  const int high = ui::grown(kRowHeight);
  int y = kLegendPad / 2;
  for (const Row& row : rows()) {
    QPen pen(meanColor(row.state, theme), row.state == MeanState::Unknown ? 1.5 : 3, Qt::SolidLine, Qt::FlatCap);
    setMeanDashes(pen, row.state);
    painter.setPen(pen);
    painter.drawLine(QPointF(kLegendPad, y + high / 2.0), QPointF(kLegendPad + kSample, y + high / 2.0));
    painter.setPen(theme.text);
    painter.drawText(QRect(2 * kLegendPad + kSample, y, width(), high), Qt::AlignVCenter | Qt::AlignLeft, row.text);
    y += high;
  }
}

}  // namespace normlens::graphview
