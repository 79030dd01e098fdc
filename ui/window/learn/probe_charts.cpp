#include "ui/window/learn/probe_charts.h"

#include <QGridLayout>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/learn/depth_chart.h"
#include "ui/models/forced_error_table.h"
#include "ui/theme/theme.h"
#include "ui/widgets/push_button.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

using protocol::ProbeRow;
using Rows = std::vector<ProbeFigures>;
using Shape = SceneMark::Shape;
using Side = protocol::SideAngles;
using Way = DepthSeries::Way;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastShare = -6;  // power of ten, where a fold without any mean is drawn beside its original
constexpr int kNoteWidth = 300;

// Returns a figure by row: of the norm, or of what the fold has put in its place.
template <class Figure>
std::vector<double> figures(const Rows& rows, bool folded, const Figure& figure) {
  std::vector<double> values;
  for (const ProbeFigures& row : rows) {
    const ProbeRow* of = folded ? row.folded ? &*row.folded : nullptr : &row.row;
    values.push_back(of != nullptr && of->reason.empty() ? figure(*of) : kNone);
  }
  return values;
}

std::vector<double> figures(const Rows& rows, bool folded, Side ProbeRow::*side, double Side::*member) {
  return figures(rows, folded, [&](const ProbeRow& row) { return row.*side.*member; });
}

std::vector<double> errorsOf(const Rows& rows, const protocol::ForcedError* (*of)(const protocol::ProbeSwap&),
                             double protocol::ForcedError::*member) {
  std::vector<double> values;
  for (const ProbeFigures& row : rows) {
    const protocol::ForcedError* error = row.swap ? of(*row.swap) : nullptr;
    values.push_back(error != nullptr && error->error.empty() ? error->*member : kNone);
  }
  return values;
}

bool hasFold(const Rows& rows) {
  return std::ranges::any_of(rows, [](const ProbeFigures& row) { return row.folded.has_value(); });
}

// A level for all of them can be drawn.
bool areOfOneWidth(const Rows& rows) {
  return !rows.empty() &&
         std::ranges::all_of(rows, [&](const ProbeFigures& row) { return row.row.width == rows.front().row.width; });
}

DepthAxis angleAxis(const std::vector<double>& angles, const std::vector<double>& spreads) {
  double farthest = 5;  // degrees on either side of 90, whatever there is
  for (size_t i = 0; i < angles.size(); ++i) {
    if (std::isfinite(angles[i])) farthest = std::max(farthest, std::abs(angles[i] - 90) + spreads[i]);
  }
  const double reach = std::min(90.0, std::ceil(farthest / 5) * 5);
  return {false, 90 - reach, 90 + reach, QStringLiteral("°")};
}

const protocol::ForcedError* asItIs(const protocol::ProbeSwap& swap) { return &swap.as_it_is; }
const protocol::ForcedError* foldedFirst(const protocol::ProbeSwap& swap) {
  return swap.folded ? &*swap.folded : nullptr;
}

}  // namespace

ProbeCharts::ProbeCharts(QWidget* parent) : QWidget(parent) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins({});
  grid->setSpacing(16);
  angles_ = addChart(tr("Angle to the uniform vector"), tr("norm, in execution order · bars: one standard deviation"));
  shares_ = addChart(tr("Energy along the uniform vector"), tr("share of the squared length"));
  lengths_ = addChart(tr("Length of the vectors"), tr("norm, in execution order"));
  errors_ =
      addChart(tr("Output error if a LayerNorm became an RMSNorm"), tr("norm, in execution order · one at a time"));
  grid->addWidget(angles_, 0, 0, 1, 3);
  grid->addWidget(shares_, 0, 3, 1, 2);
  grid->addWidget(lengths_, 1, 0, 1, 2);
  grid->addWidget(errors_, 1, 2, 1, 3);
  for (int column = 0; column < 5; ++column) grid->setColumnStretch(column, 1);
  angles_->setNamesChosen(true);
  makeSwapNote();
}

DepthChart* ProbeCharts::addChart(const QString& title, const QString& caption) {
  auto* chart = new DepthChart(title, caption, this);
  connect(chart, &DepthChart::chosen, this, &ProbeCharts::chosen);
  charts_.push_back(chart);
  return chart;
}

