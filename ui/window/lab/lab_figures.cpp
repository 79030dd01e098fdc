#include "ui/window/lab/lab_figures.h"

#include <QGridLayout>
#include <QPushButton>
#include <algorithm>
#include <span>
#include <utility>

#include "ui/charts/chart_view.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/lab/network_mark.h"
#include "ui/window/parts.h"
#include "ui/words/lab_words.h"

namespace normlens::ui {
namespace {

constexpr int kChart = 180, kLeastWidth = 120, kGap = 16, kTwoColumns = 760;
constexpr size_t kMostFindings = 60;
constexpr qsizetype kMostLetters = 600;  // Limits a finding.
constexpr int kColumns = 2;

constexpr LabChart kCharts[] = {LabChart::Loss,        LabChart::WeightDifference, LabChart::StepTime,
                                LabChart::InputLength, LabChart::TestAccuracy,     LabChart::Angle,
                                LabChart::GradientNorm};

// Ordered as FindingFigure.
constexpr LabChart kChartOf[] = {LabChart::WeightDifference, LabChart::InputLength, LabChart::TestAccuracy,
                                 LabChart::Angle, LabChart::StepTime};

// The charts of a run's claims, one for each; known before there are findings.
std::vector<LabChart> chartsOf(const KeptRun& run) {
  if (run.settings.experiment == lab::Experiment::Cost) return {LabChart::StepTime};
  const bool depth = run.settings.experiment == lab::Experiment::DepthSweep;
  std::vector<LabChart> charts{LabChart::Loss, depth ? LabChart::InputLength : LabChart::WeightDifference};
  if (depth) charts.push_back(LabChart::TestAccuracy);
  if (std::ranges::find(run.findings, lab::FindingFigure::Angle, &lab::Finding::figure) != run.findings.end())
    charts.push_back(LabChart::Angle);
  return charts;
}

}  // namespace

LabFigures::LabFigures(QWidget* parent) : QWidget(parent) {
  grid_ = new QGridLayout(this);
  grid_->setContentsMargins({});
  grid_->setSpacing(kGap);
  for (const LabChart chart : kCharts) charts_.emplace(chart, makeChartCard(chart));
  grid_->addWidget(makeLegend(), 0, 0, 1, kColumns);
  others_ = makeButton({}, "link", this);
  others_->setObjectName(QStringLiteral("labOthers"));
  others_->setCheckable(true);
  connect(others_, &QPushButton::toggled, this, &LabFigures::showCards);
  arrange();
}

// The time of a step comes and goes, and has a row of its own.
void LabFigures::arrange() {
  int row = 1, column = 0;
  const auto put = [&](QWidget* card, bool alone) {
    if (column > 0 && alone) ++row, column = 0;
    grid_->removeWidget(card);
    grid_->addWidget(card, row, column, 1, alone ? kColumns : kColumns / columns_);
    column = alone ? columns_ : column + 1;
    if (column == columns_) ++row, column = 0;
  };
  const auto putThose = [&](bool claimed) {
    for (const LabChart chart : kCharts) {
      if (isClaimed(chart) == claimed) put(charts_.at(chart).frame, chart == LabChart::StepTime);
    }
  };
  putThose(true);
  put(others_, true);
  grid_->setAlignment(others_, Qt::AlignLeft);
  putThose(false);
  for (int each = 0; each < kColumns; ++each) grid_->setColumnStretch(each, 1);
  showCards();
}

bool LabFigures::isClaimed(LabChart chart) const { return std::ranges::find(claimed_, chart) != claimed_.end(); }

void LabFigures::showCards() {
  const bool all = others_->isChecked();
  others_->setText(all ? tr("Hide the other charts") : tr("Show the other charts"));
  for (const auto& [kind, card] : charts_)
    card.frame->setVisible(isClaimed(kind) || (all && (costs_ || kind != LabChart::StepTime)));
}

void LabFigures::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const int columns = width() < grown(kTwoColumns) ? 1 : kColumns;
  if (std::exchange(columns_, columns) != columns) arrange();
}

