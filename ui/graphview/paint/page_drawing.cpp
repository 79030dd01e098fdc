#include "ui/graphview/paint/page_drawing.h"

#include <QImage>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

namespace normlens::graphview {
namespace {

// Hundredths are below what a screen shows.
QByteArray number(double value) { return QByteArray::number(std::round(value * 100) / 100 + 0.0, 'g', 9); }

QByteArray pointText(const QPointF& at) { return number(at.x()) + ' ' + number(at.y()); }

QByteArray attribute(const char* name, const QByteArray& value) { return ' ' + QByteArray(name) + "=\"" + value + '"'; }

struct Shape {
  QColor fill, stroke;            // invalid: none
  QByteArray element;             // "path", "rect", "text"
  QByteArray attributes;          // those that have no color
  QByteArray first, steps, last;  // of a path: its first point, what follows, its last point
  QString words;                  // of a text
  [[nodiscard]] bool isLine() const { return element == "path" && !fill.isValid(); }
};

// Returns the radius where the path is a rectangle, with round corners or without; negative: it is none.
double cornerOf(const QPainterPath& path) {
  if (path.elementCount() < 5) return -1;
  const QRectF bounds = path.boundingRect();
  const double radius = path.elementAt(0).y - bounds.top();
  QPainterPath rounded;
  rounded.addRoundedRect(bounds, radius, radius);
  return rounded == path ? radius : -1;
}

class ShapeEngine final : public QPaintEngine {
 public:
  ShapeEngine()
      : QPaintEngine(AllFeatures & ~(PatternBrush | PerspectiveTransform | ConicalGradientFill | PorterDuff)) {}

  std::vector<Shape> shapes;

  bool begin(QPaintDevice* /*device*/) override { return true; }
  bool end() override { return true; }
  [[nodiscard]] Type type() const override { return User; }
  void updateState(const QPaintEngineState& /*changed*/) override {}
  void drawPixmap(const QRectF& /*to*/, const QPixmap& /*pixels*/, const QRectF& /*from*/) override {}

  void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
    QPainterPath path(points[0]);
    for (int i = 1; i < count; ++i) path.lineTo(points[i]);
    if (mode != PolylineMode) path.closeSubpath();
    add(path, mode != PolylineMode);
  }
  void drawPath(const QPainterPath& path) override { add(path, true); }

  void drawTextItem(const QPointF& place, const QTextItem& item) override {
    const QFont font = item.font();
    const QPointF at = state->transform().map(place);
    Shape shape{ink(state->pen().color()), {}, "text", {}, {}, {}, {}, item.text()};
    shape.attributes = attribute("x", number(at.x())) + attribute("y", number(at.y())) +
                       attribute("font-size", QByteArray::number(font.pixelSize()));
    if (font.weight() >= QFont::DemiBold) shape.attributes += attribute("font-weight", "600");
    if (font.families().contains(QStringLiteral("JetBrains Mono"))) {
      shape.attributes += attribute("font-family", "ui-monospace, JetBrains Mono, DejaVu Sans Mono, monospace");
    }
    shape.attributes += attribute("textLength", number(item.width())) + attribute("lengthAdjust", "spacingAndGlyphs");
    shapes.push_back(std::move(shape));
  }

 private:
  [[nodiscard]] QColor ink(QColor color) const {
    color.setAlphaF(static_cast<float>(color.alphaF() * state->opacity()));
    return color.alpha() == 0 ? QColor() : color;
  }

  void add(const QPainterPath& drawn, bool closed) {
    const QTransform& to = state->transform();
    const QPainterPath path = to.map(drawn);
    Shape shape;
    const QPen pen = state->pen();
    if (closed && state->brush().style() != Qt::NoBrush) shape.fill = ink(state->brush().color());
    if (pen.style() != Qt::NoPen) {
      const double width =
          std::max(pen.widthF(), 1e-3) * (pen.isCosmetic() ? 1 : std::sqrt(std::abs(to.determinant())));
      shape.stroke = ink(pen.color());
      if (width != 1) shape.attributes += attribute("stroke-width", number(width));
      if (pen.capStyle() == Qt::RoundCap) shape.attributes += attribute("stroke-linecap", "round");
      if (pen.joinStyle() == Qt::RoundJoin) shape.attributes += attribute("stroke-linejoin", "round");
      QByteArray dashes;
      for (const double dash : pen.dashPattern()) dashes += number(dash * width) + ' ';
      if (pen.style() != Qt::SolidLine) shape.attributes += attribute("stroke-dasharray", dashes.trimmed());
    }
    if (!shape.fill.isValid() && !shape.stroke.isValid()) return;
    if (const double radius = closed ? cornerOf(path) : -1; radius >= 0) {
      const QRectF box = path.boundingRect();
      shape.element = "rect";
      shape.attributes += attribute("x", number(box.x())) + attribute("y", number(box.y())) +
                          attribute("width", number(box.width())) + attribute("height", number(box.height()));
      if (radius > 0) shape.attributes += attribute("rx", number(radius));
    } else {
      shape.element = "path";
      write(path, shape);
    }
    shapes.push_back(std::move(shape));
  }

