#include "ui/words/tensor_text.h"

#include <QCoreApplication>
#include <cmath>

#include "ui/words/format.h"

namespace normlens::ui {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("TensorText", text); }

QString linesOf(const QVector<TensorFact>& facts) {
  QString lines;
  for (const auto& [name, value] : facts) lines += QStringLiteral("  %1: %2\n").arg(name, value);
  return lines;
}

}  // namespace

QVector<TensorFact> tensorFacts(const protocol::TensorStats& stats, const protocol::TensorFigures& figures,
                                int digits) {
  QVector<TensorFact> facts{{tr("type"), text(stats.dtype)}};
  if (!figures.histogram.empty()) {
    facts.push_back({tr("range"), QStringLiteral("%1 … %2").arg(formatNumber(figures.min, digits),
                                                                formatNumber(figures.max, digits))});
    facts.push_back({tr("mean"), formatNumber(figures.mean, digits)});
    facts.push_back({tr("deviation"), formatNumber(figures.deviation, digits)});
  }
  if (stats.after) facts.push_back({tr("largest mean"), formatNumber(figures.largest_column_mean, digits)});
  if (stats.not_finite > 0) facts.push_back({tr("NaN or infinite"), formatCount(stats.not_finite)});
  return facts;
}

QString tensorText(const protocol::TensorStats& stats, int digits) {
  QString all = QStringLiteral("%1  %2\n").arg(text(stats.name), formatShape(stats.shape));
  all += linesOf(tensorFacts(stats, stats.before, digits));
  if (stats.after) all += tr("after the plan") + u'\n' + linesOf(tensorFacts(stats, *stats.after, digits));
  return all;
}

double heatReach(const protocol::TensorStats& stats) {
  // Not the largest cell: one stray number would leave the rest without color.
  double squares = 0;
  for (const double cell : stats.before.heat) squares += cell * cell;
  return stats.before.heat.empty() ? 0 : 2 * std::sqrt(squares / static_cast<double>(stats.before.heat.size()));
}

}  // namespace normlens::ui
