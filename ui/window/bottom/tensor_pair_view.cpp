#include "ui/window/bottom/tensor_pair_view.h"

#include <QPushButton>
#include <QStackedWidget>
#include <algorithm>
#include <cmath>

#include "ui/models/difference_table.h"
#include "ui/session/difference_run.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/plots/heat_map.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

// A click divides a tile's rows and columns by kZoom, down to the least of both.
constexpr int64_t kZoom = 4, kLeastRows = 8, kLeastColumns = 16;

int64_t around(int64_t middle, int64_t size, int64_t all) {
  return std::clamp<int64_t>(middle - size / 2, 0, std::max<int64_t>(0, all - size));
}

QString rangeWords(int64_t from, int64_t count) {
  return count == 1 ? QString::number(from) : QStringLiteral("%1–%2").arg(from).arg(from + count - 1);
}

}  // namespace

TensorPairView::TensorPairView(DifferenceRun* run, QWidget* parent)
    : QWidget(parent), run_(run), tile_(run->engine(), this) {
  setObjectName(QStringLiteral("tensorPair"));
  auto* layout = makeColumn(this, 4);
  layout->addLayout(buildHead());
  stack_ = new QStackedWidget(this);
  words_ = describe(makeNotice(this), "tensorPairWords");
  stack_->addWidget(words_);
  buildMaps();
  layout->addWidget(stack_, 1);
  setRow({}, {});
}

QLayout* TensorPairView::buildHead() {
  auto* row = makeRow(nullptr, 6);
  head_ = describe(new ElidedLabel({}, Qt::ElideMiddle, this), "tensorPairHead");
  row->addWidget(head_, 1);
  worst_ =
      addButton(row, "link", tr("Largest difference"), "tensorPairWorst", tr("Zoom to the element that differs most."));
  whole_ = addButton(row, "link", tr("Whole tensor"), "tensorPairWhole", tr("Show all of both tensors again."));
  connect(whole_, &QPushButton::clicked, this, [this] { ask({}); });
  connect(worst_, &QPushButton::clicked, this, &TensorPairView::zoomToWorst);
  return row;
}

void TensorPairView::buildMaps() {
  auto* maps = new QWidget(this);
  auto* row = makeRow(maps, 10);
  const struct {
    const char* name;
    QString accessible, meaning;
  } kinds[] = {
      {"pairOriginal", tr("Heat map of the original's tensor"), tr("Mean of this cell: %1. Click to zoom in.")},
      {"pairOther", tr("Heat map of the other model's tensor"), tr("Mean of this cell: %1. Click to zoom in.")},
      {"pairDifference", tr("Heat map of the difference"),
       tr("Largest difference in this cell: %1. Click to zoom in.")}};
  for (const auto& kind : kinds) {
    auto* column = makeColumn(nullptr, 2);
    Panel panel{makeWords("faint", maps), describe(new HeatMap(maps), kind.name, {}, kind.accessible)};
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
    say(tr("Select a row to see both tensors and their difference."));
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
  run_->requestTile(*row_, dtype_, tile, tile_, [this](const Reply<protocol::TensorPair>& reply) { showPair(reply); });
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
  askAround(now.row + row * now.rows / pair_->heat_rows, now.column + column * now.columns / pair_->heat_columns,
            std::min(now.rows, std::max(kLeastRows, now.rows / kZoom)),
            std::min(now.columns, std::max(kLeastColumns, now.columns / kZoom)));
}

void TensorPairView::askAround(int64_t row, int64_t column, int64_t rows, int64_t columns) {
  ask({around(row, rows, pair_->rows), rows, around(column, columns, pair_->columns), columns});
}

void TensorPairView::zoomToWorst() {
  if (!pair_ || !row_ || row_->worst_index.empty()) return;
  int64_t place = 0;
  for (size_t axis = 0; axis < row_->worst_index.size() && axis < pair_->shape.size(); ++axis) {
    place = place * pair_->shape[axis] + row_->worst_index[axis];
  }
  const int64_t columns = std::max<int64_t>(1, pair_->columns);
  askAround(place / columns, place % columns, std::min(pair_->rows, kLeastRows),
            std::min(pair_->columns, kLeastColumns));
}

}  // namespace normlens::ui
