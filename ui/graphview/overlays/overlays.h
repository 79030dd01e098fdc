// Owns the widgets over a graph: the minimap, the zoom control, the legend of means, the way to a blocker and the price
// of a centering instead, the sheet of keys. Thread: GUI thread.
#pragma once

#include "ui/graphview/marks/lighting.h"
#include "ui/graphview/marks/mean_states.h"
#include "ui/graphview/scene.h"

class QString;
class QWidget;

namespace normlens::graphview {

class BlockerChip;
class CenteringCallout;
class MeanLegend;
class Minimap;
class ShortcutSheet;
class ZoomControl;

class Overlays {
 public:
  explicit Overlays(QWidget* canvas);  // their parent

  // shown: there is a graph to lie over. What is referred to has to live until the next call.
  void show(bool shown, const Scene& scene, const Lighting& lighting, const MeanStates& means);
  void setPresented() { presented_ = true; }           // for a room: nothing small
  void setCamera(double zoom, const QRectF& visible);  // visible: in world units
  void setBlockerReason(const QString& reason);        // Belongs to the highlight that is laid out next.
  [[nodiscard]] CenteringCallout* centeringCallout() const { return centering_; }
  void toggleKeys();
  bool hideKeys();  // false: they were not shown
  [[nodiscard]] const BlockerChip* blockerChip() const { return blocker_; }
  [[nodiscard]] QRect corner() const;   // where minimap and zoom control are
  [[nodiscard]] QRect mapArea() const;  // empty: there is no minimap
  [[nodiscard]] const Minimap* minimap() const { return minimap_; }
  [[nodiscard]] const ZoomControl* zoomControl() const { return zoomControl_; }

 private:
  void place();

  QWidget* canvas_;
  bool presented_ = false;
  Minimap* minimap_;             // Owned by Qt.
  ZoomControl* zoomControl_;     // Owned by Qt.
  MeanLegend* meanLegend_;       // Owned by Qt.
  CenteringCallout* centering_;  // Owned by Qt.
  BlockerChip* blocker_;         // Owned by Qt.
  ShortcutSheet* keys_;          // Owned by Qt.
};

}  // namespace normlens::graphview
