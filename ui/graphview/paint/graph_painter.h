// Paints a scene through a camera. It depends on neither widgets nor input.
#pragma once

#include <QHash>
#include <QPixmap>
#include <QRectF>
#include <stop_token>
#include <vector>

#include "ui/graphview/box_style.h"
#include "ui/graphview/camera.h"
#include "ui/graphview/marks/marks.h"
#include "ui/graphview/marks/reach.h"
#include "ui/graphview/paint/edge_painter.h"
#include "ui/graphview/paint/text_cache.h"
#include "ui/graphview/scene.h"
#include "ui/theme/theme.h"

class QPainter;

namespace normlens::graphview {

struct PaintFrame;

// Boxes without their text, drawn once per look and size and blitted from then on.
class BoxSprites {
 public:
  // rect: on the screen; zoom scales borders, corners and glow with the box.
  void draw(QPainter& painter, const QRectF& rect, double zoom, layout::BoxKind kind, char letter,
            const BoxState& state, const ui::Theme& theme);
  void clear() { sprites_.clear(); }

  // The same, straight into a painter.
  static void paint(QPainter& painter, const QRectF& rect, double zoom, layout::BoxKind kind, const BoxStyle& style);

 private:
  QHash<quint64, QPixmap> sprites_;
};

// Holds what the user points at and has chosen. Boxes and edges index the layout, values the document.
struct ViewState {
  const Marks* marks = nullptr;  // Not owned.
  Hit hover;
  int selectedBox = -1;
  int selectedValue = -1;
  int hoveredValue = -1;
  const Reach* reach = nullptr;           // Not owned.
  const std::stop_token* stop = nullptr;  // Ends the painting early. Not owned.
};

class GraphPainter {
 public:
  // Picture: shapes and text as such, without stores of pixels, for files and for other threads than the GUI's.
  enum class Use : uint8_t { Screen, Picture };
  explicit GraphPainter(Use use = Use::Screen) : use_(use), texts_(use == Use::Picture) {}

  void paint(QPainter& painter, const Scene& scene, const Camera& camera, const QSizeF& viewport,
             const ViewState& state, const ui::Theme& theme);
  void clearCaches();  // after a change of theme or font

 private:
  using Frame = PaintFrame;
  void paintFrame(const Frame& f, int index);
  void paintBox(const Frame& f, int index);
  static void paintRough(const Frame& f, int index);
  void paintCardText(const Frame& f, int index, const QRectF& rect, const BoxState& state);
  void paintChips(const Frame& f, const BoxLight& light, const QPointF& leftMiddle, double right);
  void paintLabel(const Frame& f, int index, const QRectF& rect, const BoxState& state);
  static void paintBadge(const Frame& f, int index, bool plus);
  bool paintVerdict(const Frame& f, int index, const QRectF& rect);  // false: it has none
  void paintVerdictCounts(const Frame& f, int index, QPointF leftMiddle);
  static void paintStack(const Frame& f, int index, const QRectF& rect, const BoxState& state);
  void paintMark(const Frame& f, const QString& icon, const QColor& color, const QPointF& corner, int size);
  void paintPills(const Frame& f, int index, const QRectF& rect);
  static void paintCenterings(const Frame& f);
  void paintCallout(const Frame& f);
  QRectF calloutPlace(const Frame& f, const QRectF& box, const QSizeF& size);
  void paintOverviewTitles(const Frame& f, const std::vector<int>& boxes);

  Use use_;
  BoxSprites sprites_;
  TextCache texts_;
  EdgePainter edges_;
  std::vector<int> foundBoxes_, pillHits_;
  QHash<QString, QPixmap> icons_;
  double ratio_ = 0;
};

// "1×1024×768 float32", "scalar float32" for no axes; empty when it has neither.
[[nodiscard]] QString valueText(const protocol::GraphValue& value);

}  // namespace normlens::graphview
