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

constexpr int kChart = 180, kLeastWidth = 120, kGap = 16;
constexpr size_t kMostFindings = 60;
constexpr qsizetype kMostLetters = 600;  // Limits a finding.
constexpr int kColumns = 6;              // The grid's: two charts above three.

struct ChartCell {
  LabChart kind;
  int row, column, span;
};
// Below the legend.
constexpr ChartCell kCells[] = {
    {LabChart::Loss, 1, 0, 3},         {LabChart::WeightDifference, 1, 3, 3}, {LabChart::StepTime, 2, 0, kColumns},
    {LabChart::GradientNorm, 3, 0, 2}, {LabChart::InputSpread, 3, 2, 2},      {LabChart::TestAccuracy, 3, 4, 2},
};

}  // namespace

LabFigures::LabFigures(QWidget* parent) : QWidget(parent) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins({});
  grid->setSpacing(kGap);
  for (int column = 0; column < kColumns; ++column) grid->setColumnStretch(column, 1);
  for (const ChartCell& cell : kCells) {
    const Card card = charts_.emplace(cell.kind, makeChartCard(cell.kind)).first->second;
    grid->addWidget(card.frame, cell.row, cell.column, 1, cell.span);
    if (cell.kind != LabChart::StepTime) grid->setRowStretch(cell.row, 1);  // it comes and goes
  }
  grid->addWidget(makeLegend(), 0, 0, 1, kColumns);
  makeSays();
  grid->addWidget(saysFrame_, grid->rowCount(), 0, 1, kColumns);
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
  auto* view = describe(new ChartView(frame), nullptr, tr("Ctrl and wheel, or a drawn frame: zoom. Double click: all."),
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
  column->addWidget(makeLabel(tr("What the papers say, and what came out"), "section", frame));
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
  paler_->setFullText(groups.isEmpty() ? QString() : tr("paler: %1").arg(groups.join(QStringLiteral("; "))));
}

}  // namespace normlens::ui
