#include "ui/window/lab/network_mark.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <utility>

#include "ui/charts/lab_charts.h"
#include "ui/models/lab_table.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace normlens::ui {
namespace {

constexpr int kWidth = 26, kHeight = 14, kMarkGap = 8, kSide = 6, kTick = 14;

}  // namespace

NetworkMark::NetworkMark(lab::NormUse network, QWidget* parent) : QWidget(parent), network_(network) {
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize NetworkMark::sizeHint() const { return {grown(kWidth), grown(kHeight)}; }

void NetworkMark::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paintNetworkMark(painter, QRectF(rect()), network_, themeOf(this));
}

void LabDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  if (index.column() != LabTable::Tick && index.column() != LabTable::Network)
    return QStyledItemDelegate::paint(painter, option, index);
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  const QString words = std::exchange(cell.text, {});
  cell.features &= ~QStyleOptionViewItem::HasCheckIndicator;
  const QStyle* style = cell.widget != nullptr ? cell.widget->style() : QApplication::style();
  style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);
  const QRect room = cell.rect.adjusted(kSide, 0, -kSide, 0);
  const Theme theme = themeOf(cell.palette);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  if (index.column() == LabTable::Tick) {
    const QRectF box(room.left(), room.center().y() - kTick / 2.0, kTick, kTick);
    paintTick(*painter, box, index.data(Qt::CheckStateRole).toInt() == Qt::Checked, theme);
  } else {
    const QRectF mark(room.left(), room.center().y() - grown(kHeight) / 2.0, grown(kWidth), grown(kHeight));
    const auto network = static_cast<lab::NormUse>(index.data(LabTable::NetworkRole).toInt());
    paintNetworkMark(*painter, mark, network, theme);
    painter->setFont(cell.font);
    painter->setPen(theme.text);
    const QRect beside = room.adjusted(static_cast<int>(mark.width()) + kMarkGap, 0, 0, 0);
    painter->drawText(beside, Qt::AlignLeft | Qt::AlignVCenter,
                      cell.fontMetrics.elidedText(words, Qt::ElideRight, beside.width()));
  }
  painter->restore();
}

bool LabDelegate::editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& /*option*/,
                              const QModelIndex& index) {
  const QModelIndex tick = index.siblingAtColumn(LabTable::Tick);
  const bool clicked = event->type() == QEvent::MouseButtonRelease && index == tick &&
                       static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton;
  const bool pressed = event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space;
  if (!clicked && !pressed) return false;
  const bool on = tick.data(Qt::CheckStateRole).toInt() == Qt::Checked;
  return model->setData(tick, on ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
}

}  // namespace normlens::ui
