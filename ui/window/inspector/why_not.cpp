#include "ui/window/inspector/why_not.h"

#include <QGridLayout>
#include <QPushButton>
#include <QVector>
#include <QWidget>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/models/forced_error_table.h"
#include "ui/session/forced_errors.h"
#include "ui/session/norm_costs.h"
#include "ui/session/session.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/needs_list.h"
#include "ui/widgets/plots/histogram_plot.h"
#include "ui/widgets/property_list.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

// "bf16", where four columns have to fit beside a name.
QString shortType(const std::string& type) {
  QString name = text(type);
  return name.replace(QStringLiteral("bfloat"), QStringLiteral("bf"))
      .replace(QStringLiteral("float"), QStringLiteral("f"));
}

constexpr size_t kBars = 16;  // gamma has few numbers: narrower bars would be 0 or 1 high

std::vector<int64_t> fewBars(const std::vector<int64_t>& bins) {
  const size_t each = std::max<size_t>(1, bins.size() / kBars);
  std::vector<int64_t> bars((bins.size() + each - 1) / each);
  for (size_t i = 0; i < bins.size(); ++i) bars[i / each] += bins[i];
  return bars;
}

QString sizeOf(const Price& price) { return price.isClear() ? formatPrice(price) : WhyNot::tr("no clear difference"); }

QString difference(const NormCost& cost) {
  const Price net = cost.together();
  if (!net.isClear()) return sizeOf(net);
  return (net.us > 0 ? WhyNot::tr("costs %1") : WhyNot::tr("saves %1")).arg(sizeOf(net));
}

}  // namespace

// Shows how much the model's outputs change where one LayerNorm is folded against its verdict: a figure for each
// floating type, with what rounding alone may do beside it. Measured when the user starts it.
class ForcedErrorCard final : public QWidget {
 public:
  // session: not owned
  ForcedErrorCard(Session* session, QWidget* parent)
      : QWidget(parent), session_(session), errors_(session->forcedErrors()) {
    setObjectName(QStringLiteral("forcedErrors"));
    auto* lines = makeColumn(this, 4);
    auto* title = makeRow(nullptr);
    title->addWidget(makeLabel(tr("Error if folded anyway"), "section", this), 1);
    title->addWidget(makeLabel(tr("output, relative"), "soft", this));
    lines->addLayout(title);
    words_ = describe(makeWords("soft", this), "forcedWords");
    lines->addWidget(words_);
    buildTable();
    lines->addWidget(table_);
    missing_ = describe(makeWords("soft", this), "forcedMissing");
    lines->addWidget(missing_);
    auto* row = new QHBoxLayout;
    go_ = addButton(row, "secondary", {}, "showForced", {});
    row->addStretch(1);
    lines->addLayout(row);
    connect(go_, &QPushButton::clicked, this, &ForcedErrorCard::go);
    connect(errors_, &ForcedErrors::changed, this, &ForcedErrorCard::showFigures);
    connect(session_, &Session::jobChanged, this, &ForcedErrorCard::showFigures);
  }

  void showNorm(int norm) {
    norm_ = norm;
    showFigures();
  }
  // Another one is shown: what is being measured for this one stops.
  void leave() {
    const int left = std::exchange(norm_, -1);
    if (errors_->runsFor({left})) errors_->stop();
  }

 private:
  void buildTable() {
    table_ = describe(new QWidget(this), "forcedTable");
    grid_ = new QGridLayout(table_);
    grid_->setContentsMargins(0, 0, 0, 0);
    grid_->setHorizontalSpacing(8);
    grid_->setVerticalSpacing(4);
    grid_->setColumnStretch(0, 1);
    name_ = new ElidedLabel({}, Qt::ElideLeft, table_);
    name_->setProperty("kind", "section");
    grid_->addWidget(name_, 1, 0);
    auto* floor = makeLabel(tr("6 × noise"), "soft", table_);
    floor->setToolTip(
        tr("The proof's limit: six times the change of the outputs when every weight moves by half a unit in the last "
           "place."));
    grid_->addWidget(floor, 2, 0);
    int column = 0;
    for (const std::string& type : ForcedErrors::types()) {
      ++column;
      auto* head = makeLabel(shortType(type), "small", table_);
      head->setToolTip(text(type));
      figures_ << describe(makeLabel({}, "monoStrong", table_), ("forced_" + type).c_str());
      limits_ << makeLabel({}, "mono", table_);
      for (QLabel* label : {head, figures_.back(), limits_.back()})
        label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
      grid_->addWidget(head, 0, column);
      grid_->addWidget(figures_.back(), 1, column);
      grid_->addWidget(limits_.back(), 2, column);
    }
  }
  // Measures, or stops.
  void go() {
    if (errors_->running()) return errors_->stop();
    errors_->start({norm_});
  }
  void showFigures() {
    const protocol::NormInfo* norm = session_->norm(norm_);
    if (norm == nullptr) return;
    const bool running = errors_->running();
    name_->setFullText(shortName(text(norm->title)));
    bool any = false;
    for (qsizetype i = 0; i < figures_.size(); ++i) {
      const protocol::ForcedError* error = errors_->at(norm_, ForcedErrors::types()[static_cast<size_t>(i)]);
      const bool there = error != nullptr && error->error.empty();
      any = any || error != nullptr;
      figures_[i]->setText(there ? formatError(error->max_rel) : error != nullptr ? QStringLiteral("–") : QString());
      setKind(figures_[i], there && error->max_rel > error->limit ? "monoBad" : "monoStrong");
      figures_[i]->setToolTip(error == nullptr ? QString()
                              : !there         ? asSentence(text(error->error))
                                               : forcedErrorTip(*error, folds(norm->verdict)));
      limits_[i]->setText(there ? formatError(error->limit) : QString());
    }
    table_->setVisible(any);
    missing_->setText(missingFigures(*errors_, norm_));
    missing_->setVisible(!missing_->text().isEmpty());
    const QString obstacle = errors_->obstacle();
    words_->setText(running                         ? errors_->stage()
                    : !errors_->problem().isEmpty() ? errors_->problem()
                    : any                           ? QString()
                    : obstacle.isEmpty()
                        ? tr("Folds this LayerNorm alone, leaves the others unchanged, and runs both models.")
                        : obstacle);
    words_->setVisible(!words_->text().isEmpty());
    go_->setVisible(running || !errors_->has(norm_));
    go_->setEnabled(running || obstacle.isEmpty());
    go_->setText(running ? tr("Stop") : tr("Show the error if folded anyway"));
    go_->setToolTip(running ? tr("Stop; the results so far are kept.")
                            : tr("Measure in four floating-point types what folding it despite the verdict changes."));
  }