void ProbeCharts::makeSwapNote() {
  note_ = new QWidget(errors_);
  auto* column = makeColumn(note_, 8);
  says_ = describe(makeWords("soft", note_), "probeSwapNote");
  says_->setAlignment(Qt::AlignCenter);
  measure_ = describe(new PushButton(tr("Measure"), PushButton::Look::Outlined, note_), "probeMeasure",
                      tr("Replace one LayerNorm after another and compare the model's outputs."));
  column->addWidget(says_);
  column->addWidget(measure_, 0, Qt::AlignCenter);
  connect(measure_, &PushButton::clicked, this,
          [this] { measuring_ ? Q_EMIT measureUnwanted() : Q_EMIT measureWanted(); });
}

void ProbeCharts::show(const Rows& rows, const ProbeView& view) {
  QStringList names;
  for (const ProbeFigures& row : rows) names << text(row.row.title);
  for (DepthChart* chart : charts_) chart->setNames(names);
  showAngles(rows, view.showsControl);
  showShares(rows, view.showsControl);
  showLengths(rows);
  showErrors(rows, view);
}

void ProbeCharts::showAngles(const Rows& rows, bool showsControl) {
  const bool both = hasFold(rows), oneWidth = areOfOneWidth(rows);
  const auto angles = figures(rows, false, &ProbeRow::input, &Side::angle_deg);
  const auto spreads = figures(rows, false, &ProbeRow::input, &Side::angle_std);
  std::vector<DepthSeries> series{{tr("input"), Way::Marks, Shape::Ring, &Theme::blocked, angles, spreads},
                                  {tr("output"),
                                   Way::Marks,
                                   Shape::Diamond,
                                   &Theme::linearLine,
                                   figures(rows, false, &ProbeRow::output, &Side::angle_deg),
                                   {}}};
  if (both) {
    series.push_back({tr("input, folded"),
                      Way::Marks,
                      Shape::Square,
                      &Theme::streamLine,
                      figures(rows, true, &ProbeRow::input, &Side::angle_deg),
                      {}});
    series.push_back({tr("output, folded"),
                      Way::Marks,
                      Shape::HollowDiamond,
                      &Theme::linearLine,
                      figures(rows, true, &ProbeRow::output, &Side::angle_deg),
                      {}});
  }
  std::vector<DepthBand> bands;
  if (showsControl) {
    const auto mean = figures(rows, false, [](const ProbeRow& row) { return row.random.angle_deg; });
    const auto spread = figures(rows, false, [](const ProbeRow& row) { return row.random.angle_std; });
    series.push_back({tr("random vectors"), Way::Marks, Shape::Square, &Theme::textFaint, mean,
                      oneWidth ? std::vector<double>() : spread});
    const double expected = oneWidth ? rows.front().row.random.expected_std : 0;
    if (oneWidth) bands.push_back({90, expected, tr("expected for random vectors: ± %1°").arg(expected, 0, 'f', 2)});
  }
  angles_->setSeries(std::move(series), angleAxis(angles, spreads), std::move(bands));
}

void ProbeCharts::showShares(const Rows& rows, bool showsControl) {
  const auto share = figures(rows, false, &ProbeRow::input, &Side::mean_share);
  DepthAxis axis = logarithmicAxis({&share});
  axis.unit = QStringLiteral("%");
  std::vector<DepthSeries> series{{tr("input"), Way::Bars, Shape::Square, &Theme::blocked, share, {}}};
  if (hasFold(rows)) {
    const auto folded = figures(rows, true, &ProbeRow::input, &Side::mean_share);
    series.push_back({tr("input, folded"), Way::Marks, Shape::HollowDiamond, &Theme::linearLine, folded, {}});
    axis.low = std::max(axis.low, std::min(kLeastShare, axis.high - 2));
  }
  std::vector<DepthBand> bands;
  if (showsControl && areOfOneWidth(rows)) {
    const auto width = static_cast<double>(rows.front().row.width);
    axis.high = std::max(axis.high, std::ceil(-std::log10(width)));
    axis.low = std::min(axis.low, std::floor(-std::log10(width)));
    bands.push_back({1 / width, 0, tr("random vectors: 1/%1").arg(rows.front().row.width)});
  }
  shares_->setSeries(std::move(series), axis, std::move(bands));
}

