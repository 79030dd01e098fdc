#include "ui/window/lab/lab_figures.h"

#include <QGridLayout>
#include <algorithm>
#include <span>

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

constexpr LabChart kCharts[] = {LabChart::Loss,         LabChart::WeightDifference, LabChart::StepTime,
                                LabChart::GradientNorm, LabChart::TestAccuracy,     LabChart::InputSpread,
                                LabChart::Angle};

}  // namespace

LabFigures::LabFigures(QWidget* parent) : QWidget(parent) {
  grid_ = new QGridLayout(this);
  grid_->setContentsMargins({});
  grid_->setSpacing(kGap);
  for (const LabChart chart : kCharts) charts_.emplace(chart, makeChartCard(chart));
  grid_->addWidget(makeLegend(), 0, 0, 1, kColumns);
  makeSays();
  arrange(kColumns);
}

// The time of a step comes and goes, and has a row of its own.
void LabFigures::arrange(int columns) {
  if (columns == columns_) return;
  columns_ = columns;
  int row = 1, column = 0;
  const auto put = [&](QWidget* card, bool alone) {
    if (column > 0 && alone) ++row, column = 0;
    grid_->removeWidget(card);
    grid_->addWidget(card, row, column, 1, alone ? kColumns : kColumns / columns);
    column = alone ? columns : column + 1;
    if (column == columns) ++row, column = 0;
  };
  for (const LabChart chart : kCharts) put(charts_.at(chart).frame, chart == LabChart::StepTime);
  put(saysFrame_, true);
  for (int each = 0; each < kColumns; ++each) grid_->setColumnStretch(each, 1);
}

void LabFigures::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange(width() < grown(kTwoColumns) ? 1 : kColumns);
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
  return {frame, view};
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

void LabFigures::makeSays() {
  auto* frame = makeCard(this);
  auto* column = makeColumn(frame, 4, {12, 8, 12, 10});
  column->addWidget(makeLabel(tr("Claims and results"), "section", frame));
  says_ = describe(makeWords("fact", frame), "labSays");
  says_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // a long word makes the page no wider
  column->addWidget(says_);
  saysFrame_ = frame;
}

void LabFigures::show(const std::vector<KeptRun>& runs, const LabPlace& shown, const std::vector<LabPlace>& ticked) {
  const LabPicture picture = labPicture(runs, shown, ticked);
  const auto run = std::ranges::find(runs, shown.run, &KeptRun::number);
  QStringList sentences;
  if (run != runs.end()) {
    for (const lab::Finding& finding : std::span(run->findings).first(std::min(run->findings.size(), kMostFindings)))
      sentences << findingWords(finding).left(kMostLetters);
  }
  says_->setText(sentences.join(u'\n'));
  saysFrame_->setVisible(!sentences.isEmpty());
  for (const auto& entry : legend_) {
    entry.second->setVisible(std::ranges::any_of(
        picture.curves, [&](const LabCurve& curve) { return curve.member.network == entry.first; }));
  }
  showPaler(picture);
  const bool cost =
      std::ranges::any_of(picture.curves, [](const LabCurve& curve) { return !curve.run->costs.empty(); });
  charts_.at(LabChart::StepTime).frame->setVisible(cost);
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
