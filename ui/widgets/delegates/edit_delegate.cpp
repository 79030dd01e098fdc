#include "ui/widgets/delegates/edit_delegate.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "ui/models/edit_model.h"
#include "ui/theme/class_mark.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/words/plan_mark.h"

namespace normlens::ui {

namespace {

constexpr int kTick = 14;

bool isOn(const QModelIndex& index) {
  return index.siblingAtColumn(EditModel::Kind).data(Qt::CheckStateRole).toInt() == Qt::Checked;
}

}  // namespace

QRect EditDelegate::tickArea(const QRect& cell) {
  return {cell.left() + 16, cell.center().y() - kTick / 2 + 1, kTick, kTick};
}

void EditDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme theme = themeOf(option.palette);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  const bool falls = index.data(EditModel::FallsRole).toBool();
  if (falls) painter->fillRect(option.rect, theme.blockedBack);
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme.selection);
  const bool kind = index.column() == EditModel::Kind;
  const bool on = isOn(index);
  QRect area = option.rect.adjusted(8, 0, -8, 0);
  if (kind) {
    const QRect tick = tickArea(option.rect);
    paintTick(*painter, tick, on, theme);
    const QString mark = index.data(EditModel::ClassRole).toString();
    painter->setOpacity(on ? 1.0 : 0.45);
    paintClassMark(*painter, QRectF(tick.right() + 11, area.center().y() - 6, 13, 13),
                   mark.isEmpty() ? u'L' : mark.at(0), theme);
    painter->setOpacity(1.0);
    area.setLeft(tick.right() + 33);
  }
  if (falls && index.column() == EditModel::Frees) {
    paintIcon(*painter, QRectF(area.left(), area.center().y() - 6.5, 14, 14), planIcon(PlanState::WouldFall),
              theme.blocked);
    area.setLeft(area.left() + 20);
  }
  const QFont font = uiFont(12);
  painter->setFont(font);
  painter->setPen(!on ? theme.textFaint : index.column() <= EditModel::What ? theme.text : theme.textSoft);
  // Names differ at their ends.
  const bool names = index.column() == EditModel::What || index.column() == EditModel::Frees;
  const auto cut = names ? Qt::ElideLeft : Qt::ElideRight;
  painter->drawText(area, Qt::AlignVCenter | Qt::AlignLeft,
                    QFontMetrics(font).elidedText(index.data().toString(), cut, area.width()));
  painter->setPen(theme.hairline);
  painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
  painter->restore();
}

bool EditDelegate::editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                               const QModelIndex& index) {
  const QModelIndex kind = index.siblingAtColumn(EditModel::Kind);
  bool change = false;
  if (event->type() == QEvent::MouseButtonRelease || event->type() == QEvent::MouseButtonPress) {
    const auto* mouse = static_cast<QMouseEvent*>(event);
    if (index != kind || mouse->button() != Qt::LeftButton ||
        !tickArea(option.rect).adjusted(-6, -6, 6, 6).contains(mouse->pos())) {
      return false;
    }
    change = event->type() == QEvent::MouseButtonRelease;
  } else if (event->type() == QEvent::KeyPress) {
    change = static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space;
    if (!change) return false;
  } else {
    return false;
  }
  if (change) model->setData(kind, isOn(index) ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
  return true;
}

}  // namespace normlens::ui
