#include "ui/learn/live/error_bars.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/learn/card_paint.h"
#include "ui/session/words/format.h"
#include "ui/theme/theme.h"

namespace normlens::ui {
namespace {

constexpr int kName = 74, kNumber = 84;

}  // namespace

ErrorBars::ErrorBars(QWidget* parent) : ScaledPlot(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Error of the outputs if folded anyway"));
  setToolTip(tr("The largest relative difference of an output; the line is six times what rounding does there."));
}

void ErrorBars::setErrors(const std::vector<protocol::ForcedError>& errors, const QStringList& waiting) {
  errors_ = errors;
  waiting_ = waiting;
  double least = 1, most = 1;
  QStringList words;
  for (const auto& error : errors_) {
    if (!error.error.empty()) continue;
    least = std::min({least, error.limit > 0 ? error.limit : 1, error.max_rel > 0 ? error.max_rel : 1});
    most = std::max(most, std::isfinite(error.max_rel) ? error.max_rel : 1);
    words << QStringLiteral("%1: %2").arg(text(error.dtype), formatError(error.max_rel));
  }
  low_ = static_cast<int>(std::floor(std::log10(std::max(least, 1e-20)))) - 1;
  high_ = static_cast<int>(std::ceil(std::log10(most)));
  setAccessibleDescription(words.join(QStringLiteral(", ")));
  update();
}

double ErrorBars::share(double error) const {
  if (!(error > 0)) return 0;
  return std::clamp((std::log10(error) - low_) / (high_ - low_), 0.0, 1.0);
}

void ErrorBars::paintRow(QPainter& painter, const QRectF& row, const protocol::ForcedError& error) const {
  const Theme theme = themeOf(this);
  const QRectF bars = row.adjusted(kName * scale(), 0, -kNumber * scale(), 0);
  painter.setFont(monoFont(static_cast<int>(12 * factor())));
  painter.setPen(theme.text);
  painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, text(error.dtype));
  if (!error.error.empty()) {
    painter.setFont(uiFont(static_cast<int>(12 * factor())));
    painter.setPen(theme.textSoft);
    const QRectF room = row.adjusted(kName * scale(), 0, 0, 0);
    painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(asSentence(text(error.error)), Qt::ElideRight,
                                                      static_cast<int>(room.width())));
    return;
  }
  const double tall = std::min(14 * scale(), row.height() - 6), middle = row.center().y();
  painter.fillRect(QRectF(bars.left(), middle - tall / 2, bars.width() * share(error.max_rel), tall),
                   error.max_rel > error.limit ? theme.opaqueLine : theme.linearLine);
  const double limit = bars.left() + bars.width() * share(error.limit);
  painter.setPen(QPen(theme.text, 1.5));
  painter.drawLine(QPointF(limit, middle - tall / 2 - 4), QPointF(limit, middle + tall / 2 + 4));
  painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, formatError(error.max_rel));
}

void ErrorBars::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const CardWords words{tr("Error if folded anyway"), tr("line: 6 × noise of rounding")};
  const QRectF inside = paintCard(painter, rect(), words, theme, factor());
  const auto count = static_cast<double>(errors_.size()) + static_cast<double>(waiting_.size());
  const double tall = std::min(34 * scale(), inside.height() / std::max(1.0, count));
  QRectF row(inside.left(), inside.top(), inside.width(), tall);
  for (const auto& error : errors_) {
    paintRow(painter, row, error);
    row.translate(0, tall);
  }
  painter.setFont(uiFont(static_cast<int>(12 * factor())));
  painter.setPen(theme.textFaint);
  for (const QString& type : waiting_) {
    painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, tr("%1: the engine runs the model").arg(type));
    row.translate(0, tall);
  }
}

}  // namespace normlens::ui