  Session* session_;      // Not owned.
  ForcedErrors* errors_;  // Not owned: of the session.
  int norm_ = -1;
  QLabel* words_;
  QWidget* table_;
  QLabel* missing_;  // why figures are not there
  QGridLayout* grid_;
  ElidedLabel* name_;
  QVector<QLabel*> figures_, limits_;  // by type
  QPushButton* go_;
};

WhyNot::WhyNot(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), numbers_(session->engine(), this) {
  auto* column = makeColumn(this, 8);
  why_ = new QWidget(this);
  auto* lines = makeColumn(why_, 4);
  count_ = describe(addSection(lines, makeLabel(tr("Why not?"), "section", why_)), "pathCount");
  paths_ = describe(new NeedsList(why_), "paths");
  lines->addWidget(paths_);
  column->addWidget(why_);
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
  costsNote_ = addSection(lines, makeLabel(tr("Own centering"), "section", costs_));
  costsNote_->setObjectName(QStringLiteral("costsNote"));
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
  // The price holds under every plan; why it stays a LayerNorm does not, nor what a fold without more would do.
  const bool blocked = norm->verdict == Verdict::Blocked;
  const bool stays = blocked && !session_->folds(norm_), again = stays && why_->isHidden();
  why_->setVisible(stays);
  if (!stays) gamma_->hide();
  if (again) askGamma();
  errors_->setVisible(blocked && !session_->planMark(norm_).folded());
  QVector<Need> paths;
  if (norm->blocker) {
    const int node = norm->blocker->node;
    paths.push_back({u'O', session_->index().nodeTitle(node), {}, text(norm->blocker->reason), Need::State::Bad, node});
    paths.back().decides = true;
  }
  const auto& graph = session_->selection()->zeroMean();
  for (const auto& vertex : graph && graph->norm == norm_ ? graph->vertices : std::vector<protocol::ZeroMeanVertex>()) {
    const bool centers = vertex.vertex_class == NodeClass::Linear;
    if ((!centers && vertex.vertex_class != NodeClass::Opaque) || (norm->blocker && vertex.node == norm->blocker->node))
      continue;
    paths.push_back({centers ? u'L' : u'O',
                     session_->index().nodeTitle(vertex.node),
                     {},
                     centers ? tr("can be centered") : text(vertex.note),
                     centers ? Need::State::Done : Need::State::Bad,
                     vertex.node});
  }
  for (Need& path : paths) path.leads = true;
  std::ranges::stable_sort(paths, {}, [](const Need& path) { return path.state == Need::State::Done; });
  const auto done = std::ranges::count(paths, Need::State::Done, &Need::state);
  count_->setText(tr("centerable paths: %1 of %2").arg(done).arg(paths.size()));
  const bool known = graph && graph->norm == norm_;
  count_->setVisible(known && !paths.isEmpty());
  paths_->setNeeds(paths);
  // The costs, which take a while to measure, are requested last, after what is to be seen at once.
  if (known) session_->costs()->want();
}

void WhyNot::askGamma() {
  const protocol::NormInfo* norm = session_->norm(norm_);
  gamma_->hide();
  if (why_->isHidden() || norm == nullptr || !norm->blocker || norm->blocker->gamma < 0) return;
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
  histogram_->setAim(stats.before.mean, tr("would fold if all γ were equal"));
  gamma_->show();
}

void WhyNot::showCosts() {
  if (!isShown()) return;
  costs_->setVisible(session_->inputOfNorm(norm_) >= 0);
  const auto cost = session_->costs()->of(norm_);
  const QString problem = session_->costs()->problem(norm_);
  costsNote_->setText(cost                ? tr("on %1, 95% intervals").arg(session_->costs()->device())
                      : problem.isEmpty() ? tr("not measured yet")
                                          : QString());
  if (!cost) {
    const QString unknown = QStringLiteral("–");
    return costList_->setProperties({{tr("saves"), unknown, problem}, {tr("costs"), unknown, problem}});
  }
  QVector<Property> lines{{cost->saves.us < 0 ? tr("fold costs") : tr("saves"), sizeOf(cost->saves),
                           tr("How much longer a LayerNorm takes than an RMSNorm; shorter where tensors are small.")},
                          {tr("costs"), sizeOf(cost->centers), tr("The time to subtract the mean of its input.")},
                          {tr("net per run"), difference(*cost),
                           tr("Measured over one tensor of the norm's size. A whole run may differ."), true}};
  if (cost->together().us < 0) {
    lines.push_back(
        {tr("the plan uses"), tr("element counts, not times"),
         tr("The plan uses element counts, not times. “Suggest best” plans by times measured on this machine.")});
  }
  costList_->setProperties(lines);
}

}  // namespace normlens::ui
