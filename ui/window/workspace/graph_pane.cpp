#include "ui/window/workspace/graph_pane.h"

#include <QFileInfo>
#include <QPainter>
#include <QToolButton>
#include <algorithm>
#include <cmath>
#include <memory>

#include "core/protocol/methods.h"
#include "ui/client/on_worker.h"
#include "ui/graphview/box_style.h"
#include "ui/graphview/compare/graph_diff.h"
#include "ui/graphview/graph_view.h"
#include "ui/graphview/paint/picture_job.h"
#include "ui/session/norm_costs.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/lesson_link.h"
#include "ui/widgets/plots/picture_file.h"
#include "ui/widgets/room_steps.h"
#include "ui/widgets/segmented.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/graph_actions.h"
#include "ui/window/writing_bar.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

enum Mode { ZeroMean, Tensors, Types, Cost };

// "γ from 0.347 to 1.69": more than its short reason, where it is a norm.
QString blockerReason(const Session& session, const protocol::NormInfo& blocked) {
  if (!blocked.blocker) return {};
  const protocol::GraphNode* node = session.index().node(blocked.blocker->node);
  const protocol::NormInfo* norm = node != nullptr ? session.norm(node->norm) : nullptr;
  if (blocked.blocker->gamma < 0 || norm == nullptr) return text(blocked.blocker->reason);
  return GraphPane::tr("γ from %1 to %2").arg(formatNumber(norm->gamma_min, 3), formatNumber(norm->gamma_max, 3));
}

// Norms are called in the graph what lists call them, below the module that they are drawn in.
layout::NodeTitles titlesOfNorms(const Session& session) {
  layout::NodeTitles titles;
  for (const protocol::NormInfo& norm : session.analysis()->norms) {
    const protocol::GraphNode* node = session.index().node(norm.node);
    if (node == nullptr) continue;
    const protocol::GraphScope* module = session.index().scope(node->scope);
    const std::string path = module != nullptr ? module->path : std::string();
    if (norm.title != path) {
      titles[node->id] = norm.title.substr(norm.title.starts_with(path + ".") ? path.size() + 1 : 0);
    } else if (norm.form == NormForm::Decomposed) {
      titles[node->id] = "LayerNorm";
    }
  }
  return titles;
}

IconButton* addButton(QFrame* bar, const QString& icon, QAction* action) {
  auto* button = new IconButton(icon, {}, action->toolTip(), bar);
  button->setIconExtent(14);
  followAction(button, action);
  layoutOf(bar)->addWidget(button);
  return button;
}

}  // namespace

// Writes pictures of the graph, one at a time, and shows how far it is.
class PictureBar final : public WritingBar {
  Q_OBJECT

 public:
  explicit PictureBar(QWidget* parent) : WritingBar(parent) {
    connect(this, &WritingBar::stopWanted, this, [this] {
      if (job_) job_->cancel();
    });
  }
  ~PictureBar() override = default;

  // Stops the one before.
  void start(graphview::PictureOrder order) {
    begin(tr("Writing %1").arg(QFileInfo(order.path).fileName()));
    job_ = std::make_unique<graphview::PictureJob>(std::move(order));
    connect(job_.get(), &graphview::PictureJob::progressed, this, &PictureBar::progress);
    connect(job_.get(), &graphview::PictureJob::finished, this, [this](const QStringList& files) {
      end(true, files.size() == 1 ? tr("Wrote %1.").arg(files.first())
                                  : tr("Wrote %n tiles, the first of them %1.", nullptr, static_cast<int>(files.size()))
                                        .arg(files.first()));
    });
    connect(job_.get(), &graphview::PictureJob::failed, this, [this](const QString& message) { end(false, message); });
  }

 Q_SIGNALS:
  void done(bool written, const QString& message);  // message: a sentence, empty when it was stopped

 private:
  void end(bool written, const QString& message) {
    hide();
    // Not from inside the job's own signal.
    QMetaObject::invokeMethod(
        this,
        [this, finished = job_.get()] {
          if (job_.get() == finished) job_.reset();
        },
        Qt::QueuedConnection);
    Q_EMIT done(written, message);
  }

