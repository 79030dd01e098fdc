#include "ui/learn/vector_scene.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"

namespace normlens::ui {
namespace {

constexpr double kPlane = 2.9;                // radius of what is shown of the plane
constexpr double kAcross = 6.0, kDown = 7.0;  // units that are to fit
constexpr double kGrip = 14;                  // pixels around what can be taken

}  // namespace

QColor inkColor(Ink ink, const Theme& theme) {
  switch (ink) {
    case Ink::Input:
      return theme.text;
    case Ink::MeanPart:
      return theme.opaqueLine;
    case Ink::Projection:
      return theme.streamLine;
    case Ink::Output:
      return theme.linearLine;
    case Ink::Affine:
      return theme.classes.centering;
    case Ink::Faint:
      break;
  }
  return theme.textFaint;
}

void paintSceneMark(QPainter& painter, const QPointF& at, SceneMark::Shape shape, const QColor& color, double factor) {
  using Shape = SceneMark::Shape;
  const double r = 6 * factor;
  const bool hollow = shape == Shape::Ring || shape == Shape::HollowDiamond;
  const QBrush ground = hollow ? painter.background() : QBrush(color);
  painter.setPen(QPen(color, hollow ? 1.5 * factor : 0.0));
  painter.setBrush(ground);
  if (shape == Shape::Disc || shape == Shape::Ring) {
    const double radius = shape == Shape::Ring ? r * 0.7 : r;
    painter.drawEllipse(at, radius, radius);
  } else if (shape == Shape::Square) {
    painter.drawRect(QRectF(at - QPointF(r, r) * 0.8, QSizeF(r, r) * 1.6));
  } else {
    const double reach = hollow ? r * 0.9 : r * 1.3;
    painter.drawPolygon(
        QPolygonF{at + QPointF(0, -reach), at + QPointF(reach, 0), at + QPointF(0, reach), at + QPointF(-reach, 0)});
  }
}

QIcon markIcon(SceneMark::Shape shape, Qt::PenStyle line, const QColor& color, const QColor& ground) {
  QPixmap picture(32, 32);
  picture.setDevicePixelRatio(2);
  picture.fill(Qt::transparent);
  QPainter painter(&picture);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBackground(ground);
  if (line == Qt::NoPen) {
    paintSceneMark(painter, {8, 8}, shape, color, 0.8);
  } else {
    painter.setPen(QPen(color, 2.5, line, Qt::FlatCap));
    painter.drawLine(QPointF(0, 8), QPointF(16, 8));
  }
  return {picture};
}

void addAxes(SceneContent& content) {
  content.lines.push_back({Vector(3, -0.85), Vector(3, 2.3), Ink::Faint, false, true, false, QStringLiteral("1"), 1});
  const QString names[] = {QStringLiteral("x₁"), QStringLiteral("x₂"), QStringLiteral("x₃")};
  for (size_t i = 0; i < 3; ++i) {
    Vector axis(3, 0);
    axis[i] = 1.9;
    content.lines.push_back({Vector(3, 0), axis, Ink::Faint, true, false, false, names[i], 1});
  }
}

void addInput(SceneContent& content, const Vector& x) {
  content.tip = x;
  content.lines.push_back({Vector(3, 0), x, Ink::Input, true, false, true, {}, 1});
}

VectorScene::VectorScene(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setMouseTracking(true);
  setCursor(Qt::OpenHandCursor);
}

void VectorScene::setContent(SceneContent content) {
  content_ = std::move(content);
  update();
}

void VectorScene::setCamera(const VectorCamera& camera) {
  camera_ = camera;
  update();
}

void VectorScene::setFactor(double factor) {
  factor_ = factor;
  update();
}

double VectorScene::unit() const { return std::min(width() / kAcross, height() / kDown); }
QPointF VectorScene::origin() const { return {width() * 0.49, height() * 0.62}; }
QPointF VectorScene::placeOf(const Vector& x) const { return origin() + camera_.onPage(x) * unit(); }

bool VectorScene::isAtTip(const QPointF& at) const {
  if (content_.tip.empty()) return false;
  const QPointF way = placeOf(content_.tip) - at;
  return std::hypot(way.x(), way.y()) < kGrip * factor_;
}

void VectorScene::paintPlane(QPainter& painter, const Theme& theme) const {
  QPolygonF disc;
  for (const Vector& at : circleInPlane(kPlane)) disc << placeOf(at);
  QColor tint = theme.streamLine;
  tint.setAlphaF(theme.dark ? 0.16F : 0.10F);
  painter.setPen(Qt::NoPen);
  painter.setBrush(tint);
  painter.drawPolygon(disc);
}

void VectorScene::paintSphere(QPainter& painter, const Theme& theme) const {
  const double radius = *content_.sphere * unit();
  QRadialGradient shade(origin() - QPointF(radius, radius) * 0.35, radius * 1.5);
  QColor light = theme.panel, edge = theme.textFaint;
  light.setAlphaF(0.15F);
  edge.setAlphaF(0.30F);
  shade.setColorAt(0, light);
  shade.setColorAt(1, edge);
  painter.setBrush(shade);
  painter.setPen(QPen(theme.control, factor_));
  painter.drawEllipse(origin(), radius, radius);
}

void VectorScene::paintLine(QPainter& painter, const SceneLine& line, const Theme& theme) const {
  const QColor color = inkColor(line.ink, theme);
  const QPointF from = placeOf(line.from), to = placeOf(line.to), way = to - from;
  const double length = std::hypot(way.x(), way.y());
  const double head = line.arrow && length > 1 ? std::min(length, (line.thick ? 11.0 : 7.0) * factor_) : 0;
  painter.setPen(
      QPen(color, (line.thick ? 2.5 : 1.2) * factor_, line.dashed ? Qt::DashLine : Qt::SolidLine, Qt::FlatCap));
  if (length > head) painter.drawLine(from, to - way * (head / std::max(length, 1e-9)));
  if (head > 0) {
    const QPointF along = way / length * head, aside(-along.y() * 0.42, along.x() * 0.42);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(QPolygonF{to, to - along + aside, to - along - aside});
  }
  if (line.label.isEmpty()) return;
  QFont font = uiFont(static_cast<int>(13 * factor_), line.thick ? QFont::DemiBold : QFont::Normal);
  font.setItalic(true);
  painter.setFont(font);
  painter.setPen(color);
  const QPointF at = from + way * line.labelAt;
  const double wide = QFontMetricsF(font).horizontalAdvance(line.label), gap = 8 * factor_;
  QPointF beside(at.x() < origin().x() ? -wide - gap : gap,
                 at.y() < origin().y() && at.x() > origin().x() + gap ? 2 * gap : -gap / 2);
  if (line.labelAt < 1)
    beside = std::abs(way.y()) > std::abs(way.x()) ? QPointF(-wide - gap, gap / 2) : QPointF(-wide / 2, 2.3 * gap);
  painter.drawText(at + beside, line.label);
}

void VectorScene::paintMark(QPainter& painter, const SceneMark& mark, const Theme& theme) const {
  const QPointF at = placeOf(mark.at);
  painter.setBackground(theme.panel);
  paintSceneMark(painter, at, mark.shape, inkColor(mark.ink, theme), factor_);
  if (mark.label.isEmpty()) return;
  painter.setFont(uiFont(static_cast<int>(14 * factor_), QFont::DemiBold));
  painter.setPen(inkColor(mark.ink, theme));
  const double wide = painter.fontMetrics().horizontalAdvance(mark.label);
  const bool fits = at.x() + 14 * factor_ + wide < width();
  painter.drawText(at + QPointF(fits ? 12 * factor_ : -12 * factor_ - wide, 5 * factor_), mark.label);
}

void VectorScene::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  paintPlane(painter, theme);
  if (content_.sphere) paintSphere(painter, theme);
  painter.setBrush(Qt::NoBrush);
  for (const SceneCurve& curve : content_.curves) {
    QPolygonF points;
    for (const Vector& at : curve.points) points << placeOf(at);
    painter.setPen(QPen(inkColor(curve.ink, theme), 1.6 * factor_, curve.dashed ? Qt::DashLine : Qt::SolidLine));
    painter.drawPolyline(points);
  }
  for (const SceneLine& line : content_.lines) paintLine(painter, line, theme);
  for (const SceneMark& mark : content_.marks) paintMark(painter, mark, theme);
}

