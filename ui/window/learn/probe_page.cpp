#include "ui/window/learn/probe_page.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QScrollArea>
#include <QSpinBox>
#include <QTableView>
#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/learn/depth_chart.h"
#include "ui/models/probe_table.h"
#include "ui/models/table_text.h"
#include "ui/session/probe_run.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/push_button.h"
#include "ui/widgets/segmented.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/parts.h"

namespace normlens::ui {
namespace {

constexpr int kSide = 280, kRow = 28, kTable = 200;
constexpr int kMostSeed = 999'999;

using Side = protocol::SideAngles;

std::vector<double> figuresOf(const std::vector<protocol::ProbeRow>& rows, Side protocol::ProbeRow::*side,
                              double Side::*figure) {
  std::vector<double> values;
  for (const auto& row : rows)
    values.push_back(row.reason.empty() ? row.*side.*figure : std::numeric_limits<double>::quiet_NaN());
  return values;
}

DepthAxis angleAxis(const std::vector<double>& angles, const std::vector<double>& spreads) {
  double farthest = 5;  // degrees on either side of 90, whatever there is
  for (size_t i = 0; i < angles.size(); ++i) {
    if (std::isfinite(angles[i])) farthest = std::max(farthest, std::abs(angles[i] - 90) + spreads[i]);
  }
  const double reach = std::min(90.0, std::ceil(farthest / 5) * 5);
  return {false, 90 - reach, 90 + reach, QStringLiteral("°")};
}

}  // namespace

ProbePage::ProbePage(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      probe_(session->probe()),
      table_(new ProbeTable(this)),
      bar_(new LearnBar(LearnPageKind::Probe, this)) {
  setObjectName(QStringLiteral("probePage"));
  setFocusPolicy(Qt::StrongFocus);
  auto* column = makeColumn(this);
  column->addWidget(bar_);
  auto* body = makeRow(nullptr);
  body->addWidget(makeSide());
  body->addWidget(makeFigures(), 1);
  column->addLayout(body, 1);
  connect(bar_, &LearnBar::closed, this, &ProbePage::closed);
  connect(bar_, &LearnBar::pageWanted, this, &ProbePage::pageWanted);
  connect(probe_, &ProbeRun::changed, this, [this] {
    table_->show(probe_->result() ? probe_->result()->rows : std::vector<protocol::ProbeRow>());
    showCharts();
    refresh();
  });
  connect(session_, &Session::foldChanged, this, &ProbePage::refresh);
  connect(session_, &Session::jobChanged, this, &ProbePage::refresh);
  connect(session_, &Session::modelChanged, this, &ProbePage::refresh);
  refresh();
}

QWidget* ProbePage::makeSide() {
  auto* side = describe(new QFrame(this), "lessonColumn");
  setTextWidth(side, kSide);
  auto* column = makeColumn(side);
  auto* area = new QScrollArea(side);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  auto* inside = new QWidget(area);
  auto* words = makeColumn(inside, 8, {20, 18, 20, 16});
  words->addWidget(makeLabel(tr("Geometry probe"), "title", inside));
  words->addWidget(makeWords(
      "soft", inside, tr("How much of each norm's input lies along the uniform vector, and would anyone miss it?")));
  words->addSpacing(8);
  words->addWidget(makeLabel(tr("Model"), "soft", inside));
  model_ = describe(
      new Segmented({{tr("As opened"), tr("The open model.")}, {tr("Folded"), tr("What the last Fold made of it.")}},
                    inside),
      "probeModel");
  words->addWidget(model_);
  words->addSpacing(8);
  words->addWidget(makeLabel(tr("Seed of the random vectors"), "soft", inside));
  seed_ = describe(new QSpinBox(inside), "probeSeed", tr("Of the control: the same vectors for all norms of a width."),
                   tr("Seed"));
  seed_->setRange(0, kMostSeed);
  seed_->setButtonSymbols(QAbstractSpinBox::NoButtons);
  seed_->setValue(static_cast<int>(protocol::ProbeParams().seed));
  words->addWidget(seed_);
  words->addSpacing(12);
  words->addWidget(makeLine(Qt::Horizontal, inside));
  words->addWidget(makeLabel(tr("What it says"), "section", inside));
  says_ = describe(makeWords("fact", inside), "probeSays");
  words->addWidget(says_);
  words->addStretch();
  area->setWidget(inside);
  column->addWidget(area, 1);
  QFrame* foot = makeBar(QStringLiteral("lessonsFoot"), 56, side);
  layoutOf(foot)->setContentsMargins(20, 0, 20, 0);
  run_ = describe(new PushButton(tr("Run again"), PushButton::Look::Filled, foot), "probeRun");
  csv_ = describe(new PushButton(tr("CSV"), PushButton::Look::Outlined, foot), "probeCsv", tr("Save the table."));
  layoutOf(foot)->addWidget(run_);
  layoutOf(foot)->addWidget(csv_);
  layoutOf(foot)->addStretch();
  column->addWidget(foot);
  connect(model_, &Segmented::chosen, this, &ProbePage::run);
  connect(run_, &PushButton::clicked, this, [this] { probe_->running() ? probe_->stop() : run(); });
  connect(csv_, &PushButton::clicked, this, &ProbePage::saveCsv);
  return side;
}

DepthChart* ProbePage::addChart(const QString& title, const QString& caption) {
  auto* chart = new DepthChart(title, caption, this);
  connect(chart, &DepthChart::chosen, this, &ProbePage::choose);
  charts_.push_back(chart);
  return chart;
}

QWidget* ProbePage::makeFigures() {
  auto* area = new QScrollArea(this);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  auto* ground = describe(new QWidget(area), "figureGround");
  auto* grid = new QGridLayout(ground);
  grid->setContentsMargins(16, 16, 16, 16);
  grid->setSpacing(16);
  angles_ = addChart(tr("Angle to the uniform vector"), tr("norm, in order of use · bars: one standard deviation"));
  shares_ = addChart(tr("Energy along the uniform vector"), tr("share of the squared length"));
  lengths_ = addChart(tr("Length of the vectors"), tr("norm, in order of use"));
  errors_ = addChart(tr("If this norm became RMSNorm as it is"), tr("mean relative error of its own output"));
  grid->addWidget(angles_, 0, 0);
  grid->addWidget(shares_, 0, 1);
  grid->addWidget(lengths_, 1, 0);
  grid->addWidget(errors_, 1, 1);
  view_ = makeTable("probeTable", tr("Norms of the probe"), kRow, table_, this);
  view_->setItemDelegate(new FigureDelegate(0, view_));
  view_->horizontalHeader()->setStretchLastSection(true);
  view_->setMinimumHeight(grown(kTable));
  setColumnWidths(view_, {{0, 150}, {1, 80}, {2, 100}, {3, 100}, {4, 100}, {5, 90}, {6, 100}, {7, 110}, {8, 110}});
  grid->addWidget(view_, 2, 0, 1, 2);
  grid->setRowStretch(0, 1);
  grid->setRowStretch(1, 1);
  grid->setColumnStretch(0, 3);
  grid->setColumnStretch(1, 2);
  area->setWidget(ground);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& at) { choose(at.row()); });
  return area;
}