  std::unique_ptr<graphview::PictureJob> job_;
};

// What the colors of times mean, in a strip below the graph, where it covers nothing: a title, and a line with the
// scale, where there is one.
class CostLegend final : public QFrame {
 public:
  explicit CostLegend(QWidget* parent) : QFrame(parent), ramp_(new Ramp(this)) {
    auto* lines = makeColumn(this, 2, {12, 6, 12, 6});
    lines->addWidget(title_ = makeWords("strong", this));
    both_ = makeRow(nullptr, 8, {});
    auto* scale = makeRow(nullptr, 8, {});
    for (QWidget* part : std::initializer_list<QWidget*>{least_ = makeLabel({}, "soft", this), ramp_,
                         most_ = makeLabel({}, "soft", this)})
      scale->addWidget(part);
    both_->addLayout(scale);
    both_->addWidget(words_ = makeWords("soft", this), 1);
    lines->addLayout(both_);
    hide();
  }

  // darkest: milliseconds of the darkest color; 0: there are no colors.
  void show(const QString& title, const QString& words, double darkest = 0) {
    title_->setText(title);
    words_->setText(words);
    least_->setText(tr("Color: %1 or less").arg(formatMilliseconds(darkest / std::pow(10, graphview::Heat::kPowers))));
    most_->setText(tr("%1, logarithmic.").arg(formatMilliseconds(darkest)));
    scaled_ = darkest > 0;
    fit();
    QFrame::show();
  }

 protected:
  // The words are below the scale where they would be a narrow column beside it.
  void resizeEvent(QResizeEvent* event) override {
    QFrame::resizeEvent(event);
    fit();
  }

 private:
  static constexpr int kBeside = 600, kLeast = 320;

  // Where there is hardly room for the title, the tooltip has the rest.
  void fit() {
    both_->setDirection(width() < grown(kBeside) ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    const bool room = width() >= grown(kLeast);
    for (QWidget* scale : std::initializer_list<QWidget*>{least_, ramp_, most_}) scale->setVisible(room && scaled_);
    words_->setVisible(room);
    setToolTip(room ? QString() : words_->text());
  }

  class Ramp final : public QWidget {
   public:
    explicit Ramp(QWidget* parent) : QWidget(parent) {
      setFixedHeight(12);
      setMinimumWidth(4 * graphview::Heat::kLevels);
      setMaximumWidth(12 * graphview::Heat::kLevels);
    }

   protected:
    void paintEvent(QPaintEvent*) override {
      QPainter painter(this);
      const double step = static_cast<double>(width()) / graphview::Heat::kLevels;
      for (int level = 1; level <= graphview::Heat::kLevels; ++level)
        painter.fillRect(QRectF(step * (level - 1), 0, step, 12), graphview::heatColor(level, themeOf(this)));
    }
  };

  bool scaled_ = false;  // there are colors
  QBoxLayout* both_;
  QLabel *title_, *words_, *least_, *most_;
  Ramp* ramp_;
};

// A card with a title and a line at the bottom left of what it lies over; it takes no clicks.
class HintCard final : public QFrame {
 public:
  // The parent.
  explicit HintCard(QWidget* over) : QFrame(over) {
    setKind(this, "card");
    setAttribute(Qt::WA_TransparentForMouseEvents);
    auto* lines = makeColumn(this, 3, {14, 10, 14, 10});
    title_ = makeLabel({}, "section", this);
    words_ = makeLabel({}, "soft", this);
    for (QLabel* line : {title_, words_}) {
      line->setWordWrap(true);
      lines->addWidget(line);
    }
    hide();
  }

  void show(const QString& title, const QString& words) {
    title_->setText(title);
    words_->setText(words);
    place();
    QFrame::show();
    raise();
  }
  // At the lower left of what it is over; where that is too low, the title alone.
  void place() {
    constexpr int kMargin = 16, kWidest = 520;
    const QWidget* over = parentWidget();
    const int width = qMin(kWidest, over->width() - 2 * kMargin);
    const auto height = [&](bool all) {
      words_->setVisible(all);
      layout()->invalidate();
      return layout()->hasHeightForWidth() ? layout()->totalHeightForWidth(width) : sizeHint().height();
    };
    int needed = height(true);
    if (needed > over->height() - 2 * kMargin) needed = height(false);
    setGeometry(kMargin, over->height() - needed - kMargin, width, needed);
  }

