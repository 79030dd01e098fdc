// Labels shaped once and drawn at any size: the glyphs' places scale, so zooming shapes nothing anew.
//
// Thread: GUI thread (or one thread at a time).
#pragma once

#include <QColor>
#include <QGlyphRun>
#include <QHash>
#include <QString>
#include <vector>

class QPainter;

namespace normlens::graphview {

enum class TextStyle : uint8_t { Regular, Bold, Mono };

class TextCache {
 public:
  // asText: draw() gives the painter words, not glyphs, so that a file has them as text.
  explicit TextCache(bool asText = false) : asText_(asText) {}

  // Width in pixels at a font size.
  [[nodiscard]] double width(const QString& text, TextStyle style, double pixels);
  // place: the left end, at the height of the middle of the capitals. Text wider than maxWidth (if positive) ends in an
  // ellipsis.
  void draw(QPainter& painter, QPointF place, const QString& text, TextStyle style, int pixels, double maxWidth = 0);
  void clear();

 private:
  struct Shaped {
    std::vector<QGlyphRun> runs;  // at kBasePixels, base line at y = 0
    double width = 0;
  };
  struct Sized {
    std::vector<QGlyphRun> runs;
    int pixels = 0;
  };
  const Shaped& shaped(const QString& text, TextStyle style);
  const QString& elided(const QString& text, TextStyle style, int pixels, double maxWidth);
  const Sized& sized(const QString& text, TextStyle style, int pixels);

  bool asText_;
  QHash<QString, Shaped> shaped_[3];
  QHash<QString, Sized> sized_[3];
  QHash<QString, QString> elided_;
};

}  // namespace normlens::graphview