void ProbePage::run() { probe_->start({.folded = model_->current() == 1, .seed = seed_->value()}); }

void ProbePage::refresh() {
  bar_->setModelName(QFileInfo(session_->path()).fileName());
  const bool folded = session_->foldResult().has_value();
  if (!folded) model_->setCurrent(0);
  model_->setEnabled(folded);
  const QString obstacle = probe_->obstacle();
  run_->setText(probe_->running() ? tr("Stop") : probe_->result() ? tr("Run again") : tr("Run"));
  run_->setEnabled(probe_->running() || obstacle.isEmpty());
  csv_->setEnabled(probe_->result().has_value());
  const QString words = probe_->running()              ? tr("The engine runs the model and looks at each norm.")
                        : !probe_->problem().isEmpty() ? probe_->problem()
                        : probe_->result()             ? probeFindings(*probe_->result()).join(QStringLiteral("\n\n"))
                                                       : obstacle;
  says_->setText(words);
}

void ProbePage::showCharts() {
  const auto& rows = table_->rows();
  QStringList names;
  for (const auto& row : rows) names << text(row.title);
  for (DepthChart* chart : charts_) chart->setNames(names);
  using Row = protocol::ProbeRow;
  using Shape = SceneMark::Shape;
  using Way = DepthSeries::Way;
  const auto in = [&](double Side::*figure) { return figuresOf(rows, &Row::input, figure); };
  const auto out = [&](double Side::*figure) { return figuresOf(rows, &Row::output, figure); };
  const auto angles = in(&Side::angle_deg), spreads = in(&Side::angle_std);
  std::optional<DepthBand> band;
  if (!rows.empty() && std::isfinite(rows.back().random.angle_std))
    band = DepthBand{90, rows.back().random.angle_std,
                     tr("random vectors, ± %1°").arg(rows.back().random.angle_std, 0, 'f', 2)};
  angles_->setSeries({{tr("input"), Way::Marks, Shape::Ring, &Theme::blocked, angles, spreads},
                      {tr("output"), Way::Marks, Shape::Diamond, &Theme::linearLine, out(&Side::angle_deg), {}}},
                     angleAxis(angles, spreads), band);
  const auto share = in(&Side::mean_share);
  DepthAxis shareAxis = logarithmicAxis({&share});
  shareAxis.unit = QStringLiteral("%");
  shares_->setSeries({{tr("input"), Way::Bars, Shape::Square, &Theme::blocked, share, {}}}, shareAxis);
  const auto lengthIn = in(&Side::norm), lengthOut = out(&Side::norm);
  lengths_->setSeries({{tr("input"), Way::Line, Shape::Ring, &Theme::blocked, lengthIn, {}},
                       {tr("output"), Way::Line, Shape::HollowDiamond, &Theme::linearLine, lengthOut, {}}},
                      logarithmicAxis({&lengthIn, &lengthOut}));
  std::vector<double> swaps;
  for (const Row& row : rows) swaps.push_back(row.swap ? row.swap->mean_rel : std::numeric_limits<double>::quiet_NaN());
  errors_->setSeries({{tr("simulated"), Way::Marks, Shape::Disc, &Theme::blocked, swaps, {}}},
                     logarithmicAxis({&swaps}), DepthBand{kHardlyNoticed, 0, tr("hardly noticed below")});
}

void ProbePage::choose(int row) {
  for (DepthChart* chart : charts_) chart->setChosen(row);
  if (row >= 0 && row != view_->currentIndex().row()) showRow(view_, table_->index(row, 0));
}

void ProbePage::saveCsv() {
  const FileQuestion question{QStringLiteral("probeDialog"),
                              tr("Save the probe"),
                              {tr("Tables (*.csv)")},
                              folderOf(session_->path()),
                              QFileInfo(session_->path()).completeBaseName() + QStringLiteral(".probe")};
  askForFile(this, question, [this](const QString& path) {
    if (!writeFile(path, tableText(*table_, allRows(*table_), TableFormat::Csv).toUtf8()))
      says_->setText(tr("%1 could not be written.").arg(path));
  });
}

void ProbePage::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Escape) return QWidget::keyPressEvent(event);
  if (probe_->running()) return probe_->stop();
  Q_EMIT closed();
}

void ProbePage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!probe_->result() && !probe_->running()) run();
}

}  // namespace normlens::ui
