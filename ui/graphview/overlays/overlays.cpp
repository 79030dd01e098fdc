#include "ui/graphview/overlays/overlays.h"

#include <algorithm>

#include "ui/graphview/overlays/blocker_chip.h"
#include "ui/graphview/overlays/centering_callout.h"
#include "ui/graphview/overlays/mean_legend.h"
#include "ui/graphview/overlays/minimap.h"
#include "ui/graphview/overlays/shortcut_sheet.h"
#include "ui/graphview/overlays/zoom_control.h"

namespace normlens::graphview {
namespace {

constexpr int kFromEdge = 12;
constexpr QSize kSmallestForMap(480, 300);

}  // namespace

Overlays::Overlays(QWidget* canvas)
    : canvas_(canvas),
      minimap_(new Minimap(canvas)),
      zoomControl_(new ZoomControl(canvas)),
      meanLegend_(new MeanLegend(canvas)),
      centering_(new CenteringCallout(canvas)),
      blocker_(new BlockerChip(canvas)),
      keys_(new ShortcutSheet(canvas)) {
  for (QWidget* widget : std::initializer_list<QWidget*>{minimap_, zoomControl_, meanLegend_}) widget->hide();
}

void Overlays::show(bool shown, const Scene& scene, const Lighting& lighting, const MeanStates& means) {
  zoomControl_->setVisible(shown && !presented_);
  const bool roomForMap = canvas_->width() > kSmallestForMap.width() && canvas_->height() > kSmallestForMap.height();
  minimap_->setVisible(shown && roomForMap && !presented_);
  minimap_->setScene(scene, lighting);
  meanLegend_->setStates(means);
  meanLegend_->setVisible(shown && means.active());
  if (shown && !presented_) {
    blocker_->setScene(scene, lighting);
    centering_->setScene(scene, lighting);
  } else {
    blocker_->clear();
    centering_->clear();
  }
  place();
}

void Overlays::setBlockerReason(const QString& reason) { blocker_->setReason(reason); }

void Overlays::setCamera(double zoom, const QRectF& visible) {
  zoomControl_->setZoom(zoom);
  minimap_->setVisibleArea(visible);
  // Not `zoom`, which is relative to the size of text.
  const double pixels = canvas_->width() / std::max(1e-9, visible.width());
  blocker_->setVisibleArea(pixels, visible, corner());
  const QRegion chip = blocker_->isHidden() ? QRegion() : QRegion(blocker_->geometry());
  centering_->setVisibleArea(pixels, visible, chip + corner());
}

QRect Overlays::corner() const {
  if (zoomControl_->isHidden()) return {};
  return minimap_->isHidden() ? zoomControl_->geometry() : zoomControl_->geometry().united(minimap_->geometry());
}

void Overlays::toggleKeys() { keys_->toggle(); }

bool Overlays::hideKeys() {
  const bool visible = keys_->isVisible();
  keys_->hide();
  return visible;
}

void Overlays::place() {
  const QSize map = minimap_->sizeHint(), control = zoomControl_->sizeHint();
  const int right = canvas_->width() - kFromEdge, bottom = canvas_->height() - kFromEdge;
  minimap_->setGeometry(right - map.width(), bottom - map.height(), map.width(), map.height());
  meanLegend_->move(kFromEdge, bottom - meanLegend_->height());
  const int controlRight = minimap_->isHidden() ? right : minimap_->x() - 8;
  zoomControl_->setGeometry(controlRight - control.width(), bottom - control.height(), control.width(),
                            control.height());
}

}  // namespace normlens::graphview
