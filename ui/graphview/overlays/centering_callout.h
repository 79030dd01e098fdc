// Beside the highlighted norm that is blocked: what a centering of its own costs and what folding it saves. Not there
// while the norm is out of sight, or where it would cover another box. Lets the mouse through. Thread: GUI thread.
#pragma once

#include <QRectF>
#include <QRegion>
#include <QWidget>

#include "ui/graphview/marks/lighting.h"
#include "ui/graphview/scene.h"

namespace normlens::graphview {

class CenteringCallout final : public QWidget {
  Q_OBJECT

 public:
  explicit CenteringCallout(QWidget* canvas);

  // "Its own centering: 4.1 µs" and "folding it saves 3.8 µs"; empty: there is nothing to show.
  void setWords(const QString& title, const QString& detail);
  void setScene(const Scene& scene, const Lighting& lighting);  // scene has to live until the next call
  void clear();                                                 // no norm is highlighted
  // Called for every move of the camera. keepOff: what lies over the canvas already, in its pixels.
  void setVisibleArea(double zoom, const QRectF& world, const QRegion& keepOff);
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void place();
  [[nodiscard]] bool isFree(const QRect& area) const;  // The area lies on the canvas, in its pixels.

  const Scene* scene_ = nullptr;
  int box_ = -1;
  double zoom_ = 1;
  QRectF world_;
  QRegion keepOff_;
  bool right_ = true;  // It stands at the norm's right.
  QString title_, detail_;
};

}  // namespace normlens::graphview
