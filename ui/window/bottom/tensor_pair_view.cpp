#include "ui/window/bottom/tensor_pair_view.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "ui/models/difference_table.h"
#include "ui/session/difference_run.h"
#include "ui/session/words/format.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/plots/heat_map.h"

namespace normlens::ui {

namespace {

// What a click leaves of a tile, and the least of it.
constexpr int64_t kZoom = 4, kLeastRows = 8, kLeastColumns = 16;

int64_t around(int64_t middle, int64_t size, int64_t all) {
  return std::clamp<int64_t>(middle - size / 2, 0, std::max<int64_t>(0, all - size));
}

QString rangeWords(int64_t from, int64_t count) {
  return count == 1 ? QString::number(from) : QStringLiteral("%1–%2").arg(from).arg(from + count - 1);
}

}  // namespace

TensorPairView::TensorPairView(DifferenceRun* run, QWidget* parent) : QWidget(parent), run_(run) {
  setObjectName(QStringLiteral("tensorPair"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  buildHead();
  stack_ = new QStackedWidget(this);
  words_ = makeLabel({}, "faint", this);
  words_->setObjectName(QStringLiteral("tensorPairWords"));
  words_->setAlignment(Qt::AlignCenter);
  words_->setWordWrap(true);
  stack_->addWidget(words_);
  buildMaps();
  layout->addWidget(stack_, 1);
  setRow({}, {});
}

void TensorPairView::buildHead() {
  auto* row = new QHBoxLayout;
  row->setSpacing(6);
  head_ = new ElidedLabel({}, Qt::ElideMiddle, this);
  head_->setObjectName(QStringLiteral("tensorPairHead"));
  row->addWidget(head_, 1);
  const auto add = [&](const QString& title, const char* name, const QString& tip) {
    auto* button = makeButton(title, "link", this);
    button->setObjectName(QLatin1String(name));
    button->setToolTip(tip);
    row->addWidget(button);
    return button;
  };
  worst_ = add(tr("Worst place"), "tensorPairWorst", tr("Look closely at the element that differs most."));
  whole_ = add(tr("Whole tensor"), "tensorPairWhole", tr("Show all of both tensors again."));
  static_cast<QVBoxLayout*>(layout())->addLayout(row);
  connect(whole_, &QPushButton::clicked, this, [this] { ask({}); });
  connect(worst_, &QPushButton::clicked, this, &TensorPairView::zoomToWorst);
}

void TensorPairView::buildMaps() {
  auto* maps = new QWidget(this);
  auto* row = new QHBoxLayout(maps);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(10);
  const struct {
    const char* name;
    QString accessible, meaning;
  } kinds[] = {
      {"pairOriginal", tr("Heat map of the original's tensor"), tr("Mean of this cell: %1. Click to look closer.")},
      {"pairOther", tr("Heat map of the other model's tensor"), tr("Mean of this cell: %1. Click to look closer.")},
      {"pairDifference", tr("Heat map of the difference"),
       tr("Largest difference in this cell: %1. Click to look closer.")}};
  for (const auto& kind : kinds) {
    auto* column = new QVBoxLayout;
    column->setSpacing(2);
    Panel panel{makeLabel({}, "faint", maps), new HeatMap(maps)};
    panel.caption->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    panel.map->setObjectName(QLatin1String(kind.name));
    panel.map->setAccessibleName(kind.accessible);
    panel.map->setMeaning(kind.meaning);
    panel.map->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    connect(panel.map, &HeatMap::cellClicked, this, &TensorPairView::zoomTo);
    column->addWidget(panel.caption);
    column->addWidget(panel.map, 1);
    row->addLayout(column, 1);
    panels_.push_back(panel);
  }
  stack_->addWidget(maps);
}

void TensorPairView::say(const QString& words) {
  words_->setText(words);
  stack_->setCurrentWidget(words_);
  whole_->setEnabled(false);
  worst_->setEnabled(false);
}

void TensorPairView::setRow(const std::optional<protocol::DiffRow>& row, const std::string& dtype) {
  row_ = row;
  dtype_ = dtype;
  pair_.reset();
  asked_ = false;
  head_->setFullText(row ? QStringLiteral("%1 · %2").arg(text(row->name), kindWords(row->kind)) : QString());
  if (!row) {
    say(tr("Choose a row to see both tensors and their difference."));
  } else if (isVisible()) {
    ask({});
  }
}

void TensorPairView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (row_ && !asked_) ask({});
}

void TensorPairView::ask(const protocol::TensorTile& tile) {
  if (!row_) return;
  asked_ = true;
  if (!pair_) say(tr("Running both models for these tensors."));
  run_->requestTile(*row_, dtype_, tile, this, [this](const Reply<protocol::TensorPair>& reply) { showPair(reply); });
}

void TensorPairView::showPair(const Reply<protocol::TensorPair>& reply) {
  if (!reply) {
    if (!reply.error().cancelled()) say(asSentence(reply.error().message));
    return;
  }
  if (!row_) return;
  pair_ = *reply;
  const auto& [row, rows, column, columns] = pair_->tile;
  const bool all = rows == pair_->rows && columns == pair_->columns;
  QString words = QStringLiteral("%1 · %2 %3").arg(text(row_->name), text(pair_->dtype), formatShape(pair_->shape));
  if (const QString aligned = alignmentWords(pair_->aligned); !aligned.isEmpty())
    words += QStringLiteral(" · ") + aligned;
  if (!all) words += tr(" · rows %1, columns %2").arg(rangeWords(row, rows), rangeWords(column, columns));
  head_->setFullText(words);
  const double reach = std::max(std::abs(pair_->low), std::abs(pair_->high));
  const bool toFold = run_->settings().against.isEmpty();
  panels_[0].caption->setText(tr("original, ± %1").arg(formatNumber(reach, 3)));
  panels_[1].caption->setText((toFold ? tr("folded, ± %1") : tr("other, ± %1")).arg(formatNumber(reach, 3)));
  panels_[2].caption->setText(tr("difference, up to %1").arg(formatNumber(pair_->most, 3)));
  panels_[0].map->setCells(pair_->a, pair_->heat_rows, pair_->heat_columns, reach);
  panels_[1].map->setCells(pair_->b, pair_->heat_rows, pair_->heat_columns, reach);
  panels_[2].map->setCells(pair_->difference, pair_->heat_rows, pair_->heat_columns, pair_->most);
  stack_->setCurrentIndex(1);
  whole_->setEnabled(!all);
  worst_->setEnabled(row_ && !row_->worst_index.empty());
}

void TensorPairView::zoomTo(int row, int column) {
  if (!pair_ || pair_->heat_rows == 0 || pair_->heat_columns == 0) return;
  const protocol::TensorTile& now = pair_->tile;
  protocol::TensorTile next;
  next.rows = std::min(now.rows, std::max(kLeastRows, now.rows / kZoom));
  next.columns = std::min(now.columns, std::max(kLeastColumns, now.columns / kZoom));
  next.row = around(now.row + row * now.rows / pair_->heat_rows, next.rows, pair_->rows);
  next.column = around(now.column + column * now.columns / pair_->heat_columns, next.columns, pair_->columns);
  ask(next);
}

void TensorPairView::zoomToWorst() {
  if (!pair_ || !row_ || row_->worst_index.empty()) return;
  int64_t place = 0;
  for (size_t axis = 0; axis < row_->worst_index.size() && axis < pair_->shape.size(); ++axis) {
    place = place * pair_->shape[axis] + row_->worst_index[axis];
  }
  const int64_t columns = std::max<int64_t>(1, pair_->columns);
  protocol::TensorTile next;
  next.rows = std::min(pair_->rows, kLeastRows);
  next.columns = std::min(pair_->columns, kLeastColumns);
  next.row = around(place / columns, next.rows, pair_->rows);
  next.column = around(place % columns, next.columns, pair_->columns);
  ask(next);
}

}  // namespace normlens::ui
