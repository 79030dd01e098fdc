// "− 82 % + ⛶" in the lower right corner of the graph.
#pragma once

#include <QWidget>

namespace normlens::graphview {

class ZoomControl : public QWidget {
  Q_OBJECT

 public:
  explicit ZoomControl(QWidget* parent);

  void setZoom(double zoom);
  [[nodiscard]] QSize sizeHint() const override;

 Q_SIGNALS:
  void zoomOutRequested();
  void zoomInRequested();
  void actualSizeRequested();  // a click on the number
  void fitRequested();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] int partAt(const QPointF& position) const;  // 0 out, 1 number, 2 in, 3 fit
  [[nodiscard]] QRectF partRect(int part) const;

  int percent_ = 100;
  int hovered_ = -1;
};

}  // namespace normlens::graphview