  static void write(const QPainterPath& path, Shape& shape) {
    if (path.fillRule() == Qt::WindingFill && shape.fill.isValid())
      shape.attributes += attribute("fill-rule", "nonzero");
    for (int i = 0; i < path.elementCount(); ++i) {
      const QPainterPath::Element at = path.elementAt(i);
      shape.last = pointText(at);
      if (i == 0) {
        shape.first = shape.last;
        continue;
      }
      const bool step = at.type == QPainterPath::CurveToDataElement;
      shape.steps += step ? " " : at.isMoveTo() ? "M" : at.isLineTo() ? "L" : "C";
      shape.steps += shape.last;
    }
  }
};

// An image for its resolution alone: nothing is painted into it.
class ShapeDevice final : public QImage {
 public:
  ShapeDevice() : QImage(1, 1, Format_RGB32) {}
  [[nodiscard]] QPaintEngine* paintEngine() const override { return &engine; }
  mutable ShapeEngine engine;
};

std::vector<Shape> painted(const PictureOrder& order) {
  ShapeDevice device;
  QPainter painter(&device);
  GraphPainter drawn(GraphPainter::Use::Picture);
  const ViewState state{.marks = &order.marks, .hover = {}};
  drawn.paint(painter, order.scene, order.camera, order.size, state, order.theme);
  painter.end();
  return std::move(device.engine.shapes);
}

}  // namespace

QByteArray PageColors::name(const QColor& light, const QColor& dark) {
  const auto text = [](const QColor& color) {
    const std::string rgb = color.name(QColor::HexRgb).toStdString();
    return color.alpha() == 255 ? rgb : rgb + QString::number(color.alpha() | 256, 16).right(2).toStdString();
  };
  const std::pair pair(text(light), text(dark));
  const auto found = std::ranges::find(colors_, pair);
  const auto index = found - colors_.begin();
  if (found == colors_.end()) colors_.push_back(pair);
  return "var(--g" + QByteArray::number(static_cast<qlonglong>(index)) + ')';
}

std::string pageDrawing(PictureOrder order, PageColors& colors) {
  order.theme = ui::lightTheme();
  const std::vector<Shape> light = painted(order);
  order.theme = ui::darkTheme();
  std::vector<Shape> dark = painted(order);
  if (dark.size() != light.size()) dark = light;  // a theme that leaves a shape out
  QByteArray svg = "<svg" + attribute("width", number(order.size.width())) +
                   attribute("height", number(order.size.height())) + attribute("fill", "none") +
                   attribute("fill-rule", "evenodd") + ">\n";
  const auto look = [&](size_t i) {
    QByteArray all;
    if (light[i].fill.isValid()) all += attribute("fill", colors.name(light[i].fill, dark[i].fill));
    if (light[i].stroke.isValid()) all += attribute("stroke", colors.name(light[i].stroke, dark[i].stroke));
    return all + light[i].attributes;
  };
  for (size_t i = 0; i < light.size(); ++i) {
    const Shape& shape = light[i];
    const QByteArray attributes = look(i);
    svg += '<' + shape.element + attributes;
    if (shape.element == "text") {
      svg += '>' + shape.words.toHtmlEscaped().toUtf8() + "</text>\n";
      continue;
    }
    if (shape.element == "path") {
      QByteArray steps = 'M' + shape.first + shape.steps;
      // Lines of one look are one element: a curve comes in many pieces.
      for (; shape.isLine() && i + 1 < light.size() && light[i + 1].isLine() && look(i + 1) == attributes; ++i) {
        const Shape& next = light[i + 1];
        steps += (next.first == light[i].last ? QByteArray() : 'M' + next.first) + next.steps;
      }
      svg += attribute("d", steps);
    }
    svg += "/>\n";
  }
  return (svg + "</svg>").toStdString();
}

}  // namespace normlens::graphview
