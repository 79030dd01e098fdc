// The whole layout in a corner, with the part in sight. A click or drag moves there.
#pragma once

#include <QPixmap>
#include <QTransform>
#include <QWidget>

#include "ui/graphview/camera.h"
#include "ui/graphview/marks/lighting.h"
#include "ui/graphview/scene.h"

namespace normlens::graphview {

class Minimap : public QWidget {
  Q_OBJECT

 public:
  explicit Minimap(QWidget* parent);

  // Both are not owned and outlive the widget; call again when they, or the theme, change.
  void setScene(const Scene& scene, const Lighting& lighting);
  void setVisibleArea(const QRectF& world);
  [[nodiscard]] QSize sizeHint() const override { return {144, 122}; }

 Q_SIGNALS:
  void centerRequested(const QPointF& world);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  void render();

  const Scene* scene_ = nullptr;        // Not owned.
  const Lighting* lighting_ = nullptr;  // Not owned.
  QPixmap picture_;
  bool stale_ = true;
  QRectF visible_;
  QTransform toMap_;  // from world units
};

}  // namespace normlens::graphview
