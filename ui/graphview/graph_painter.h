// Paints a scene through a camera. Knows nothing of widgets and input.
#pragma once

#include <QPixmap>
#include <QRectF>
#include <unordered_map>
#include <vector>

#include "ui/graphview/box_sprites.h"
#include "ui/graphview/camera.h"
#include "ui/graphview/edge_painter.h"
#include "ui/graphview/lighting.h"
#include "ui/graphview/scene.h"
#include "ui/graphview/text_cache.h"
#include "ui/theme/theme.h"

class QPainter;

namespace normlens::graphview {

enum class Verdict : uint8_t { None, Free, Centering, Blocked };

// What the user points at and has chosen. Boxes and edges index the layout, values the document.
struct ViewState {
  Hit hover;
  int selectedBox = -1;
  int selectedValue = -1;
  int hoveredValue = -1;
  const Lighting* lighting = nullptr;                          // Not owned.
  const std::unordered_map<int, Verdict>* verdicts = nullptr;  // by item. Not owned.
};

class GraphPainter {
 public:
  // Below this zoom boxes are plain rectangles without text.
  static constexpr double kDetailZoom = 0.5;
  // Below this zoom an op is a speck: open groups are shaded instead of what is in them.
  static constexpr double kSpeckZoom = 0.06;

  void paint(QPainter& painter, const Scene& scene, const Camera& camera, const QSizeF& viewport,
             const ViewState& state, const ui::Theme& theme);
  void clearCaches();  // after a change of theme or font

 private:
  struct Frame;  // what one paint() needs at hand
  void paintFrame(const Frame& f, int index);
  void paintBox(const Frame& f, int index);
  void paintRough(const Frame& f, int index);
  void paintCardText(const Frame& f, int index, const QRectF& rect, const BoxState& state);
  void paintChips(const Frame& f, const BoxLight& light, const QPointF& leftMiddle);
  void paintLabel(const Frame& f, int index, const QRectF& rect, const BoxState& state);
  void paintBadge(const Frame& f, int index, bool plus);
  void paintVerdict(const Frame& f, int index, const QRectF& rect);
  void paintCallout(const Frame& f);
  QRectF calloutPlace(const Frame& f, const QRectF& box, const QSizeF& size);
  void paintOverviewTitles(const Frame& f, const std::vector<int>& boxes);

  BoxSprites sprites_;
  TextCache texts_;
  EdgePainter edges_;
  std::vector<int> foundBoxes_;
  std::unordered_map<quint64, QPixmap> icons_;
  double ratio_ = 0;
};

// "1×1024×768"; "scalar" for no axes; empty when the shape is not known.
[[nodiscard]] QString shapeText(const protocol::GraphValue& value);

}  // namespace normlens::graphview