void VectorScene::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  last_ = event->position();
  grip_ = isAtTip(last_) ? Grip::Tip : Grip::Camera;
  if (grip_ == Grip::Camera) setCursor(Qt::ClosedHandCursor);
}

void VectorScene::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (grip_ == Grip::None) return setCursor(isAtTip(at) ? Qt::SizeAllCursor : Qt::OpenHandCursor);
  if (grip_ == Grip::Tip) {
    const QPointF page = (at - origin()) / unit();
    const bool along = event->modifiers().testFlag(Qt::ShiftModifier);
    Q_EMIT tipDragged(along ? camera_.alongUniform(content_.tip, page) : camera_.withMeanOf(content_.tip, page));
  } else {
    camera_.turn(at - last_);
    last_ = at;
    update();
    Q_EMIT cameraTurned(camera_);
  }
}

void VectorScene::mouseReleaseEvent(QMouseEvent*) {
  grip_ = Grip::None;
  setCursor(Qt::OpenHandCursor);
}

void VectorScene::mouseDoubleClickEvent(QMouseEvent*) {
  setCamera({});
  Q_EMIT cameraTurned(camera_);
}

bool VectorScene::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto near = std::ranges::find_if(content_.marks, [&](const SceneMark& mark) {
    const QPointF way = placeOf(mark.at) - QPointF(help->pos());
    return !mark.tip.isEmpty() && std::hypot(way.x(), way.y()) < kGrip * factor_;
  });
  if (near == content_.marks.end()) return QWidget::event(event);
  QToolTip::showText(help->globalPos(), near->tip, this);
  return true;
}

}  // namespace normlens::ui
