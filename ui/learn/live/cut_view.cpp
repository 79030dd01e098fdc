#include "ui/learn/live/cut_view.h"

#include <QHelpEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ui/learn/card_paint.h"
#include "ui/theme/class_mark.h"
#include "ui/theme/theme.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr size_t kMostValues = 12, kMostNorms = 14;

void paintNamed(QPainter& painter, const QRectF& box, QChar letter, const QString& name, const Theme& theme) {
  painter.drawRoundedRect(box, 5, 5);
  const double side = std::min(14.0, box.height() - 4);
  paintClassMark(painter, QRectF(box.left() + 6, box.center().y() - side / 2, side, side), letter, theme);
  painter.setPen(theme.text);
  const QRectF room = box.adjusted(side + 12, 0, -6, 0);
  painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(name, Qt::ElideLeft, static_cast<int>(room.width())));
}

}  // namespace

QString amountWords(double amount, bool measured) {
  return measured ? formatMicroseconds(amount) : QObject::tr("%1 elements").arg(formatCount(std::llround(amount)));
}

CutView::CutView(QWidget* parent) : ScaledPlot(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Network of centerings and LayerNorms with its minimum cut"));
}

void CutView::setCut(const protocol::CenteringCut& cut, const QStringList& norms, const QString& trouble) {
  cut_ = cut;
  norms_ = norms;
  trouble_ = trouble;
  update();
}

// Returns a font that fits a row this tall, capped at 12 pixels times factor().
QFont CutView::fontFor(double tall) const {
  return uiFont(std::clamp(static_cast<int>(tall * 0.8 / textScale()), 8, static_cast<int>(12 * factor())));
}

size_t CutView::shownNorms() const { return std::min(kMostNorms, cut_.norms.size()); }

double CutView::largest() const {
  double most = 1e-12;
  for (const auto& value : cut_.values) most = std::max(most, value.price);
  for (const auto& norm : cut_.norms) most = std::max(most, norm.saving);
  return most;
}

CutView::Columns CutView::columns(const QRectF& area) const {
  const double wide = area.width(), name = std::clamp(wide * 0.2, 90.0, 220.0), bar = wide * 0.14;
  Columns at;
  at.value = QRectF(area.left(), area.top(), name, 0);
  at.price = QRectF(at.value.right() + 8, area.top(), bar, 0);
  at.triangle = at.price.right() + 20 * scale();
  at.saving = QRectF(area.right() - bar, area.top(), bar, 0);
  at.norm = QRectF(at.saving.left() - 8 - name, area.top(), name, 0);
  return at;
}

CutView::Rows CutView::rows(const QRectF& area) const {
  Rows rows;
  rows.shown.resize(cut_.values.size());
  std::iota(rows.shown.begin(), rows.shown.end(), size_t{0});
  if (rows.shown.size() > kMostValues) {
    std::ranges::stable_sort(rows.shown, std::greater(), [&](size_t i) { return cut_.values[i].flow; });
    rows.shown.resize(kMostValues);
    std::ranges::sort(rows.shown);
  }
  rows.top = area.top() + 22 * scale();
  const double tall = area.bottom() - rows.top;
  rows.valueStep = tall / static_cast<double>(std::max<size_t>(1, rows.shown.size()));
  rows.normStep = tall / static_cast<double>(std::max<size_t>(1, shownNorms()));
  return rows;
}

// Paints a bar whose length is what it may carry, filled as far as what it carries.
void CutView::paintBar(QPainter& painter, const QRectF& room, double full, double flow, bool cut) const {
  const Theme theme = themeOf(this);
  const double wide = std::max(3.0, room.width() * std::min(1.0, full / largest()));
  const QRectF bar(room.left(), room.center().y() - 7 * scale(), wide, 14 * scale());
  painter.setPen(QPen(theme.control, 1));
  painter.setBrush(theme.canvas);
  painter.drawRoundedRect(bar, 2, 2);
  if (full > 0 && flow > 0) {
    QRectF used = bar.adjusted(1, 1, -1, -1);
    used.setWidth(used.width() * std::min(1.0, flow / full));
    painter.fillRect(used, theme.streamLine);
  }
  if (!cut) return;
  painter.setPen(QPen(theme.opaqueLine, 2.5, Qt::DashLine));
  painter.drawLine(QPointF(bar.center().x(), bar.top() - 6), QPointF(bar.center().x(), bar.bottom() + 6));
}

