#include "ui/learn/pass_view.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/learn/card_paint.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

PassView::PassView(QString title, QString claim, QWidget* parent)
    : QWidget(parent), title_(std::move(title)), claim_(std::move(claim)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(title_);
}

void PassView::setPasses(NormPasses passes, const Vector& x) {
  passes_ = std::move(passes);
  x_ = x;
  update();
}

void PassView::setTime(int steps) {
  time_ = steps;
  const NormPassStep* at = current();
  const bool done = time_ >= static_cast<int>(passes_.steps.size());
  setAccessibleDescription(at == nullptr ? tr("not begun")
                           : done        ? tr("done, %1 operations").arg(at->operations)
                                         : tr("pass %1, %2 operations").arg(at->pass + 1).arg(at->operations));
  update();
}

void PassView::setFactor(double factor) {
  factor_ = factor;
  update();
}

const NormPassStep* PassView::current() const {
  if (time_ <= 0 || passes_.steps.empty()) return nullptr;
  return &passes_.steps[static_cast<size_t>(std::min<int>(time_, static_cast<int>(passes_.steps.size()))) - 1];
}

QString PassView::registersOf(const NormPassStep& at) const {
  const QString squares = tr("squares %1").arg(at.squares, 0, 'f', 2);
  if (!passes_.keepsMean) return squares;
  const bool isSum = at.pass == 0 && passes_.passes.size() == 3;
  return QStringLiteral("%1   %2").arg((isSum ? tr("sum %1") : tr("mean %1")).arg(at.mean, 0, 'f', 2), squares);
}

void PassView::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const bool inRoom = factor_ > 1;
  const QRectF inside = paintCard(painter, rect(), {title_, inRoom ? passWords() : claim_}, theme, factor_);
  const double line = 22 * factor_, facts = line * (inRoom ? 0.9 : 1.8);
  const double tall = std::clamp(inside.height() - facts - 0.3 * line, 12.0, 110.0 * factor_);
  paintRow(painter, QRectF(inside.left(), inside.top(), inside.width(), tall));
  paintFacts(painter, QRectF(inside.left(), inside.bottom() - facts, inside.width(), facts));
}

// Bars about zero; read in this pass filled, not yet pale, the number at work framed; green once written.
void PassView::paintRow(QPainter& painter, const QRectF& area) const {
  const Theme theme = themeOf(this);
  const NormPassStep* at = current();
  const bool writes = at != nullptr && at->writes > 0;
  const double step = area.width() / static_cast<double>(std::max<size_t>(x_.size(), 1));
  double most = 1e-9;
  for (const double each : x_) most = std::max(most, std::abs(each));
  for (const double each : passes_.output) most = std::max(most, std::abs(each));
  for (size_t i = 0; i < x_.size(); ++i) {
    const bool touched = at != nullptr && static_cast<int>(i) <= at->index;
    const double value = writes && touched ? passes_.output[i] : x_[i];
    QColor color = writes && touched ? theme.linearLine : theme.streamLine;
    if (!touched) color.setAlphaF(0.35F);
    const double middle = area.center().y(), reach = value / most * area.height() / 2;
    const QRectF cell(area.left() + step * static_cast<double>(i), area.top(), step - 4, area.height());
    painter.fillRect(QRectF(cell.left(), std::min(middle, middle - reach), cell.width(), std::abs(reach)), color);
    painter.setPen(QPen(theme.hairline, 1));
    painter.drawLine(QPointF(cell.left(), middle), QPointF(cell.right(), middle));
    if (at == nullptr || static_cast<int>(i) != at->index) continue;
    painter.setPen(QPen(theme.classes.chosen, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(cell.adjusted(-2, -2, 2, 2));
  }
}

QString PassView::passWords() const {
  const NormPassStep* at = current();
  const auto passes = static_cast<int>(passes_.passes.size());
  if (at == nullptr) return tr("%1 passes").arg(passes);
  return tr("pass %1 of %2: %3").arg(at->pass + 1).arg(passes).arg(passes_.passes[static_cast<size_t>(at->pass)]);
}

// Paints which pass it is, unless the heading shows it; what it has cost, and what the registers hold.
void PassView::paintFacts(QPainter& painter, const QRectF& area) const {
  const Theme theme = themeOf(this);
  const NormPassStep* at = current();
  const int operations = at == nullptr ? 0 : at->operations, moved = at == nullptr ? 0 : at->reads + at->writes;
  QRectF lower = area;
  if (factor_ <= 1) {
    lower.setTop(area.center().y());
    painter.setFont(uiFont(static_cast<int>(12 * factor_)));
    painter.setPen(theme.textSoft);
    painter.drawText(QRectF(area.topLeft(), lower.topRight()), Qt::AlignLeft | Qt::AlignVCenter, passWords());
  }
  painter.setFont(monoFont(static_cast<int>(12 * factor_)));
  painter.setPen(theme.text);
  painter.drawText(lower, Qt::AlignLeft | Qt::AlignVCenter,
                   tr("%1 operations   %2 numbers moved").arg(operations).arg(moved));
  if (at == nullptr) return;
  painter.drawText(lower, Qt::AlignRight | Qt::AlignVCenter, registersOf(*at));
}

}  // namespace normlens::ui
