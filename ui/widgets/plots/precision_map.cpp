#include "ui/widgets/plots/precision_map.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/models/difference_table.h"
#include "ui/theme/error_scale.h"
#include "ui/widgets/plots/series_mark.h"

namespace normlens::ui {

namespace {

constexpr int kRow = 17, kTop = 2, kMark = 8;

}  // namespace

PrecisionMap::PrecisionMap(DifferenceMatrix* model, QWidget* parent) : QWidget(parent), model_(model) {
  setObjectName(QStringLiteral("precisionMap"));
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Heat map of errors by LayerNorm and precision"));
  connect(model_, &QAbstractItemModel::modelReset, this, [this] {
    chosen_ = {};
    describe();
    updateGeometry();
    update();
  });
  describe();
}

QSize PrecisionMap::sizeHint() const { return {360, kTop + grown(kRow) * std::max(1, model_->types())}; }

void PrecisionMap::describe() {
  QString words = tr("%1 places in %2 precisions").arg(model_->places()).arg(model_->types());
  if (chosen_.valid()) words += QStringLiteral("; ") + model_->tip(chosen_.place, chosen_.type);
  setAccessibleDescription(words);
}

void PrecisionMap::setChosen(int place, int type) {
  const bool there = place >= 0 && place < model_->places() && type >= 0 && type < model_->types();
  chosen_ = there ? Cell{place, type} : Cell{};
  describe();
  update();
}

QRectF PrecisionMap::cellRect(const Cell& cell) const {
  const double wide = static_cast<double>(width() - placeLeft() - kPlaceRight) / std::max(1, model_->places());
  return {placeLeft() + cell.place * wide, static_cast<double>(kTop + cell.type * grown(kRow)), wide,
          static_cast<double>(grown(kRow))};
}

PrecisionMap::Cell PrecisionMap::cellAt(const QPointF& position) const {
  const double wide = static_cast<double>(width() - placeLeft() - kPlaceRight) / std::max(1, model_->places());
  const Cell cell{static_cast<int>((position.x() - placeLeft()) / wide),
                  static_cast<int>((position.y() - kTop) / grown(kRow))};
  const bool inside = position.x() >= placeLeft() && position.y() >= kTop && cell.place < model_->places() &&
                      cell.type < model_->types();
  return inside ? cell : Cell{};
}

void PrecisionMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing, false);
  paintCells(painter);
}

void PrecisionMap::paintCells(QPainter& painter) const {
  const Theme theme = themeOf(this);
  painter.setFont(monoFont(11));
  for (int type = 0; type < model_->types(); ++type) {
    const QRectF label(0, kTop + type * grown(kRow), placeLeft() - 8, grown(kRow));
    if (model_->typeError(type).isEmpty()) {
      painter.setRenderHint(QPainter::Antialiasing, true);
      paintSeriesMark(painter, {kMark, label.center().y()}, type, theme);
      painter.setRenderHint(QPainter::Antialiasing, false);
    }
    painter.setPen(model_->typeError(type).isEmpty() ? theme.textSoft : theme.blocked);
    painter.drawText(label, Qt::AlignRight | Qt::AlignVCenter, model_->typeName(type));
    for (int place = 0; place < model_->places(); ++place) {
      // Whole pixels: else every other cell has a blurred edge.
      const QRectF exact = cellRect({place, type});
      const QRect cell(QPoint(qRound(exact.left()), qRound(exact.top())),
                       QPoint(qRound(exact.right()) - 1, qRound(exact.bottom()) - 1));
      const protocol::DiffRow* row = model_->at(place, type);
      if (row != nullptr) {
        painter.fillRect(cell, isAtFloor(*row) ? floorColor(theme) : errorColor(row->max_rel, theme));
      } else {
        painter.fillRect(cell, theme.panel);
        painter.fillRect(cell, QBrush(theme.control, Qt::BDiagPattern));
      }
      painter.setPen(theme.panel);
      if (exact.width() > 6) painter.drawLine(cell.topRight(), cell.bottomRight());
      painter.drawLine(cell.bottomLeft(), cell.bottomRight());
    }
  }
  if (!chosen_.valid()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(hasFocus() ? theme.accent : theme.classes.chosen, 2));
  painter.drawRect(cellRect(chosen_).adjusted(0, 0, -1, -1));
}

void PrecisionMap::mousePressEvent(QMouseEvent* event) {
  const Cell cell = cellAt(event->position());
  if (event->button() != Qt::LeftButton || !cell.valid()) return;
  setChosen(cell.place, cell.type);
  Q_EMIT chosen(cell.place, cell.type);
}

void PrecisionMap::keyPressEvent(QKeyEvent* event) {
  Cell next = chosen_.valid() ? chosen_ : Cell{0, 0};
  switch (event->key()) {
    case Qt::Key_Left:
      --next.place;
      break;
    case Qt::Key_Right:
      ++next.place;
      break;
    case Qt::Key_Up:
      --next.type;
      break;
    case Qt::Key_Down:
      ++next.type;
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (chosen_.valid()) Q_EMIT chosen(chosen_.place, chosen_.type);
      return;
    default:
      QWidget::keyPressEvent(event);
      return;
  }
  if (model_->places() == 0 || model_->types() == 0) return;
  setChosen(std::clamp(next.place, 0, model_->places() - 1), std::clamp(next.type, 0, model_->types() - 1));
}

bool PrecisionMap::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Cell cell = cellAt(help->pos());
  QToolTip::showText(help->globalPos(),
                     cell.valid() ? model_->tip(cell.place, cell.type)
                                  : tr("The largest relative difference of each LayerNorm in each precision."),
                     this);
  return true;
}

}  // namespace normlens::ui
