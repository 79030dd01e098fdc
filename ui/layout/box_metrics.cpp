#include "ui/layout/box_metrics.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <utility>

namespace normlens::layout {
namespace {

// Widths on a grid: blocks that differ only in the digits of a name come out equal, and are laid out once.
double onGrid(double width) { return std::ceil(width / 8) * 8; }

}  // namespace

QFont labelFont(int pixels, bool bold) {
  QFont font;
  font.setFamilies({QStringLiteral("Inter"), QFont().family()});
  font.setPixelSize(std::max(pixels, 1));
  font.setWeight(bold ? QFont::DemiBold : QFont::Normal);
  font.setHintingPreference(QFont::PreferNoHinting);
  return font;
}

BoxKind closedKind(const Hierarchy& hierarchy, int index) {
  const Item& item = hierarchy.item(index);
  if (item.kind == ItemKind::Group) return item.slim ? BoxKind::Slim : BoxKind::Card;
  if (item.role == 'R') return BoxKind::Sum;
  return item.role == 'I' || item.role == 'G' ? BoxKind::Terminal : BoxKind::Op;
}

QString shortCount(int64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 10'000) return QString::number(count);
  constexpr std::pair<double, char> kUnits[] = {{1e12, 'T'}, {1e9, 'G'}, {1e6, 'M'}, {1e3, 'k'}};
  for (const auto& [size, letter] : kUnits) {
    if (value < size) continue;
    QString digits = QString::number(value / size, 'f', value < 100 * size ? 1 : 0);
    if (digits.endsWith(QStringLiteral(".0"))) digits.chop(2);
    return digits + QLatin1Char(letter);
  }
  return QString::number(count);
}

QString opSummary(const Item& item) {
  QString text = item.ops == 1 ? QStringLiteral("1 node") : QStringLiteral("%1 nodes").arg(item.ops);
  if (item.parameters > 0) text += QStringLiteral(" · %1 params").arg(shortCount(item.parameters));
  return text;
}

QString normSummary(const Item& item) {
  if (item.layerNorms == 0) return {};
  return item.layerNorms == 1 ? QStringLiteral("1 LayerNorm") : QStringLiteral("%1 LayerNorms").arg(item.layerNorms);
}

QString shortType(const Item& item) {
  const QString type = QString::fromStdString(item.type);
  return type.section(QLatin1Char('.'), -1).section(QStringLiteral("::"), -1);
}

double BoxMetrics::textWidth(const QString& text, int pixels, bool bold) {
  const QString key = QString::number(pixels) + (bold ? QLatin1Char('b') : QLatin1Char('r')) + text;
  const auto found = known_.constFind(key);
  if (found != known_.constEnd()) return *found;
  const double width = QFontMetricsF(labelFont(pixels, bold)).horizontalAdvance(text);
  known_.insert(key, width);
  return width;
}

QSizeF BoxMetrics::closedSize(const Hierarchy& hierarchy, int index) {
  const Item& item = hierarchy.item(index);
  const QString title = QString::fromStdString(item.title);
  switch (closedKind(hierarchy, index)) {
    case BoxKind::Sum:
      return {kSumDiameter, kSumDiameter};
    case BoxKind::Card: {
      constexpr double kSlack = 1.07;  // zoomed out, whole pixels make letters wider than their share
      const double first = textWidth(title, 13, true) + 8 + textWidth(shortType(item), 12, false);
      double second = textWidth(opSummary(item), 11, false);
      // It shows how many norms it holds, or their counts by verdict: at most four, or as many as there are norms.
      constexpr double kCount = 32;
      if (item.layerNorms > 0)
        second += std::max(textWidth(QStringLiteral(" · ") + normSummary(item), 11, false),
                           9 + kCount * std::min(item.layerNorms, 4));
      return {onGrid(std::clamp(kSlack * std::max(first, second) + 14 + 38, 184.0, 340.0)), kCardHeight};
    }
    default: {
      // Bold, because a lit node's label is: its box must not change.
      const double label = std::min(textWidth(title, 12, true), kMaxLabel);
      return {onGrid(std::max(label + 2 * kBadgeRoom, 80.0)), kNodeHeight};
    }
  }
}

double BoxMetrics::titleWidth(const Hierarchy& hierarchy, int index, bool withType) {
  const Item& item = hierarchy.item(index);
  const double name = textWidth(QString::fromStdString(item.title), 12, true);
  const double type = withType ? 8 + textWidth(shortType(item), 12, false) : 0;
  return onGrid(name + type + 30);
}

}  // namespace normlens::layout
