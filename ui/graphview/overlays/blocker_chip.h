// Points to the blocker of a highlighted norm that is out of sight: its name, how far away it is, why it is in the way,
// at the edge of the view that it lies beyond. A click moves the view there. Thread: GUI thread.
#pragma once

#include <QAbstractButton>
#include <QFontMetrics>
#include <QRectF>
#include <cstdint>

#include "ui/graphview/marks/lighting.h"
#include "ui/graphview/scene.h"

namespace normlens::graphview {

enum class Beyond : uint8_t { Nothing, Top, Bottom, Left, Right };

// Beyond which edge of the area in sight a box lies; nothing while enough of it is in sight to be noticed.
[[nodiscard]] Beyond beyondEdge(const QRectF& box, const QRectF& visible, bool runsDown);
// Counts the blocks from one item to the other, the last one included; 0: they are in one block, or not in blocks.
[[nodiscard]] int blocksBetween(const layout::Hierarchy& hierarchy, int from, int to);

// "2 blocks up · γ not equal" in so many pixels: the reason gives way first, then the distance.
[[nodiscard]] QString chipWords(const QString& distance, const QString& reason, const QFontMetrics& metrics, int room);

class BlockerChip final : public QAbstractButton {
  Q_OBJECT

 public:
  explicit BlockerChip(QWidget* canvas);

  void setReason(const QString& reason) { reason_ = reason; }  // shown from the next setScene() on
  void setScene(const Scene& scene, const Lighting& lighting);
  void clear();  // there is no blocker
  // Called for every move of the camera. keepOff: what lies in a corner of the canvas already, in its pixels.
  void setVisibleArea(double zoom, const QRectF& world, const QRect& keepOff);
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] QString distance() const;
  [[nodiscard]] QPoint place(double zoom, const QRectF& world, const QRect& keepOff) const;
  void describe();

  QRectF box_;  // The blocker's, in world units; empty: there is none.
  bool runsDown_ = true;
  int blocks_ = 0;
  Beyond beyond_ = Beyond::Nothing;
  QString name_, reason_;
};

}  // namespace normlens::graphview