void ProbeCharts::showLengths(const Rows& rows) {
  const auto in = figures(rows, false, &ProbeRow::input, &Side::norm);
  const auto out = figures(rows, false, &ProbeRow::output, &Side::norm);
  std::vector<DepthSeries> series{{tr("input"), Way::Line, Shape::Ring, &Theme::blocked, in, {}},
                                  {tr("output"), Way::Line, Shape::HollowDiamond, &Theme::linearLine, out, {}}};
  const auto folded = figures(rows, true, &ProbeRow::input, &Side::norm);
  if (hasFold(rows)) series.push_back({tr("input, folded"), Way::Line, Shape::Square, &Theme::streamLine, folded, {}});
  lengths_->setSeries(std::move(series), logarithmicAxis({&in, &out, &folded}));
}

void ProbeCharts::showErrors(const Rows& rows, const ProbeView& view) {
  using Error = protocol::ForcedError;
  const bool swappable = !view.isFold && std::ranges::any_of(rows, [](const ProbeFigures& row) {
    return row.row.kind == protocol::ProbedKind::LayerNorm;
  });
  errors_->setVisible(swappable || rows.empty());
  measuring_ = view.measuring;
  note_->setVisible(swappable && (measuring_ || view.swaps == nullptr || view.swaps->cancelled));
  says_->setText(measuring_ ? tr("The engine is running the model.")
                            : tr("Many runs: replaces each LayerNorm alone, then all at once."));
  measure_->setText(measuring_ ? tr("Stop") : tr("Measure"));
  placeSwapNote();
  const auto swapped = errorsOf(rows, asItIs, &Error::max_rel), limits = errorsOf(rows, asItIs, &Error::limit);
  const auto folded = errorsOf(rows, foldedFirst, &Error::max_rel);
  std::vector<DepthBand> bands;
  std::vector<double> levels;
  if (view.swaps != nullptr && view.swaps->all && view.swaps->all->error.empty()) {
    const double all = view.swaps->all->max_rel;
    levels.push_back(all);
    bands.push_back({all, 0, tr("all %1 at once: %2").arg(view.swaps->swaps.size()).arg(formatError(all)),
                     &Theme::opaqueLine, true});
  }
  std::vector<DepthSeries> series;
  if (view.swaps != nullptr) {
    series = {{tr("unchanged (simulated)"), Way::Stems, Shape::Disc, &Theme::opaqueLine, swapped, {}},
              {tr("folded first (measured)"), Way::Marks, Shape::HollowDiamond, &Theme::linearLine, folded, {}},
              {tr("6 × rounding noise"), Way::Limit, Shape::Disc, &Theme::textSoft, limits, {}}};
  }
  DepthAxis axis = logarithmicAxis({&swapped, &folded, &limits, &levels});
  constexpr double kRoom = 0.6;  // powers of ten, for the words above the level
  if (!levels.empty() && axis.high - std::log10(levels.front()) < kRoom) axis.high += 1;
  errors_->setSeries(std::move(series), axis, std::move(bands));
}

void ProbeCharts::allowMeasuring(bool allowed) { measure_->setEnabled(measuring_ || allowed); }

void ProbeCharts::showProgress(const QString& words) {
  says_->setText(words);
  placeSwapNote();
}

void ProbeCharts::setChosen(int row) {
  for (DepthChart* chart : charts_) chart->setChosen(row);
}

void ProbeCharts::placeSwapNote() {
  const int wide = std::min(grown(kNoteWidth), std::max(0, errors_->width() - 32));
  note_->setFixedWidth(wide);
  note_->resize(wide, note_->layout()->totalHeightForWidth(wide));  // its words wrap
  note_->move((errors_->width() - wide) / 2, (errors_->height() - note_->height()) / 2);
}

void ProbeCharts::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  placeSwapNote();
}

void ProbeCharts::paintPicture(QPainter& painter) {
  for (DepthChart* chart : charts_) {
    if (!chart->isVisibleTo(this)) continue;
    painter.save();
    painter.translate(chart->pos());
    chart->paint(painter);
    painter.restore();
  }
}

}  // namespace normlens::ui
