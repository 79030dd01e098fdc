#include "ui/graphview/overlays/centering_callout.h"

#include <QFontMetrics>
#include <QPainter>
#include <algorithm>
#include <vector>

#include "ui/theme/class_mark.h"
#include "ui/theme/theme.h"

namespace normlens::graphview {
namespace {

constexpr int kLead = 40, kCalloutPad = 10, kCalloutMark = 24, kCalloutEdge = 8;
constexpr double kLeastZoom = 0.4;  // a norm drawn smaller than that is not what is read

QFont titleFont() { return ui::uiFont(12, QFont::DemiBold); }
QFont detailFont() { return ui::uiFont(11); }

}  // namespace

CenteringCallout::CenteringCallout(QWidget* canvas) : QWidget(canvas) {
  setObjectName(QStringLiteral("centeringCallout"));
  setAttribute(Qt::WA_TransparentForMouseEvents);
  hide();
}

void CenteringCallout::setWords(const QString& title, const QString& detail) {
  title_ = title;
  detail_ = detail;
  setAccessibleName(title_.isEmpty() ? QString() : QStringLiteral("%1, %2").arg(title_, detail_));
  resize(sizeHint());
  place();
  update();
}

void CenteringCallout::setScene(const Scene& scene, const Lighting& lighting) {
  clear();
  if (lighting.blockerBox() < 0 || scene.empty()) return;
  scene_ = &scene;
  box_ = lighting.chosenBox();
}

void CenteringCallout::clear() {
  scene_ = nullptr;
  box_ = -1;
  hide();
}

void CenteringCallout::setVisibleArea(double zoom, const QRectF& world, const QRegion& keepOff) {
  zoom_ = zoom;
  world_ = world;
  keepOff_ = keepOff;
  place();
}

void CenteringCallout::place() {
  if (box_ < 0 || title_.isEmpty() || zoom_ < kLeastZoom) return hide();
  const QRectF box = scene_->box(box_).rect;
  const QRectF shown((box.topLeft() - world_.topLeft()) * zoom_, box.size() * zoom_);
  const int top = static_cast<int>(shown.center().y()) - height() / 2;
  const QRect right(QPoint(static_cast<int>(shown.right()), top), size());
  const QRect left(QPoint(static_cast<int>(shown.left()) - width(), top), size());
  right_ = isFree(right);
  const bool fits = right_ || isFree(left);
  if (fits) move((right_ ? right : left).topLeft());
  setVisible(fits);
}

bool CenteringCallout::isFree(const QRect& area) const {
  const QRect canvas = parentWidget()->rect().adjusted(kCalloutEdge, kCalloutEdge, -kCalloutEdge, -kCalloutEdge);
  if (!canvas.contains(area) || keepOff_.intersects(area)) return false;
  const QRectF covered(world_.topLeft() + QPointF(area.topLeft()) / zoom_, QSizeF(area.size()) / zoom_);
  std::vector<int> near;
  scene_->boxIndex.query(covered, near);
  return std::ranges::none_of(near, [&](int other) {
    const layout::Box& box = scene_->box(other);
    return other != box_ && box.kind != layout::BoxKind::Frame && box.rect.intersects(covered);
  });
}

QSize CenteringCallout::sizeHint() const {
  const int words = std::max(QFontMetrics(titleFont()).horizontalAdvance(title_),
                             QFontMetrics(detailFont()).horizontalAdvance(detail_));
  const int lines = QFontMetrics(titleFont()).height() + QFontMetrics(detailFont()).height();
  return {kLead + kCalloutPad + kCalloutMark + words + kCalloutPad + 2, lines + 10};
}

void CenteringCallout::paintEvent(QPaintEvent*) {
  const ui::Theme theme = ui::themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.classColor(u'A'), 1.2));
  const double middle = height() / 2.0;
  const double from = right_ ? 4 : width() - 4, to = right_ ? kLead : width() - kLead;
  painter.drawLine(QPointF(from, middle), QPointF(to, middle));
  painter.setBrush(theme.centeringBack);
  const QRectF card = QRectF(right_ ? kLead : 0, 0, width() - kLead, height()).adjusted(1, 1, -1, -1);
  painter.drawRoundedRect(card, 5, 5);
  ui::paintClassMark(painter, QRectF(card.left() + kCalloutPad, middle - 7, 14, 14), u'A', theme);
  const QRectF words = card.adjusted(kCalloutPad + kCalloutMark, 4, -kCalloutPad, -4);
  painter.setFont(titleFont());
  painter.setPen(theme.text);
  painter.drawText(words, Qt::AlignTop | Qt::AlignLeft, title_);
  painter.setFont(detailFont());
  painter.setPen(theme.textSoft);
  painter.drawText(words, Qt::AlignBottom | Qt::AlignLeft, detail_);
}

}  // namespace normlens::graphview
