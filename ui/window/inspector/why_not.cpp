#include "ui/window/inspector/why_not.h"

#include <QLabel>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/session/norm_costs.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/needs_list.h"
#include "ui/widgets/plots/histogram_plot.h"
#include "ui/widgets/property_list.h"
#include "ui/window/inspector/forced_error_card.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr size_t kBars = 16;  // gamma has few numbers: narrower bars would be 0 or 1 high

std::vector<int64_t> fewBars(const std::vector<int64_t>& bins) {
  const size_t each = std::max<size_t>(1, bins.size() / kBars);
  std::vector<int64_t> bars((bins.size() + each - 1) / each);
  for (size_t i = 0; i < bins.size(); ++i) bars[i / each] += bins[i];
  return bars;
}

QString difference(const NormCost& cost) {
  if (cost.together() == 0) return WhyNot::tr("as fast");
  const QString size = formatMicroseconds(std::abs(cost.together()));
  return cost.together() > 0 ? WhyNot::tr("%1 slower").arg(size) : WhyNot::tr("%1 faster").arg(size);
}

}  // namespace

WhyNot::WhyNot(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), numbers_(session->engine(), this) {
  auto* column = makeColumn(this, 8);
  auto* why = new QWidget(this);
  auto* lines = makeColumn(why, 4);
  count_ = describe(addSection(lines, makeLabel(tr("Why not?"), "section", why)), "pathCount");
  paths_ = describe(new NeedsList(why), "paths");
  lines->addWidget(paths_);
  column->addWidget(why);
  column->addWidget(makeGamma());
  column->addWidget(makeCosts());
  errors_ = new ForcedErrorCard(session, this);
  column->addWidget(errors_);
  connect(paths_, &NeedsList::activated, this, [this](int node) {
    paths_->setCurrent(node);
    Q_EMIT nodeWanted(node);
  });
  connect(session_->costs(), &NormCosts::changed, this, &WhyNot::showCosts);
  connect(session_->selection(), &GraphSelection::zeroMeanChanged, this, &WhyNot::showPaths);
}

QWidget* WhyNot::makeGamma() {
  gamma_ = describe(new QWidget(this), "blockerGamma");
  auto* lines = makeColumn(gamma_, 4);
  gammaTitle_ = describe(new ElidedLabel({}, Qt::ElideMiddle, gamma_), "gammaTitle");
  gammaTitle_->setProperty("kind", "section");
  gammaCount_ = addSection(lines, gammaTitle_);
  histogram_ = new HistogramPlot(gamma_);
  lines->addWidget(histogram_);
  return gamma_;
}

QWidget* WhyNot::makeCosts() {
  costs_ = describe(new QWidget(this), "ownCentering");
  auto* lines = makeColumn(costs_, 4);
  costsNote_ = addSection(lines, makeLabel(tr("Its own centering"), "section", costs_));
  costList_ = describe(new PropertyList(costs_), "costs");
  lines->addWidget(costList_);
  return costs_;
}

void WhyNot::leave() {
  norm_ = -1;
  numbers_.drop();
  session_->costs()->giveWay();
  errors_->leave();
}

void WhyNot::showNorm(int norm) {
  if (norm == norm_) return showPaths();
  leave();
  norm_ = norm;
  showPaths();
  askGamma();
  showCosts();
  errors_->showNorm(norm);
}

// The blocker first: it alone is in the way, whatever becomes of the others.
void WhyNot::showPaths() {
  const protocol::NormInfo* norm = session_->norm(norm_);
  if (norm == nullptr) return;
  QVector<Need> paths;
  if (norm->blocker) {
    const int node = norm->blocker->node;
    paths.push_back({u'O', session_->index().nodeTitle(node), {}, text(norm->blocker->reason), Need::State::Bad, node});
    paths.back().decides = true;
  }
  const auto& graph = session_->selection()->zeroMean();
  for (const auto& vertex : graph && graph->norm == norm_ ? graph->vertices : std::vector<protocol::ZeroMeanVertex>()) {
    const bool centers = vertex.vertex_class == "L";
    if ((!centers && vertex.vertex_class != "O") || (norm->blocker && vertex.node == norm->blocker->node)) continue;
    paths.push_back({centers ? u'L' : u'O',
                     session_->index().nodeTitle(vertex.node),
                     {},
                     centers ? tr("can center") : text(vertex.note),
                     centers ? Need::State::Done : Need::State::Bad,
                     vertex.node});
  }
  for (Need& path : paths) path.leads = true;
  std::ranges::stable_sort(paths, {}, [](const Need& path) { return path.state == Need::State::Done; });
  const auto done = std::ranges::count(paths, Need::State::Done, &Need::state);
  count_->setText(tr("paths to it: %1 of %2 can center").arg(done).arg(paths.size()));
  const bool known = graph && graph->norm == norm_;
  count_->setVisible(known && !paths.isEmpty());
  paths_->setNeeds(paths);
  // The costs, which take a while to measure, are requested last, after what is to be seen at once.
  if (known) session_->costs()->want();
}

void WhyNot::askGamma() {
  const protocol::NormInfo* norm = session_->norm(norm_);
  gamma_->hide();
  if (norm == nullptr || !norm->blocker || norm->blocker->gamma < 0) return;
  session_->requestTensorStats(norm->blocker->gamma, numbers_, [this](const Reply<protocol::TensorStats>& reply) {
    if (reply) showGamma(*reply);
  });
}

void WhyNot::showGamma(const protocol::TensorStats& stats) {
  const protocol::NormInfo* norm = session_->norm(norm_);
  if (norm == nullptr || stats.before.histogram.empty()) return;
  const QString name = session_->index().nodeTitle(norm->blocker->node);
  int64_t count = 1;
  for (const int64_t size : stats.shape) count *= size;
  gammaTitle_->setFullText(tr("γ of %1").arg(name));
  gammaCount_->setText(tr("%1 values").arg(formatCount(count)));
  histogram_->setBins(fewBars(stats.before.histogram), stats.low, stats.high);
  histogram_->setAim(stats.before.mean, tr("equal values would fold"));
  gamma_->show();
}

void WhyNot::showCosts() {
  if (!isShown()) return;
  costs_->setVisible(session_->inputOfNorm(norm_) >= 0);
  const auto cost = session_->costs()->of(norm_);
  const QString problem = session_->costs()->problem(norm_);
  costsNote_->setText(cost ? tr("estimates, each run") : problem.isEmpty() ? tr("not measured yet") : QString());
  if (!cost) {
    const QString unknown = QStringLiteral("–");
    return costList_->setProperties(
        {{tr("folding it saves"), unknown, problem}, {tr("a centering costs"), unknown, problem}});
  }
  QVector<Property> lines{
      {cost->saves < 0 ? tr("folding it costs") : tr("folding it saves"), formatMicroseconds(std::abs(cost->saves)),
       tr("What a LayerNorm takes more than an RMSNorm, or less where tensors are small.")},
      {tr("a centering costs"), formatMicroseconds(cost->centers), tr("Subtracting the mean of what it reads.")},
      {tr("together"), difference(*cost),
       tr("Measured where the model runs, over one tensor of the norm's size; a whole run may differ."), true}};
  if (cost->together() < 0) {
    lines.push_back({tr("the plan counts"), tr("elements, not time"),
                     tr("The verdict holds on every machine. 'Suggest best' plans by times measured on this one.")});
  }
  costList_->setProperties(lines);
}

}  // namespace normlens::ui
