#include "ui/graphview/marks/diff_marks.h"

#include <QPainter>
#include <algorithm>

#include "ui/graphview/box_style.h"

namespace normlens::graphview {
namespace {

constexpr double kGap = 3;       // between a box and its outline
constexpr double kSmallest = 5;  // screen height of a box that still gets a sign
constexpr int kSignPixels = 11;
constexpr double kSignHeight = 15;

void paintSign(QPainter& painter, const QRectF& outline, const QString& sign, const QColor& color,
               const ui::Theme& theme) {
  painter.setFont(ui::uiFont(kSignPixels, QFont::DemiBold));
  const double width = painter.fontMetrics().horizontalAdvance(sign) + 10;
  const QRectF place(outline.right() - width + 4, outline.top() - kSignHeight / 2, width, kSignHeight);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  painter.drawRoundedRect(place, kSignHeight / 2, kSignHeight / 2);
  painter.setPen(theme.dark ? theme.canvas : Qt::white);
  painter.drawText(place, Qt::AlignCenter, sign);
}

}  // namespace

DiffMarks::DiffMarks(const layout::Hierarchy& hierarchy, const std::vector<NodeMark>& marks) {
  if (marks.empty()) return;  // a view that is compared with nothing pays nothing when it paints
  counts_.resize(hierarchy.items.size());
  const auto& nodes = hierarchy.itemOfNode;
  for (size_t node = 0; node < std::min(marks.size(), nodes.size()); ++node) {
    if (marks[node] == NodeMark::Same) continue;
    for (int item = nodes[node]; item >= 0; item = hierarchy.item(item).parent) {
      Counts& counts = counts_[static_cast<size_t>(item)];
      (marks[node] == NodeMark::Changed ? counts.changed : counts.only) += 1;
    }
  }
}

QString DiffMarks::signOf(const Counts& counts, bool group) {
  if (!group) return counts.changed > 0 ? QStringLiteral("≠") : QStringLiteral("+");
  QString sign;
  if (counts.changed > 0) sign = QStringLiteral("≠ %1").arg(counts.changed);
  if (counts.only > 0)
    sign += (sign.isEmpty() ? QString() : QStringLiteral("  ")) + QStringLiteral("+ %1").arg(counts.only);
  return sign;
}

void DiffMarks::paint(QPainter& painter, const Scene& scene, const Camera& camera, const QRectF& area,
                      const ui::Theme& theme) const {
  if (counts_.empty() || scene.empty()) return;
  std::vector<int> boxes;
  scene.boxIndex.query(camera.toWorld(area), boxes);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  for (const int index : boxes) {
    const layout::Box& box = scene.box(index);
    const Counts& counts = counts_[static_cast<size_t>(box.item)];
    if (box.kind == layout::BoxKind::Frame || counts.changed + counts.only == 0) continue;
    const QColor color = counts.changed > 0 ? theme.classes.chosen : theme.good;
    const QRectF outline = camera.toScreen(box.rect).adjusted(-kGap, -kGap, kGap, kGap);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, 2, counts.changed > 0 ? Qt::SolidLine : Qt::DashLine));
    painter.drawRoundedRect(outline, 7, 7);
    const bool group = scene.itemOf(box).kind == layout::ItemKind::Group && box.kind == layout::BoxKind::Card;
    if (outline.height() > kSmallest + 2 * kGap) paintSign(painter, outline, signOf(counts, group), color, theme);
  }
  painter.restore();
}

}  // namespace normlens::graphview