 private:
  QLabel *title_, *words_;
};

GraphPane::GraphPane(Session* session, QWidget* parent)
    : QFrame(parent),
      session_(session),
      map_(session->engine(), this),
      foldedGraph_(session->engine(), this),
      view_(new graphview::GraphView(this)) {
  actions_ = new GraphActions(view_, this);
  linkLesson(this, "zero_mean_graph");
  auto* layout = makeColumn(this);
  layout->addWidget(makeHeader());
  pictures_ = new PictureBar(this);
  layout->addWidget(pictures_);
  describe(view_, "graph", {}, tr("Graph of the model"));
  hint_ = describe(new HintCard(view_), "planHint", {}, tr("What goes with the edit"));
  layout->addWidget(view_, 1);
  legend_ = describe(new CostLegend(this), "costLegend", {}, tr("What the colors of times mean"));
  layout->addWidget(legend_);
  connectView();
  connectSession();
}

QFrame* GraphPane::makeHeader() {
  QFrame* bar = makeBar(QStringLiteral("crumbBar"), 36, this);
  layoutOf(bar)->setContentsMargins(11, 0, 12, 0);
  IconButton* const history[] = {addButton(bar, QStringLiteral("chevron_left"), actions_->back),
                                 addButton(bar, QStringLiteral("chevron_right"), actions_->forward)};
  crumbs_ = new QFrame(bar);
  crumbs_->setAccessibleName(tr("Position in the model"));
  crumbs_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  setTextWidthAtLeast(crumbs_, 110);
  crumbLayout_ = makeRow(crumbs_, 1);
  crumbRoom_ = new RoomSteps(crumbs_);
  layoutOf(bar)->addWidget(crumbs_, 1);
  after_ = describe(
      new Segmented({{tr("Before"), tr("The original model (B).")},
                     {tr("After"),
                      tr("The model after the plan: RMSNorms, rewritten weights, means subtracted at run time (B).")}},
                    bar),
      "beforeAfter", {}, tr("Before or after the plan"));
  layoutOf(bar)->addWidget(after_);
  layoutOf(bar)->addSpacing(8);
  mode_ = new Segmented(
      {{tr("Zero-mean"), tr("Highlight what decides the selected norm, dim the rest.")},
       {tr("All tensors"), tr("Show for every tensor whether it is zero-mean now, after the plan, or not.")},
       {tr("Types"), tr("Color every node by its class, with its letter.")},
       {tr("Cost"), tr("Color every node by its measured time, before or after the plan.")}},
      bar);
  describe(mode_, "graphMode", {}, tr("What the graph shows"));
  layoutOf(bar)->addWidget(mode_);
  auto* options =
      describe(new IconButton(QStringLiteral("view"), {}, tr("Choose how the graph is shown."), bar), "graphOptions");
  options->setMenu(actions_->menu);
  options->setPopupMode(QToolButton::InstantPopup);
  layoutOf(bar)->addSpacing(4);
  layoutOf(bar)->addWidget(options);
  makeRoomIn(bar, {history[0], history[1]});
  return bar;
}

void GraphPane::connectView() {
  connect(actions_, &GraphActions::pictureWanted, this, &GraphPane::askForPicture);
  connect(pictures_, &PictureBar::done, this, [this](bool written, const QString& message) {
    if (!message.isEmpty()) Q_EMIT reported(message);
    Q_EMIT pictureDone(written);
  });
  connect(mode_, &Segmented::chosen, this, &GraphPane::showMode);
  connect(after_, &Segmented::chosen, this, [this](int index) { showAfter(index == 1); });
  connect(actions_->beforeAfter, &QAction::triggered, this, [this] { showAfter(after_->current() == 0); });
  connect(view_, &graphview::GraphView::shiftConeRequested, this, &GraphPane::requestCone);
  connect(view_, &graphview::GraphView::nodeSelected, this, [this](int node) {
    if (node >= 0) {
      session_->selection()->selectNode(node);
    } else {
      session_->selection()->clear();
      if (coneShown_) showZeroMean();
    }
  });
  connect(view_, &graphview::GraphView::blockerRequested, this, &GraphPane::goToBlocker);
  connect(actions_->goToBlocker, &QAction::triggered, this, &GraphPane::goToBlocker);
  connect(view_, &graphview::GraphView::edgeSelected, session_->selection(), &GraphSelection::selectValue);
  connect(view_, &graphview::GraphView::scopeSelected, this, [this](int scope) {
    session_->selection()->selectGroup(scope);
    showCrumbs(scope, {});
    Q_EMIT scopeShown(scope);
  });
  connect(view_, &graphview::GraphView::centerHereRequested, this, &GraphPane::centerHereRequested);
  connect(view_, &graphview::GraphView::compareHereRequested, this, &GraphPane::compareHereRequested);
}

void GraphPane::connectSession() {
  connect(session_, &Session::planChanged, this, &GraphPane::showPlan);
  connect(session_->preview(), &PlanPreview::changed, this, &GraphPane::showPreview);
  connect(session_, &Session::foldChanged, this, [this] {
    foldedGraph_.drop();
    timesAfter_.reset();
    timesOf_.clear();
    showAfter(session_->foldResult().has_value());
  });
  connect(session_, &Session::planChanged, this, &GraphPane::requestMap);
  connect(session_, &Session::modelChanged, this, &GraphPane::showModel);
  connect(session_, &Session::analysisChanged, this, &GraphPane::showAnalysis);
  connect(session_->selection(), &GraphSelection::changed, this, &GraphPane::showSelection);
  connect(session_->selection(), &GraphSelection::zeroMeanChanged, this, &GraphPane::showZeroMean);
  connect(session_->costs(), &NormCosts::changed, this, &GraphPane::showOwnCentering);
  connect(session_->measurements(), &Measurements::changed, this, &GraphPane::showCosts);
  // Queued: the inspector's page of a norm gives the prices up when it is left.
  const auto wantPrices = [this] {
    if (mode_->current() == Cost) session_->costs()->want();
  };
  connect(session_->selection(), &GraphSelection::changed, this, wantPrices, Qt::QueuedConnection);
  connect(session_, &Session::analysisChanged, this, wantPrices, Qt::QueuedConnection);
  connect(session_, &Session::jobChanged, this, &GraphPane::showJob);
}

void GraphPane::makeRoomIn(QFrame* bar, const QVector<QWidget*>& history) {
  auto* steps = new RoomSteps(bar);
  for (Segmented* choice : {mode_, after_}) steps->add([choice](bool taken) { choice->setFolded(taken); });
  steps->add([this](bool taken) { crumbs_->setVisible(!taken); });  // the inspector shows the place as well
  steps->add([history](bool taken) {                                // which keys and the mouse's buttons do, too
    for (QWidget* button : history) button->setVisible(!taken);
  });
  steps->add([this](bool taken) { mode_->setBare(taken ? QStringLiteral("zero_mean") : QString()); });
  steps->add([this](bool taken) { after_->setBare(taken ? QStringLiteral("fold") : QString()); });
}

void GraphPane::showModel() {
  view_->setBusy({});
  view_->clearHighlight();
  view_->setDocument(session_->document());
  showCosts();
  showCrumbs(-1, {});
}

void GraphPane::showAnalysis() {
  actions_->goToBlocker->setEnabled(blockedNorm() != nullptr);
  if (!session_->analysis()) return;
  view_->updateDocument(session_->document(), titlesOfNorms(*session_));
  view_->setNorms(session_->analysis()->norms);
}

void GraphPane::showAfter(bool after) {
  after_->setCurrent(after ? 1 : 0);
  showPlan();
  showCosts();
}

bool GraphPane::isAfter() const { return after_->current() == 1 && session_->plan().has_value(); }

void GraphPane::showPlan() {
  const bool planned = session_->plan().has_value();
  after_->setEnabled(planned);
  actions_->beforeAfter->setEnabled(planned);
  if (!planned || after_->current() == 0) return view_->setPlan(std::nullopt);
  view_->setPlan(planPicture());
}

graphview::PlanPicture GraphPane::planPicture() const {
  graphview::PlanPicture picture =
      graphview::pictureOf(*session_->plan(), session_->analysis()->norms, session_->planMarks());
  const auto& fold = session_->foldResult();
  picture.proved = fold && fold->ok && fold->verify && fold->verify->exact == true;
  return picture;
}

void GraphPane::showPreview() {
  showPlan();
  const auto& fall = session_->preview()->fall();
  if (fall) {
    hint_->show(fallTitle(*fall, *session_), fallDetail(*fall));
  } else {
    hint_->hide();
  }
}

void GraphPane::showJob() {
  const bool opening = session_->job().kind == JobKind::Opening;
  if (session_->model()) return;
  view_->setBusy(opening ? tr("Opening %1").arg(QFileInfo(session_->path()).fileName()) : QString());
  if (opening) showCrumbs(-1, {});
}

void GraphPane::showSelection() {
  actions_->goToBlocker->setEnabled(blockedNorm() != nullptr);
  const Selection& selection = session_->selection()->current();
  if (selection.scope >= 0) return;  // the graph itself has selected it
  int node = selection.node;
  if (const protocol::NormInfo* norm = session_->norm(selection.norm)) node = norm->node;
  if (selection.value >= 0) {
    const protocol::GraphNode* producer = session_->index().producer(selection.value);
    node = producer != nullptr ? producer->id : -1;
  } else if (view_->selectedNode() != node) {
    // The zero-mean graph of a norm brings it into view; where none is drawn, the norm itself is gone to.
    selection.norm >= 0 && mode_->current() != ZeroMean ? view_->reveal(node) : view_->selectNode(node);
  }
  const protocol::GraphNode* at = session_->index().node(node);
  // A norm's own module already names it.
  showCrumbs(at != nullptr ? at->scope : -1, at == nullptr || selection.norm >= 0 ? QString() : text(at->label));
}

void GraphPane::showMode() {
  showZeroMean();
  if (mode_->current() != Tensors) view_->setZeroMeanMap(std::nullopt);
  view_->setLetters(mode_->current() == Types);
  showCosts();
  requestMap();
}

void GraphPane::showCosts() {
  if (mode_->current() == Cost) session_->costs()->want();
  const auto times = mode_->current() == Cost ? shownTimes() : std::nullopt;
  view_->setTimes(times);
  showLegend(times ? &*times : nullptr);
}

// Both pictures in one scale: the same blue is the same time.
std::optional<graphview::NodeTimes> GraphPane::shownTimes() {
  const protocol::BenchPoint* point = session_->measurements()->timedNodes();
  if (point == nullptr) return std::nullopt;
  graphview::NodeTimes times(point->a);
  const bool timed = isOfFold(*point) && session_->foldResult() && !point->b->node_ms.empty();
  const double darkest = std::max(times.darkest, timed ? graphview::NodeTimes(*point->b).darkest : 0);
  if (isAfter() && (!timed || !haveTimesAfter(point->b->node_ms))) return std::nullopt;
  if (isAfter()) times = graphview::NodeTimes(*timesAfter_);
  times.darkest = darkest;
  return times;
}

// Asks for the folded graph, too, and has a worker find the places of its nodes.
bool GraphPane::haveTimesAfter(const TimesOfNodes& measured) {
  if (measured == timesOf_) return timesAfter_.has_value();
  timesAfter_.reset();
  timesOf_ = measured;
  foldedGraph_.ask(protocol::methods::kReadGraph, {}, [this](Reply<protocol::ModelInfo>& reply) {
    if (!reply) {
      timesOf_.clear();
      return Q_EMIT reported(asSentence(reply.error().message));
    }
    const auto folded = std::make_shared<const protocol::GraphDocument>(std::move(reply->graph));
    const auto place = [open = session_->document(), folded, times = timesOf_] {
      return graphview::timesInPlacesOf(*open, *folded, times);
    };
    onWorker(this, place, [this, of = timesOf_](TimesOfNodes times) {
      if (of != timesOf_) return;
      timesAfter_ = std::move(times);
      showCosts();
    });
  });
  return false;
}

void GraphPane::showLegend(const graphview::NodeTimes* times) {
  if (mode_->current() != Cost || !session_->model()) return legend_->hide();
  const protocol::BenchPoint* point = session_->measurements()->timedNodes();
  if (times == nullptr && point != nullptr) {
    return legend_->show(tr("No times after the plan yet"), !timesOf_.empty() && !timesAfter_
                                                                ? tr("Reading the folded graph")
                                                                : tr("Measure the original against its fold."));
  }
  if (times == nullptr) {
    const auto& last = session_->measurements()->last();
    const protocol::BenchPoint* measured = last ? protocol::firstMeasured(*last) : nullptr;
    const QString why = measured != nullptr ? asSentence(text(measured->a.ops_reason)) : QString();
    return legend_->show(tr("No times of nodes yet"),
                         why.isEmpty() ? tr("Measure the model: every node is then colored by its time.") : why);
  }
  double all = 0;
  for (const auto& [node, ms] : times->ms) all += ms;
  const protocol::BenchSide& side = isAfter() ? *point->b : point->a;
  QStringList words{tr("No color: merged by the runtime, not timed by itself.")};
  if (side.norm_share) words << tr("Norms: %1 of the time.").arg(formatPercent(*side.norm_share));
  if (point->crowded) words << tr("Other programs used the cores: treat these times with caution.");
  // The two differ: nodes are timed one by one, a run as a whole.
  legend_->show((isAfter() ? tr("After the plan: %1 for one run on %2; its nodes, timed one by one, sum to %3")
                           : tr("Before the plan: %1 for one run on %2; its nodes, timed one by one, sum to %3"))
                    .arg(formatMilliseconds(side.latency.median_ms), deviceName(*session_->measurements()->timed()),
                         formatMilliseconds(all)),
                words.join(u' '), times->darkest);
}

void GraphPane::requestMap() {
  if (mode_->current() != Tensors || !session_->analysis()) return;
  map_.ask(protocol::methods::kZeroMeanMap, session_->choices()->params(),
           [this](const Reply<protocol::ZeroMeanMap>& reply) {
             if (reply && mode_->current() == Tensors) view_->setZeroMeanMap(*reply);
           });
}

void GraphPane::requestCone(int node) {
  if (!session_->analysis()) return;
  protocol::ShiftConeParams params;
  params.node = node;
  params.plan = session_->choices()->params();
  session_->engine()->request(protocol::methods::kShiftCone, params, this,
                              [this, node](const Reply<protocol::ShiftCone>& reply) {
                                if (reply) showCone(node, *reply);
                              });
}

// Lights up, like a zero-mean graph, the layer, what carries its shift, and the norms that do not notice.
void GraphPane::showCone(int node, const protocol::ShiftCone& cone) {
  if (cone.values.empty()) {
    Q_EMIT reported(cone.reason.empty() ? tr("Nothing reads this layer's output.") : text(cone.reason));
    return;
  }
  protocol::ZeroMeanGraph graph;
  graph.norm = -1;
  graph.values = cone.values;
  graph.vertices.push_back({node, NodeClass::Linear, tr("centered by the plan").toStdString()});
  for (const int value : cone.values) {
    const protocol::GraphNode* maker = session_->index().producer(value);
    if (maker == nullptr || maker->id == node) continue;
    graph.vertices.push_back({maker->id, maker->role == NodeClass::Residual ? NodeClass::Residual : NodeClass::Scalar,
                              tr("carries the shift").toStdString()});
  }
  for (const int end : cone.ends)
    graph.vertices.push_back({end, NodeClass::ZeroMean, tr("unaffected by the shift").toStdString()});
  coneShown_ = true;
  view_->setHighlight(graph);
}

void GraphPane::showZeroMean() {
  coneShown_ = false;
  const auto& graph = session_->selection()->zeroMean();
  const protocol::NormInfo* norm = graph ? session_->norm(graph->norm) : nullptr;
  if (norm == nullptr || mode_->current() != ZeroMean) {
    view_->clearHighlight();
    return;
  }
  view_->setHighlight(*graph, norm->blocker_path, blockerReason(*session_, *norm));
  showOwnCentering();
}

void GraphPane::showOwnCentering() {
  const protocol::NormInfo* norm = blockedNorm();
  const auto cost = norm != nullptr ? session_->costs()->of(norm->index) : std::nullopt;
  if (!cost) return view_->setOwnCentering({}, {});
  const auto words = [](const Price& price, const QString& costs, const QString& saves, const QString& unclear) {
    return price.isClear() ? (price.us < 0 ? costs : saves).arg(formatMicroseconds(std::abs(price.us))) : unclear;
  };
  const QString costs = tr("Own centering: costs %1");
  view_->setOwnCentering(words(cost->centers, costs, costs, tr("Own centering: no clear cost")),
                         words(cost->saves, tr("fold costs %1"), tr("fold saves %1"), tr("fold: no clear gain")));
}

void GraphPane::askForPicture(bool whole) {
  const FileQuestion question{
      QStringLiteral("pictureDialog"), whole ? tr("Save picture of the whole graph") : tr("Save picture of the view"),
      pictureFilters(), folderOf(session_->path()), QFileInfo(session_->path()).completeBaseName()};
  askForFile(this, question, [this, whole](const QString& path) { savePicture(path, whole); });
}

void GraphPane::savePicture(const QString& path, bool whole) {
  if (view_->scene().empty()) return;
  using Extent = graphview::GraphView::Extent;
  pictures_->start(view_->orderPicture(path, whole ? Extent::Whole : Extent::View));
}

const protocol::NormInfo* GraphPane::blockedNorm() const {
  const protocol::NormInfo* norm = session_->norm(session_->selection()->current().norm);
  return norm != nullptr && norm->blocker ? norm : nullptr;
}

void GraphPane::goToBlocker() {
  if (const protocol::NormInfo* norm = blockedNorm()) lookAt(norm->blocker->node);
}

void GraphPane::lookAt(int node) { view_->reveal(node); }

void GraphPane::goToNode(int node) {
  view_->reveal(node);
  session_->selection()->selectNode(node);
}

void GraphPane::goToScope(int scope) {
  view_->revealScope(scope);
  showCrumbs(scope, {});
}

void GraphPane::showCrumbs(int scope, const QString& last) {
  crumbRoom_->clear();
  while (QLayoutItem* item = crumbLayout_->takeAt(0)) {
    if (item->widget() != nullptr) item->widget()->deleteLater();
    delete item;
  }
  QVector<QPair<QString, int>> parts;  // text, scope
  const QString model = QFileInfo(session_->path()).completeBaseName();
  for (const int id : session_->index().scopePath(scope)) {
    const protocol::GraphScope* at = session_->index().scope(id);
    parts.push_back({at->parent < 0 ? model : text(at->name), id});
  }
  if (parts.isEmpty() && !model.isEmpty()) parts.push_back({model, 0});
  if (!last.isEmpty()) parts.push_back({last, -1});
  for (int i = 0; i < parts.size(); ++i) {
    ThemedIcon* arrow = nullptr;
    if (i > 0) {
      arrow = new ThemedIcon("chevron_right", &Theme::textFaint, {12, 16}, {1, 3, 10, 10}, crumbs_);
      crumbLayout_->addWidget(arrow);
    }
    auto* crumb = new QToolButton(crumbs_);
    crumb->setText(parts[i].first);
    crumb->setProperty("kind", i + 1 == parts.size() ? "crumbLast" : "crumb");
    crumb->setFocusPolicy(Qt::TabFocus);
    crumb->setToolTip(tr("Go to %1 in the graph.").arg(parts[i].first));
    const int target = parts[i].second;
    if (target >= 0) {
      connect(crumb, &QToolButton::clicked, this, [this, target] {
        view_->revealScope(target);
        Q_EMIT scopeShown(target);
      });
    }
    crumbLayout_->addWidget(crumb);
    // The outermost go first; the tooltip of what is left shows where it is.
    crumbRoom_->add([arrow, crumb](bool taken) {
      crumb->setVisible(!taken);
      if (arrow != nullptr) arrow->setVisible(!taken);
    });
  }
  crumbLayout_->addStretch(1);
  crumbRoom_->fit();
}

}  // namespace normlens::ui

#include "graph_pane.moc"
