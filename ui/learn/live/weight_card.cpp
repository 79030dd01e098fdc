#include "ui/learn/live/weight_card.h"

#include <QHBoxLayout>
#include <QLabel>
#include <algorithm>
#include <cmath>

#include "ui/session/words/format.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/plots/column_plot.h"
#include "ui/widgets/plots/heat_map.h"

namespace normlens::ui {
namespace {

constexpr int kMapHeight = 110;

double largestOf(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  return largest;
}

}  // namespace

WeightCard::WeightCard(const char* objectName, QWidget* parent) : QFrame(parent) {
  setObjectName(QLatin1String(objectName));
  setProperty("kind", "card");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 10, 16, 10);
  column->setSpacing(6);
  auto* heading = new QHBoxLayout;
  title_ = makeLabel({}, "strong", this);
  shape_ = makeLabel({}, "mono", this);
  heading->addWidget(title_);
  heading->addStretch();
  heading->addWidget(shape_);
  map_ = new HeatMap(this);
  map_->setMinimumHeight(kMapHeight);
  map_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  largest_ = makeLabel({}, "soft", this);
  means_ = new ColumnPlot(this);
  column->addLayout(heading);
  column->addWidget(map_, 1);
  column->addWidget(largest_);
  column->addWidget(means_);
}

void WeightCard::setTitle(const QString& title) { title_->setText(title); }

void WeightCard::setWeight(const std::optional<protocol::TensorStats>& weight, double share) {
  const bool centered = weight && weight->after;
  shape_->setText(weight ? formatShape(weight->shape) : QString());
  largest_->clear();
  means_->setMeans(centered ? weight->column_means : std::vector<double>());
  means_->setLeft(1 - share);
  if (!weight) return map_->setCells({}, 0, 0, 0);
  std::vector<double> heat = weight->before.heat;
  const double reach = largestOf(heat);
  for (size_t i = 0; centered && i < heat.size(); ++i) heat[i] += share * (weight->after->heat[i] - heat[i]);
  map_->setCells(heat, weight->heat_rows, weight->heat_columns, reach);
  if (!centered) return;
  const double largest = weight->before.largest_column_mean * (1 - share);
  largest_->setText(share > 0 ? tr("What is left of the means: the largest is %1").arg(formatNumber(largest, 2))
                              : tr("The means that go: the largest is %1").arg(formatNumber(largest, 2)));
}

void WeightCard::setFactor(double factor) {
  map_->setMinimumHeight(kMapHeight / 2);
  means_->setBare();
  for (QLabel* label : {title_, shape_, largest_})
    label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(13 * factor)));
}

}  // namespace normlens::ui
