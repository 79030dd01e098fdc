#include "ui/graphview/overlays/minimap.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/graphview/paint/box_style.h"

namespace normlens::graphview {
namespace {

constexpr double kInset = 9;
constexpr double kMaxStretch = 5;  // a tall column is drawn wider than it is, or it would be a hair

}  // namespace

Minimap::Minimap(QWidget* parent) : QWidget(parent) {
  setCursor(Qt::PointingHandCursor);
  setFocusPolicy(Qt::NoFocus);
  setAccessibleName(tr("Overview of the graph"));
  setToolTip(tr("The whole graph. Click or drag to move there."));
}

void Minimap::setScene(const Scene* scene, const Lighting* lighting, const ui::Theme& theme) {
  scene_ = scene;
  lighting_ = lighting;
  theme_ = theme;
  stale_ = true;
  update();
}

void Minimap::setVisibleArea(const QRectF& world) {
  if (world == visible_) return;
  visible_ = world;
  update();
}

QPointF Minimap::toMap(const QPointF& world) const {
  return {world.x() * scaleX_ + offset_.x(), world.y() * scaleY_ + offset_.y()};
}

QPointF Minimap::toWorld(const QPointF& map) const {
  return {(map.x() - offset_.x()) / scaleX_, (map.y() - offset_.y()) / scaleY_};
}

void Minimap::render() {
  stale_ = false;
  const double ratio = devicePixelRatioF();
  picture_ = QPixmap(size() * ratio);
  picture_.setDevicePixelRatio(ratio);
  picture_.fill(Qt::transparent);
  QPainter painter(&picture_);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme_.control, 1));
  painter.setBrush(theme_.panel);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  if (scene_ == nullptr || scene_->empty()) return;
  const QRectF area = QRectF(rect()).adjusted(kInset, kInset, -kInset, -kInset);
  const QRectF bounds = scene_->layout->bounds;
  const double fitX = area.width() / bounds.width(), fitY = area.height() / bounds.height();
  scaleX_ = std::min(fitX, fitY * kMaxStretch);
  scaleY_ = std::min(fitY, fitX * kMaxStretch);
  offset_ = area.center() - QPointF(bounds.center().x() * scaleX_, bounds.center().y() * scaleY_);
  painter.setRenderHint(QPainter::Antialiasing, false);
  const bool active = lighting_ != nullptr && lighting_->active();
  const QColor grey = mixed(theme_.textFaint, theme_.panel, theme_.dark ? 0.5 : 0.45);
  for (const auto& edge : scene_->layout->edges) {
    if (!edge.stream) continue;
    const QPointF a = toMap(scene_->layout->points[static_cast<size_t>(edge.firstPoint)]);
    const QPointF b = toMap(scene_->layout->points[static_cast<size_t>(edge.firstPoint + edge.pointCount - 1)]);
    painter.setPen(QPen(theme_.streamLine, 2));
    painter.drawLine(a, b);
  }
  for (size_t i = 0; i < scene_->layout->boxes.size(); ++i) {
    const layout::Box& box = scene_->layout->boxes[i];
    if (box.kind == layout::BoxKind::Frame) continue;
    QColor color = grey;
    if (active && lighting_->box(static_cast<int>(i)).lit) {
      const BoxLight& light = lighting_->box(static_cast<int>(i));
      color = light.blocker  ? theme_.opaqueLine
              : light.chosen ? theme_.classes.chosen
                             : theme_.classColor(QLatin1Char(light.inside.contains('N') ? 'N' : light.letter));
    } else if (active) {
      color = mixed(grey, theme_.panel, 0.5);
    }
    const QRectF onMap(toMap(box.rect.topLeft()), toMap(box.rect.bottomRight()));
    painter.fillRect(QRectF(onMap.x(), onMap.y(), std::max(onMap.width(), 1.5), std::max(onMap.height() - 0.5, 1.2)),
                     color);
  }
}

void Minimap::paintEvent(QPaintEvent*) {
  if (stale_ || picture_.size() != size() * devicePixelRatioF()) render();
  QPainter painter(this);
  painter.drawPixmap(0, 0, picture_);
  if (scene_ == nullptr || scene_->empty() || visible_.isEmpty()) return;
  const QRectF inner = QRectF(rect()).adjusted(4, 4, -4, -4);
  const QRectF seen = QRectF(toMap(visible_.topLeft()), toMap(visible_.bottomRight())).intersected(inner);
  painter.setRenderHint(QPainter::Antialiasing);
  QColor fill = theme_.accent;
  fill.setAlpha(theme_.dark ? 50 : 28);
  painter.setBrush(fill);
  painter.setPen(QPen(theme_.accentText, 1));
  painter.drawRoundedRect(seen.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
}

void Minimap::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && scene_ != nullptr && !scene_->empty())
    Q_EMIT centerRequested(toWorld(event->position()));
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
  if ((event->buttons() & Qt::LeftButton) && scene_ != nullptr && !scene_->empty())
    Q_EMIT centerRequested(toWorld(event->position()));
}

}  // namespace normlens::graphview
