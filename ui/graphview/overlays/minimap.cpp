#include "ui/graphview/overlays/minimap.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "ui/graphview/box_style.h"

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

void Minimap::setScene(const Scene& scene, const Lighting& lighting) {
  scene_ = &scene;
  lighting_ = &lighting;
  stale_ = true;
  update();
}

void Minimap::setVisibleArea(const QRectF& world) {
  if (world == visible_) return;
  visible_ = world;
  update();
}

void Minimap::render() {
  stale_ = false;
  const ui::Theme theme = ui::themeOf(this);
  const double ratio = devicePixelRatioF();
  picture_ = QPixmap(size() * ratio);
  picture_.setDevicePixelRatio(ratio);
  picture_.fill(Qt::transparent);
  QPainter painter(&picture_);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.control, 1));
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  if (scene_ == nullptr || scene_->empty()) return;
  const QRectF area = QRectF(rect()).adjusted(kInset, kInset, -kInset, -kInset);
  const QRectF bounds = scene_->layout->bounds;
  const double fitX = area.width() / bounds.width(), fitY = area.height() / bounds.height();
  const double scaleX = std::min(fitX, fitY * kMaxStretch), scaleY = std::min(fitY, fitX * kMaxStretch);
  const QPointF offset = area.center() - QPointF(bounds.center().x() * scaleX, bounds.center().y() * scaleY);
  toMap_ = QTransform(scaleX, 0, 0, scaleY, offset.x(), offset.y());
  painter.setRenderHint(QPainter::Antialiasing, false);
  const QColor grey = mixed(theme.textFaint, theme.panel, theme.dark ? 0.5 : 0.45);
  for (const auto& edge : scene_->layout->edges) {
    if (!edge.stream) continue;
    painter.setPen(QPen(theme.streamLine, 2));
    painter.drawLine(toMap_.map(scene_->startOf(edge)), toMap_.map(scene_->endOf(edge)));
  }
  for (size_t i = 0; i < scene_->layout->boxes.size(); ++i) {
    const layout::Box& box = scene_->layout->boxes[i];
    if (box.kind == layout::BoxKind::Frame) continue;
    QColor color = grey;
    if (const BoxLight& light = lighting_->box(static_cast<int>(i)); light.lit) {
      color = light.blocker  ? theme.opaqueLine
              : light.chosen ? theme.classes.chosen
                             : theme.classColor(QLatin1Char(light.inside.contains('N') ? 'N' : light.letter));
    } else if (lighting_->active()) {
      color = mixed(grey, theme.panel, 0.5);
    }
    const QRectF onMap(toMap_.map(box.rect.topLeft()), toMap_.map(box.rect.bottomRight()));
    painter.fillRect(QRectF(onMap.x(), onMap.y(), std::max(onMap.width(), 1.5), std::max(onMap.height() - 0.5, 1.2)),
                     color);
  }
}

void Minimap::paintEvent(QPaintEvent*) {
  if (stale_ || picture_.size() != size() * devicePixelRatioF()) render();
  QPainter painter(this);
  painter.drawPixmap(0, 0, picture_);
  if (scene_ == nullptr || scene_->empty() || visible_.isEmpty()) return;
  const ui::Theme theme = ui::themeOf(this);
  const QRectF inner = QRectF(rect()).adjusted(4, 4, -4, -4);
  const QRectF seen = QRectF(toMap_.map(visible_.topLeft()), toMap_.map(visible_.bottomRight())).intersected(inner);
  painter.setRenderHint(QPainter::Antialiasing);
  QColor fill = theme.accent;
  fill.setAlpha(theme.dark ? 50 : 28);
  painter.setBrush(fill);
  painter.setPen(QPen(theme.accentText, 1));
  painter.drawRoundedRect(seen.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
}

void Minimap::mousePressEvent(QMouseEvent* event) { mouseMoveEvent(event); }

void Minimap::mouseMoveEvent(QMouseEvent* event) {
  if ((event->buttons() & Qt::LeftButton) && scene_ != nullptr && !scene_->empty())
    Q_EMIT centerRequested(toMap_.inverted().map(event->position()));
}

}  // namespace normlens::graphview