void CutView::paintValues(QPainter& painter, const QRectF& area) const {
  const Theme theme = themeOf(this);
  const Columns at = columns(area);
  const Rows rows = this->rows(area);
  for (size_t i = 0; i < rows.shown.size(); ++i) {
    const protocol::CutValue& value = cut_.values[rows.shown[i]];
    const double middle = rows.top + (static_cast<double>(i) + 0.5) * rows.valueStep;
    const double tall = std::min(30 * scale(), rows.valueStep - 4);
    painter.setFont(fontFor(tall));
    painter.setPen(QPen(theme.opaqueLine, 1));
    painter.setBrush(theme.blockedBack);
    paintNamed(painter, QRectF(at.value.left(), middle - tall / 2, at.value.width(), tall), u'O',
               shortName(text(value.name)), theme);
    paintBar(painter, QRectF(at.price.left(), middle - tall / 2, at.price.width(), tall), value.price, value.flow,
             value.cut);
    const double side = 9 * scale();
    QPolygonF triangle{{at.triangle, middle - side},
                       {at.triangle + side, middle + side * 0.7},
                       {at.triangle - side, middle + side * 0.7}};
    painter.setPen(QPen(theme.classes.centering, 1.5, value.cut ? Qt::SolidLine : Qt::DashLine));
    painter.setBrush(value.cut ? QBrush(theme.classes.centering) : QBrush(Qt::NoBrush));
    painter.drawPolygon(triangle);
    if (rows.valueStep < 44 * scale()) continue;
    painter.setFont(monoFont(static_cast<int>(11 * factor())));
    painter.setPen(theme.textSoft);
    painter.drawText(QRectF(at.price.left(), middle + 8 * scale(), at.price.width(), 18 * scale()),
                     Qt::AlignLeft | Qt::AlignVCenter, amountWords(value.price, cut_.measured));
  }
}

void CutView::paintLinks(QPainter& painter, const QRectF& area) const {
  const Theme theme = themeOf(this);
  const Columns at = columns(area);
  const Rows rows = this->rows(area);
  painter.setBrush(Qt::NoBrush);
  for (size_t i = 0; i < rows.shown.size(); ++i) {
    const protocol::CutValue& value = cut_.values[rows.shown[i]];
    const QPointF from(at.triangle + 12 * scale(), rows.top + (static_cast<double>(i) + 0.5) * rows.valueStep);
    for (size_t n = 0; n < shownNorms(); ++n) {
      if (!value.norms.contains(cut_.norms[n].norm)) continue;
      const QPointF to(at.norm.left() - 4, rows.top + (static_cast<double>(n) + 0.5) * rows.normStep);
      QPainterPath path(from);
      path.cubicTo(QPointF((from.x() + to.x()) / 2, from.y()), QPointF((from.x() + to.x()) / 2, to.y()), to);
      const bool freed = cut_.norms[n].freed;
      painter.setPen(QPen(freed ? theme.linearLine : theme.control, freed ? 1.6 : 1.0));
      painter.drawPath(path);
    }
  }
}