LabFigures::Card LabFigures::makeChartCard(LabChart kind) {
  auto* frame = makeCard(this);
  auto* column = makeColumn(frame, 2, {12, 8, 8, 4});
  auto* head = makeRow(nullptr, 8);
  auto* title = new ElidedLabel(labChartTitle(kind), Qt::ElideRight, frame);
  setKind(title, "section");
  head->addWidget(title);
  head->addStretch(1);
  auto* caption = new ElidedLabel(labChartCaption(kind), Qt::ElideRight, frame);
  setKind(caption, "soft");
  head->addWidget(caption);
  column->addLayout(head);
  auto* view = describe(new ChartView(frame), nullptr, tr("Ctrl+wheel or drag a frame: zoom. Double-click: show all."),
                        labChartTitle(kind));
  view->setObjectName(QStringLiteral("labChartView%1").arg(static_cast<int>(kind)));
  followText(view, [view] { view->setMinimumSize(grown(kLeastWidth), grown(kChart)); });
  column->addWidget(view, 1);
  auto* says = makeWords("fact", frame);
  says->setObjectName(QStringLiteral("labSays%1").arg(static_cast<int>(kind)));
  says->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // a long word makes the page no wider
  column->addWidget(says);
  return {frame, view, says};
}

// One for all charts.
QWidget* LabFigures::makeLegend() {
  auto* head = new QWidget(this);
  auto* row = makeRow(head, 16);
  for (const lab::NormUse network : lab::kNetworks) {
    auto* entry = new QWidget(head);
    auto* line = makeRow(entry, 6);
    const LabWord word = labWord(network);
    line->addWidget(new NetworkMark(network, entry));
    line->addWidget(makeLabel(word.name, "small", entry));
    entry->setToolTip(word.tip);
    legend_.emplace(network, entry);
    row->addWidget(entry);
  }
  paler_ = describe(new ElidedLabel({}, Qt::ElideRight, head), "labPaler");
  setKind(paler_, "soft");
  row->addWidget(paler_, 1);
  return head;
}

// Each below its chart.
void LabFigures::showFindings(const KeptRun* run) {
  std::map<LabChart, QStringList> sentences;
  if (run != nullptr) {
    for (const lab::Finding& finding : std::span(run->findings).first(std::min(run->findings.size(), kMostFindings)))
      sentences[kChartOf[static_cast<size_t>(finding.figure)]] << findingWords(finding).left(kMostLetters);
  }
  for (const auto& [kind, card] : charts_) {
    card.says->setText(sentences[kind].join(u'\n'));
    card.says->setVisible(!card.says->text().isEmpty());
  }
}

void LabFigures::show(const std::vector<KeptRun>& runs, const LabPlace& shown, const std::vector<LabPlace>& ticked) {
  const LabPicture picture = labPicture(runs, shown, ticked);
  const auto run = std::ranges::find(runs, shown.run, &KeptRun::number);
  showFindings(run != runs.end() ? &*run : nullptr);
  for (const auto& entry : legend_) {
    entry.second->setVisible(std::ranges::any_of(
        picture.curves, [&](const LabCurve& curve) { return curve.member.network == entry.first; }));
  }
  showPaler(picture);
  const bool costs =
      std::ranges::any_of(picture.curves, [](const LabCurve& curve) { return !curve.run->costs.empty(); });
  const auto claimed = run != runs.end() ? chartsOf(*run) : std::vector<LabChart>();
  if (std::exchange(costs_, costs) != costs || claimed_ != claimed) {
    claimed_ = claimed;
    arrange();
  }
  const Theme theme = themeOf(this);
  for (const auto& [kind, card] : charts_) card.view->showChart(makeLabChart(kind, picture, theme));
}

void LabFigures::showPaler(const LabPicture& picture) {
  QStringList groups;
  for (const auto* curves : {&picture.curves, &picture.differences}) {
    for (const LabCurve& curve : *curves) {
      if (curve.group > 0 && !groups.contains(curve.groupName)) groups << curve.groupName;
    }
  }
  paler_->setFullText(groups.isEmpty() ? QString() : tr("fainter lines: %1").arg(groups.join(QStringLiteral("; "))));
}

}  // namespace normlens::ui
