#include "ui/graphview/paint/text_cache.h"

#include <QFontDatabase>
#include <QFontMetricsF>
#include <QPainter>
#include <QRawFont>
#include <QTextLayout>

#include "ui/layout/box_metrics.h"

namespace normlens::graphview {
namespace {

constexpr int kBasePixels = 64;
constexpr qsizetype kMaxTexts = 20000;

QFont fontOf(TextStyle style, int pixels) {
  if (style != TextStyle::Mono) return layout::labelFont(pixels, style == TextStyle::Bold);
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setFamilies({QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans Mono"), font.family()});
  font.setPixelSize(pixels);
  font.setHintingPreference(QFont::PreferNoHinting);
  return font;
}

QFont baseFont(TextStyle style) { return fontOf(style, kBasePixels); }

}  // namespace

const TextCache::Shaped& TextCache::shaped(const QString& text, TextStyle style) {
  auto& known = shaped_[static_cast<size_t>(style)];
  const auto found = known.constFind(text);
  if (found != known.constEnd()) return *found;
  if (known.size() > kMaxTexts) known.clear();
  QTextLayout shaper(text, baseFont(style));
  QTextOption option;
  option.setUseDesignMetrics(true);
  option.setWrapMode(QTextOption::NoWrap);
  shaper.setTextOption(option);
  shaper.beginLayout();
  QTextLine line = shaper.createLine();
  line.setLineWidth(1e6);
  line.setPosition({0, 0});
  shaper.endLayout();
  Shaped result;
  result.width = line.naturalTextWidth();
  for (QGlyphRun run : line.glyphRuns()) {
    QVector<QPointF> places = run.positions();
    for (QPointF& p : places) p.ry() -= line.ascent();
    run.setPositions(places);
    result.runs.push_back(run);
  }
  return *known.insert(text, result);
}

const TextCache::Sized& TextCache::sized(const QString& text, TextStyle style, int pixels) {
  auto& known = sized_[static_cast<size_t>(style)];
  const auto found = known.constFind(text);
  if (found != known.constEnd() && found->pixels == pixels) return *found;
  if (known.size() > kMaxTexts) known.clear();
  Sized result;
  result.pixels = pixels;
  const double scale = static_cast<double>(pixels) / kBasePixels;
  for (QGlyphRun run : shaped(text, style).runs) {
    QRawFont font = run.rawFont();
    font.setPixelSize(pixels);
    run.setRawFont(font);
    QVector<QPointF> places = run.positions();
    for (QPointF& p : places) p *= scale;
    run.setPositions(places);
    result.runs.push_back(run);
  }
  return *known.insert(text, result);
}

double TextCache::width(const QString& text, TextStyle style, double pixels) {
  return shaped(text, style).width * pixels / kBasePixels;
}

const QString& TextCache::elided(const QString& text, TextStyle style, int pixels, double maxWidth) {
  if (maxWidth <= 0 || width(text, style, pixels) <= maxWidth) return text;
  const int atBase = static_cast<int>(maxWidth * kBasePixels / pixels) / 8 * 8;  // few different widths while zooming
  const QString key = QString::number(atBase) + QChar(static_cast<ushort>('0' + static_cast<int>(style))) + text;
  const auto found = elided_.constFind(key);
  if (found != elided_.constEnd()) return *found;
  const QFontMetricsF metrics(baseFont(style));
  return *elided_.insert(key, metrics.elidedText(text, Qt::ElideMiddle, atBase));
}

void TextCache::draw(QPainter& painter, QPointF place, const QString& text, TextStyle style, int pixels,
                     double maxWidth) {
  const QPointF baseline = place + QPointF(0, pixels * 0.36);
  if (asText_) {
    painter.setFont(fontOf(style, pixels));
    painter.drawText(baseline, elided(text, style, pixels, maxWidth));
    return;
  }
  for (const QGlyphRun& run : sized(elided(text, style, pixels, maxWidth), style, pixels).runs) {
    painter.drawGlyphRun(baseline, run);
  }
}

void TextCache::clear() {
  for (auto& texts : shaped_) texts.clear();
  for (auto& texts : sized_) texts.clear();
  elided_.clear();
}

}  // namespace normlens::graphview
