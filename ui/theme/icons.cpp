#include "ui/theme/icons.h"

#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>

#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

QByteArray svgSource(const QString& name) {
  QFile file(QStringLiteral(":/normlens/icons/%1.svg").arg(name));
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

// Qt Svg has no notion of an inherited currentColor from outside, so the word is replaced in the source.
QByteArray tinted(QByteArray source, const QColor& color) {
  source.replace("\"ground\"", color.lightnessF() > 0.55 ? "\"#10151b\"" : "\"#ffffff\"");  // on a filled sign
  return source.replace("currentColor", color.name(QColor::HexRgb).toLatin1());
}

class TintedSvgEngine final : public QIconEngine {
 public:
  TintedSvgEngine(QByteArray normal, QByteArray disabled)
      : normal_(std::move(normal)), disabled_(std::move(disabled)) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
    QSvgRenderer renderer(mode == QIcon::Disabled ? disabled_ : normal_);
    renderer.render(painter, rect);
  }

  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    QPixmap pixmap(size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paint(&painter, QRect(QPoint(0, 0), size), mode, state);
    return pixmap;
  }

  [[nodiscard]] QIconEngine* clone() const override { return new TintedSvgEngine(normal_, disabled_); }

 private:
  QByteArray normal_, disabled_;
};

}  // namespace

QIcon tintedIcon(const QString& name, const QColor& color, const QColor& disabled) {
  const QByteArray source = svgSource(name);
  if (source.isEmpty()) return {};
  QColor faded = disabled;
  if (!faded.isValid()) {
    faded = QColor((color.red() + 2 * 148) / 3, (color.green() + 2 * 152) / 3, (color.blue() + 2 * 160) / 3);
  }
  return QIcon(new TintedSvgEngine(tinted(source, color), tinted(source, faded)));
}

void paintIcon(QPainter& painter, const QRectF& area, const QString& name, const QColor& color) {
  const QByteArray source = svgSource(name);
  if (source.isEmpty()) return;
  QSvgRenderer renderer(tinted(source, color));
  renderer.render(&painter, area);
}

QIcon applicationIcon() { return tintedIcon(QStringLiteral("normlens"), QColor(0x868F9B)); }

void paintTick(QPainter& painter, const QRectF& box, bool on, const Theme& theme) {
  painter.setPen(QPen(on ? theme.accent : theme.textFaint, 1));
  painter.setBrush(on ? theme.accent : theme.panel);
  painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
  if (on) paintIcon(painter, box.adjusted(1.5, 1.5, -1.5, -1.5), QStringLiteral("check"), theme.onAccent);
}

}  // namespace normlens::ui
