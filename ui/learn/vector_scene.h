// Vectors of width 3, drawn: the plane of zero-mean vectors, a sphere, arrows, marks. Drag turns it, a double click
// sets it back, the tip of x can be taken. Several scenes share a camera by passing it on.
#pragma once

#include <QIcon>
#include <QWidget>
#include <optional>
#include <vector>

#include "ui/learn/vector_camera.h"

namespace normlens::ui {

struct Theme;

// Names the meaning of something drawn, which sets its color and a shape or a kind of line as well.
enum class Ink { Input, MeanPart, Projection, Output, Affine, Faint };

struct SceneLine {
  Vector from, to;
  Ink ink = Ink::Faint;
  bool arrow = false, dashed = false, thick = false;
  QString label;       // at its end; slanted
  double labelAt = 1;  // A share of the way.
};

struct SceneMark {
  enum class Shape { Disc, Ring, Diamond, HollowDiamond, Square };
  Vector at;
  Shape shape = Shape::Disc;
  Ink ink = Ink::Input;
  QString label;
  QString tip;
};

struct SceneCurve {
  std::vector<Vector> points;
  Ink ink = Ink::Output;
  bool dashed = false;
};

struct SceneContent {
  std::optional<double> sphere;  // radius
  std::vector<SceneCurve> curves;
  std::vector<SceneLine> lines;
  std::vector<SceneMark> marks;
  Vector tip;  // The input's, which can be dragged.
};

void addAxes(SceneContent& content);  // the uniform vector, upright, and the axes of the three numbers
void addInput(SceneContent& content, const Vector& x);  // as an arrow whose tip can be dragged

[[nodiscard]] QColor inkColor(Ink ink, const Theme& theme);
// Paints the mark at that place, about 12 pixels large.
void paintSceneMark(QPainter& painter, const QPointF& at, SceneMark::Shape shape, const QColor& color, double factor);

// A mark as an icon, or where `line` is one, that kind of line.
[[nodiscard]] QIcon markIcon(SceneMark::Shape shape, Qt::PenStyle line, const QColor& color, const QColor& ground);

class VectorScene final : public QWidget {
  Q_OBJECT

 public:
  explicit VectorScene(QWidget* parent);

  void setContent(SceneContent content);
  void setCamera(const VectorCamera& camera);
  void setFactor(double factor);  // Scales text and lines.
  [[nodiscard]] QSize sizeHint() const override { return {404, 320}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {180, 160}; }
  [[nodiscard]] QPointF placeOf(const Vector& x) const;  // in the widget

 Q_SIGNALS:
  void cameraTurned(const normlens::ui::VectorCamera& camera);  // by the user
  void tipDragged(const std::vector<double>& x);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  enum class Grip { None, Camera, Tip };

  [[nodiscard]] double unit() const;  // pixels
  [[nodiscard]] QPointF origin() const;
  [[nodiscard]] bool isAtTip(const QPointF& at) const;
  void paintPlane(QPainter& painter, const Theme& theme) const;
  void paintSphere(QPainter& painter, const Theme& theme) const;
  void paintLine(QPainter& painter, const SceneLine& line, const Theme& theme) const;
  void paintMark(QPainter& painter, const SceneMark& mark, const Theme& theme) const;

  SceneContent content_;
  VectorCamera camera_;
  double factor_ = 1;
  Grip grip_ = Grip::None;
  QPointF last_;
};

}  // namespace normlens::ui
