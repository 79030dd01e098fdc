#include "ui/widgets/plots/difference_plots.h"

#include <QColor>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/models/difference_table.h"
#include "ui/theme/error_scale.h"
#include "ui/theme/spoken_role.h"
#include "ui/theme/theme.h"

namespace normlens::ui {
namespace {

// The floating types of a comparison differ by shape as well as by color, in charts and beside their names.
constexpr int kSeries = 4;
constexpr double kSize = 3;

QColor seriesColor(int series, const Theme& theme) {
  const QColor colors[kSeries] = {theme.streamLine, theme.opaqueLine, theme.linearLine, theme.classes.centering};
  return colors[series % kSeries];
}

void paintSeriesMark(QPainter& painter, const QPointF& at, int series, const Theme& theme) {
  painter.setPen(Qt::NoPen);
  painter.setBrush(seriesColor(series, theme));
  const double far = kSize + 1;
  switch (series % kSeries) {
    case 0:
      painter.drawEllipse(at, kSize, kSize);
      break;
    case 1:
      painter.drawRect(QRectF(at.x() - kSize, at.y() - kSize, 2 * kSize, 2 * kSize));
      break;
    case 2:
      painter.drawPolygon(QPolygonF({at + QPointF(0, -far), at + QPointF(far, kSize), at + QPointF(-far, kSize)}));
      break;
    default:
      painter.drawPolygon(
          QPolygonF({at + QPointF(0, -far), at + QPointF(far, 0), at + QPointF(0, far), at + QPointF(-far, 0)}));
  }
}

constexpr int kRow = 17, kTop = 2, kMark = 8;

constexpr int kPlotTop = 8, kBottom = 8, kCaption = 16;
constexpr int kCaptionFrom = 110;  // a lower chart has no room for words

}  // namespace

PrecisionMap::PrecisionMap(DifferenceMatrix* model, QWidget* parent) : QWidget(parent), model_(model) {
  setObjectName(QStringLiteral("precisionMap"));
  setFocusPolicy(Qt::StrongFocus);
  setSpokenRole(this, QAccessible::Chart);
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

DepthPlot::DepthPlot(DifferenceMatrix* model, QWidget* parent) : QWidget(parent), model_(model) {
  setObjectName(QStringLiteral("depthPlot"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Chart of error by depth"));
  connect(model_, &QAbstractItemModel::modelReset, this, [this] {
    chosen_ = -1;
    rescale();
    update();
  });
  rescale();
}

void DepthPlot::rescale() {
  double least = 1, most = 0;
  for (int type = 0; type < model_->types(); ++type) {
    for (int place = 0; place < model_->places(); ++place) {
      const protocol::DiffRow* row = model_->at(place, type);
      if (row == nullptr || !std::isfinite(row->max_rel) || row->max_rel <= 0) continue;
      const double floor = floorOf(*row).value_or(row->max_rel);
      least = std::min({least, row->max_rel, floor > 0 ? floor : row->max_rel});
      most = std::max({most, row->max_rel, floor});
    }
  }
  high_ = most > 0 ? static_cast<int>(std::ceil(std::log10(most))) : 0;
  low_ = most > 0 ? static_cast<int>(std::floor(std::log10(least))) : -16;
  if (high_ - low_ < 2) low_ = high_ - 2;
  setAccessibleDescription(
      tr("Errors from %1 to %2 in %3 precisions").arg(formatError(least), formatError(most)).arg(model_->types()));
}

void DepthPlot::setChosen(int place) {
  chosen_ = place < model_->places() ? place : -1;
  update();
}

DepthScale DepthPlot::scale() const {
  const int below = height() >= kCaptionFrom ? kBottom + kCaption : kBottom;
  const QRectF plot(placeLeft(), kPlotTop, width() - placeLeft() - kPlaceRight, height() - kPlotTop - below);
  return {plot, model_->places(), true, static_cast<double>(low_), static_cast<double>(high_)};
}

void DepthPlot::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  paintAxes(painter);
  for (int type = 0; type < model_->types(); ++type) paintLine(painter, type);
}

void DepthPlot::paintAxes(QPainter& painter) const {
  const Theme theme = themeOf(this);
  const DepthScale scale = this->scale();
  const QRectF& plot = scale.plot;
  painter.setFont(uiFont(11));
  const int lines = std::max(1, static_cast<int>(plot.height() / grown(22)));
  for (const double power : scale.ticks(lines)) {
    const double y = scale.levelOf(power);
    painter.setPen(QPen(theme.hairline, 1));
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(theme.textFaint);
    painter.drawText(QRectF(0, y - 8, placeLeft() - 8, 16), Qt::AlignRight | Qt::AlignVCenter, powerOfTen(power));
  }
  if (height() >= kCaptionFrom) {
    painter.setPen(theme.textFaint);
    painter.drawText(QRectF(plot.left(), height() - kCaption - 2, plot.width(), kCaption),
                     Qt::AlignRight | Qt::AlignVCenter, tr("LayerNorms and outputs, in execution order"));
  }
  if (chosen_ < 0) return;
  const double x = scale.at(chosen_, 1).x();
  painter.setPen(QPen(theme.classes.chosen, 1.5, Qt::DashLine));
  painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
}

void DepthPlot::paintLine(QPainter& painter, int type) const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const Theme theme = themeOf(this);
  const DepthScale scale = this->scale();
  painter.setBrush(Qt::NoBrush);
  // Rounding explains all that lies below this line.
  painter.setPen(QPen(seriesColor(type, theme), 1.2, Qt::DotLine));
  painter.drawPath(pathThrough(scale, [&](int place) {
    const protocol::DiffRow* row = model_->at(place, type);
    return row != nullptr ? floorOf(*row).value_or(kNone) : kNone;
  }));
  painter.setPen(QPen(seriesColor(type, theme), 1.5));
  painter.drawPath(pathThrough(scale, [&](int place) {
    const protocol::DiffRow* row = model_->at(place, type);
    return row != nullptr ? row->max_rel : kNone;
  }));
  const bool crowded = scale.step() < 7;
  if (crowded) return;
  for (int place = 0; place < model_->places(); ++place) {
    if (const protocol::DiffRow* row = model_->at(place, type)) {
      paintSeriesMark(painter, scale.at(place, row->max_rel), type, theme);
    }
  }
}

DepthPlot::Mark DepthPlot::markAt(const QPointF& at) const {
  constexpr double kReach = 12;
  const DepthScale scale = this->scale();
  // A mark at the foot is near from below, too.
  const int place = scale.placeAt({at.x(), scale.plot.center().y()});
  if (place < 0) return {};
  Mark nearest;
  double best = kReach;
  for (int type = 0; type < model_->types(); ++type) {
    const protocol::DiffRow* row = model_->at(place, type);
    if (row == nullptr) continue;
    const double away = std::abs(scale.at(place, row->max_rel).y() - at.y());
    if (away >= best) continue;
    best = away;
    nearest = {place, type};
  }
  return nearest;
}

void DepthPlot::mousePressEvent(QMouseEvent* event) {
  const Mark mark = markAt(event->position());
  if (event->button() == Qt::LeftButton && mark.place >= 0) Q_EMIT chosen(mark.place, mark.type);
}

bool DepthPlot::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Mark mark = markAt(help->pos());
  QToolTip::showText(help->globalPos(),
                     mark.place >= 0 ? model_->tip(mark.place, mark.type)
                                     : tr("How the error grows from the first LayerNorm to the outputs. Dotted: six "
                                          "times the original's own rounding error in that precision."),
                     this);
  return true;
}

}  // namespace normlens::ui