void CutView::paintNorms(QPainter& painter, const QRectF& area) const {
  const Theme theme = themeOf(this);
  const Columns at = columns(area);
  const Rows rows = this->rows(area);
  for (size_t n = 0; n < shownNorms(); ++n) {
    const protocol::CutNorm& norm = cut_.norms[n];
    const double middle = rows.top + (static_cast<double>(n) + 0.5) * rows.normStep;
    const double tall = std::min(28 * scale(), rows.normStep - 4);
    painter.setFont(fontFor(tall));
    painter.setPen(QPen(norm.freed ? theme.good : theme.control, norm.freed ? 1.6 : 1.0));
    painter.setBrush(norm.freed ? theme.goodBack : theme.panel);
    paintNamed(painter, QRectF(at.norm.left(), middle - tall / 2, at.norm.width(), tall), norm.freed ? u'M' : u'N',
               norms_.value(static_cast<int>(n)), theme);
    paintBar(painter, QRectF(at.saving.left(), middle - tall / 2, at.saving.width(), tall), norm.saving, norm.flow,
             !norm.freed);
  }
}

void CutView::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QString claim = trouble_.isEmpty()
                            ? tr("cheapest cut: %1").arg(amountWords(cut_.paid + cut_.given_up, cut_.measured))
                            : QString();
  const QRectF inside =
      paintCard(painter, rect(), {tr("The barriers between a mean and a LayerNorm"), claim}, theme, factor())
          .adjusted(0, 0, 0, -22 * scale());
  painter.setFont(uiFont(static_cast<int>(12 * factor())));
  painter.setPen(theme.textSoft);
  if (!trouble_.isEmpty()) {
    painter.drawText(inside, Qt::AlignCenter | Qt::TextWordWrap, trouble_);
    return;
  }
  const Columns at = columns(inside);
  const auto head = [&](const QRectF& column, const QString& words) {
    painter.drawText(QRectF(column.left(), inside.top(), std::max(column.width(), 120.0), 18 * scale()),
                     Qt::AlignLeft | Qt::AlignVCenter, words);
  };
  head(at.value, tr("value with a mean"));
  head(at.price, tr("price"));
  head(at.norm, tr("LayerNorm"));
  head(at.saving, tr("saves"));
  paintLinks(painter, inside);
  paintValues(painter, inside);
  paintNorms(painter, inside);
  QString foot = tr("Filled: the flow. Dashed: the cut, which crosses full bars only.");
  if (cut_.values.size() > kMostValues) foot += u' ' + tr("%1 more values.").arg(cut_.values.size() - kMostValues);
  if (cut_.norms.size() > kMostNorms) foot += u' ' + tr("%1 more norms.").arg(cut_.norms.size() - kMostNorms);
  painter.setFont(uiFont(static_cast<int>(11 * factor())));
  painter.setPen(theme.textSoft);
  painter.drawText(QRectF(inside.left(), inside.bottom() + 4, inside.width(), 18 * scale()),
                   Qt::AlignLeft | Qt::AlignVCenter, foot);
}

bool CutView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !trouble_.isEmpty()) return ScaledPlot::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QRectF inside = QRectF(rect()).adjusted(16, 10 + 26 * scale(), -16, -22 * scale());
  const Rows rows = this->rows(inside);
  const bool left = help->pos().x() < width() / 2;
  const int row = static_cast<int>((help->pos().y() - rows.top) / (left ? rows.valueStep : rows.normStep));
  QString words;
  if (left && row >= 0 && row < static_cast<int>(rows.shown.size())) {
    const protocol::CutValue& value = cut_.values[rows.shown[static_cast<size_t>(row)]];
    words = tr("%1\nCentering it costs %2; %3 norms need it.")
                .arg(text(value.name), amountWords(value.price, cut_.measured))
                .arg(value.norms.size());
  } else if (!left && row >= 0 && row < static_cast<int>(shownNorms())) {
    const protocol::CutNorm& norm = cut_.norms[static_cast<size_t>(row)];
    words = tr("%1\nFolding it saves %2.").arg(norms_.value(row), amountWords(norm.saving, cut_.measured));
  }
  QToolTip::showText(help->globalPos(), words, this);
  return true;
}

}  // namespace normlens::ui
