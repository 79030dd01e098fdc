#include "ui/window/workspace/compare_view.h"

#include <QFileInfo>
#include <QShortcut>
#include <QSplitter>
#include <algorithm>
#include <utility>

#include "core/protocol/methods.h"
#include "ui/client/on_worker.h"
#include "ui/graphview/compare/change_list.h"
#include "ui/graphview/graph_view.h"
#include "ui/graphview/linked_views.h"
#include "ui/models/plan/variant_table.h"
#include "ui/session/session.h"
#include "ui/theme/spoken_role.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/push_button.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/changes/changes_panel.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kBarHeight = 44;
constexpr int kTitleHeight = 30;
// All in pixels; those of the list at the usual size of text.
constexpr int kList = 500, kLeastList = 300, kLeastGraph = 300;

}  // namespace

CompareView::CompareView(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      graph_(session->engine(), this),
      figures_(session->engine(), this),
      weightsA_{Question(session->engine(), this), {}},
      weightsB_{Question(session->engine(), this), {}} {
  setSpokenRole(this, QAccessible::Pane);
  describe(this, "compare", {}, tr("Comparison"));
  setFocusPolicy(Qt::ClickFocus);  // a click beside the views keeps Esc working
  build();
  views_ = new graphview::LinkedViews(viewA_, viewB_, this);
  // Not the buttons' own: a button that is pressed by a key acts a moment later, and loses presses meanwhile.
  const auto stepBy = [this](IconButton* button, const QKeySequence& keys, bool forward) {
    const auto step = [this, forward] { changes_->step(forward); };
    connect(button, &IconButton::clicked, this, step);
    connect(new QShortcut(keys, this), &QShortcut::activated, this, step);
  };
  stepBy(previous_, QKeySequence(Qt::SHIFT | Qt::Key_F8), false);
  stepBy(next_, QKeySequence(Qt::Key_F8), true);
  connect(link_, &IconButton::toggled, this, [this](bool on) { views_->setLinked(on); });
  connect(listed_, &IconButton::clicked, this, [this](bool on) {
    wanted_ = on;
    arrange();
  });
  connect(changes_, &ChangesPanel::chosen, views_, &graphview::LinkedViews::show);
  connect(viewA_, &graphview::GraphView::nodeSelected, this, [this](int node) { followUser(false, node); });
  connect(viewB_, &graphview::GraphView::nodeSelected, this, [this](int node) { followUser(true, node); });
  // The open model is another one now, or none; replies may be under way though another page is shown.
  connect(session_, &Session::modelChanged, this, [this] {
    forgetOther();
    if (isVisible()) Q_EMIT closed();
  });
  connect(session_, &Session::foldChanged, this, &CompareView::missFold);
  connect(session_->measurements(), &Measurements::changed, this, &CompareView::showCosts);
  // Queued: where the engine has to make it first, that job has begun by then.
  for (const auto signal : {&Session::foldChanged, &Session::jobChanged})
    connect(session_, signal, this, &CompareView::followFold, Qt::QueuedConnection);
}

// The fold that is shown was taken back, or is another one now.
void CompareView::missFold() {
  if (!isVisible() || ofPlans_ || !path_.isEmpty()) return;
  forgetOther();
  missesFold_ = true;
  viewB_->setError(tr("The plan is not folded."));
  showSummary();
}

void CompareView::followFold() {
  if (!missesFold_ || !isVisible() || session_->busy() || !session_->foldResult()) return;
  // The views are unlinked until it is laid out, so that the open model's graph stays where it is.
  views_->setLinked(false);
  connect(
      viewB_, &graphview::GraphView::layoutFinished, this, [this] { views_->setLinked(link_->isChecked()); },
      Qt::SingleShotConnection);
  readOther();
}

void CompareView::build() {
  auto* column = makeColumn(this);
  column->addWidget(makeTopBar());
  across_ = makeSplitter(Qt::Horizontal, this);
  auto* sides = makeSplitter(Qt::Horizontal, across_);
  sides->addWidget(makeSide(titleA_, viewA_, tr("Graph of the open model")));
  sides->addWidget(makeSide(titleB_, viewB_, tr("Graph of the other model")));
  sides->setSizes({1, 1});
  changes_ = new ChangesPanel(session_, across_);
  across_->addWidget(sides);
  across_->addWidget(changes_);
  across_->setStretchFactor(0, 1);
  column->addWidget(across_, 1);
  connect(across_, &QSplitter::splitterMoved, this, [this] { arranged_ = true; });
  followText(this, [this] {
    changes_->setMinimumWidth(grown(kLeastList));
    arrange();
  });
}

QWidget* CompareView::makeTopBar() {
  QFrame* bar = makeBar(QStringLiteral("compareBar"), kBarHeight, this);
  layoutOf(bar)->setContentsMargins(14, 0, 12, 0);
  summary_ = describe(new ElidedLabel({}, Qt::ElideRight, bar), "compareSummary");
  layoutOf(bar)->addWidget(summary_, 1);
  const auto toggle = [&](const QString& words, const QString& tip) {
    auto* button = new IconButton({}, words, tip, bar);
    button->setCheckable(true);
    button->setChecked(true);
    button->setLook(IconButton::Look::Outlined);
    return button;
  };
  link_ = describe(toggle(tr("Linked"), tr("Move, zoom and open both graphs together.")), "compareLinked");
  listed_ = describe(toggle(tr("Changes"), tr("The list of what differs.")), "compareListed");
  costs_ = describe(toggle(tr("Cost"), {}), "compareCosts");
  costs_->setChecked(false);
  connect(costs_, &QToolButton::toggled, this, &CompareView::showCosts);
  previous_ = new IconButton({}, tr("Previous"), tr("Go to the change before this one (Shift+F8)."), bar);
  next_ = new IconButton({}, tr("Next"), tr("Go to the next change (F8)."), bar);
  for (QWidget* button : {link_, listed_, costs_, previous_, next_}) layoutOf(bar)->addWidget(button);
  auto* close = describe(new PushButton(tr("Back to the model"), PushButton::Look::Outlined, bar), "leaveCompare",
                         tr("Close the comparison (Esc)."));
  layoutOf(bar)->addWidget(close);
  connect(close, &PushButton::clicked, this, &CompareView::leave);
  auto* escape = new QShortcut(QKeySequence(Qt::Key_Escape), this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut);
  connect(escape, &QShortcut::activated, this, &CompareView::leave);
  return bar;
}

QWidget* CompareView::makeSide(ElidedLabel*& title, graphview::GraphView*& view, const QString& name) {
  auto* side = new QWidget(this);
  auto* layout = makeColumn(side);
  QFrame* bar = makeBar(QStringLiteral("crumbBar"), kTitleHeight, side);
  layoutOf(bar)->setContentsMargins(14, 0, 12, 0);
  title = new ElidedLabel({}, Qt::ElideMiddle, bar);
  layoutOf(bar)->addWidget(title, 1);
  layout->addWidget(bar);
  view = new graphview::GraphView(side);
  view->setAccessibleName(name);
  layout->addWidget(view, 1);
  return side;
}

void CompareView::forgetOther() {
  cancelRequests();
  comparing_ = false;
  other_.reset();
  missesFold_ = ofPlans_ = false;
  weightsB_.texts.clear();
  weightsProblem_.clear();
  for (graphview::GraphView* view : {viewA_, viewB_}) view->setMarks({});
  views_->setDiff({});
  changes_->show({}, {});
  viewB_->setDocument(nullptr);
  showCosts();
}

void CompareView::compareWith(const QString& path) {
  path_ = path;
  titleA_->setFullText(session_->title());
  titleB_->setFullText(path.isEmpty() ? tr("folded") : modelTitle(path, {}));
  weightsA_.texts.clear();
  viewA_->setDocument(session_->document());
  viewA_->setFocus();
  views_->setLinked(link_->isChecked());
  readOther();
}

void CompareView::comparePlans(const VariantRow& a, const VariantRow& b) {
  forgetOther();
  ofPlans_ = true;
  other_ = session_->document();
  showPlan(viewA_, titleA_, a);
  showPlan(viewB_, titleB_, b);
  viewA_->setFocus();
  views_->setLinked(link_->isChecked());
  auto edits = graphview::editsOfOne(*other_, a.plan, b.plan);
  auto diff = graphview::diffOf(*other_, edits);
  viewA_->setMarks(diff.a.marks);
  viewB_->setMarks(diff.b.marks);
  views_->setDiff(std::move(diff));
  changes_->show({other_, other_}, std::move(edits));
  showSummary();
}

void CompareView::showPlan(graphview::GraphView* view, ElidedLabel* title, const VariantRow& variant) {
  title->setFullText(VariantTable::summaryOf(variant));
  view->setBusy({});
  view->setDocument(other_);
  std::vector<PlanMark> marks;
  for (const protocol::NormState& state : variant.plan.norms)
    marks.push_back(planMark(variant.plan, state, nullptr, -1));
  view->setPlan(graphview::pictureOf(variant.plan, session_->analysis()->norms, marks));
}

void CompareView::readOther() {
  forgetOther();
  viewB_->setBusy(path_.isEmpty() ? tr("Reading the folded graph") : tr("Opening %1").arg(QFileInfo(path_).fileName()));
  showSummary();
  graph_.ask(protocol::methods::kReadGraph, {path_.toStdString()},
             [this](Reply<protocol::ModelInfo>& reply) { showReply(reply); });
}

void CompareView::showReply(Reply<protocol::ModelInfo>& reply) {
  if (!reply) {
    viewB_->setBusy({});
    const QString problem = asSentence(reply.error().message);
    viewB_->setError(problem);
    summary_->setFullText(problem);
    return;
  }
  if (!path_.isEmpty() && !reply->models.empty()) titleB_->setFullText(modelTitle(path_, text(reply->model)));
  const auto read = std::make_shared<const protocol::GraphDocument>(std::move(reply->graph));
  const auto shaped = [open = session_->document(), read] {
    return std::make_shared<const protocol::GraphDocument>(
        graphview::withShapesOf(*open, *read, graphview::compareGraphs(*open, *read)));
  };
  onWorker(this, shaped, [this, asked = ++comparison_](std::shared_ptr<const protocol::GraphDocument> other) {
    if (asked != comparison_) return;
    other_ = std::move(other);
    viewB_->setBusy({});
    viewB_->setDocument(other_);
    if (weightsA_.texts.empty()) askForWeights(false);
    askForWeights(true);
    showDifferences();
  });
}

void CompareView::askForWeights(bool other) {
  const protocol::WeightDigestsParams params{other, other ? path_.toStdString() : std::string()};
  (other ? weightsB_ : weightsA_)
      .question.ask(protocol::methods::kWeightDigests, params,
                    [this, other](const Reply<protocol::WeightDigests>& reply) { takeWeights(other, reply); });
}

void CompareView::takeWeights(bool other, const Reply<protocol::WeightDigests>& reply) {
  Weights& weights = other ? weightsB_ : weightsA_;
  if (!reply) {
    weightsProblem_ = asSentence(reply.error().message);
    showSummary();
    return;
  }
  for (size_t i = 0; i < std::min(reply->values.size(), reply->digests.size()); ++i) {
    weights.texts.emplace(reply->values[i], reply->digests[i]);
  }
  if (weightsA_.question.pending() || weightsB_.question.pending() || !weightsProblem_.isEmpty()) return;
  showDifferences();
}

void CompareView::askForFigures() {
  const protocol::WeightChangesParams params{path_.toStdString(), changes_->changes().differingWeights()};
  if (params.pairs.empty()) return;
  figures_.ask(
      protocol::methods::kWeightChanges, params,
      [this, weights = params.pairs](const Reply<protocol::WeightChanges>& reply) { takeFigures(weights, reply); });
}

void CompareView::takeFigures(const std::vector<std::pair<int, int>>& weights,
                              const Reply<protocol::WeightChanges>& reply) {
  if (reply) {
    changes_->setFigures(weights, reply->changes);
  } else {
    weightsProblem_ = asSentence(reply.error().message);
  }
  showSummary();
}

void CompareView::showDifferences() {
  const auto compare = [a = session_->document(), b = other_, ofA = weightsA_.texts, ofB = weightsB_.texts] {
    auto diff = graphview::compareGraphs(*a, *b, ofA, ofB);
    auto changes = graphview::changesOf(*a, *b, diff, ofA, ofB);
    return std::pair(std::move(diff), std::move(changes));
  };
  comparing_ = true;
  onWorker(this, compare, [this, asked = ++comparison_](auto compared) {
    if (asked != comparison_) return;
    comparing_ = false;
    auto& [diff, changes] = compared;
    viewA_->setMarks(diff.a.marks);
    viewB_->setMarks(diff.b.marks);
    changes_->show({session_->document(), other_}, std::move(changes));
    views_->setDiff(std::move(diff));
    showCosts();
    if (!weightsA_.question.pending() && !weightsB_.question.pending() && weightsProblem_.isEmpty()) askForFigures();
    showSummary();
  });
  showSummary();
}

// Both sides in one scale: the same blue is the same time.
void CompareView::showCosts() {
  const protocol::BenchPoint* point = session_->measurements()->timedNodes();
  const bool both =
      !ofPlans_ && path_.isEmpty() && other_ != nullptr && point != nullptr && point->b && point->b->model == "folded";
  costs_->setEnabled(both && !point->b->node_ms.empty());
  costs_->setToolTip(costs_->isEnabled() ? tr("Color every node by its measured time, before and after.")
                                         : tr("Measure the original against its fold first."));
  std::optional<graphview::NodeTimes> before, after;
  if (costs_->isEnabled() && costs_->isChecked()) {
    before.emplace(point->a);
    after.emplace(*point->b);
    before->darkest = after->darkest = std::max(before->darkest, after->darkest);
  }
  viewA_->setTimes(std::move(before));
  viewB_->setTimes(std::move(after));
}

void CompareView::showSummary() {
  const bool some = changes_->changes().rowCount() > 0;
  previous_->setEnabled(some);
  next_->setEnabled(some);
  if (other_ == nullptr)
    return summary_->setFullText(missesFold_ ? tr("Fold again to compare the fold here.")
                                             : tr("Waiting for both graphs."));
  if (comparing_) return summary_->setFullText(tr("Comparing the graphs."));
  const QString remark = weightsRemark();
  const QString words = !some && ofPlans_  ? tr("Both plans make the same edits.")
                        : some             ? changes_->changes().summary()
                        : remark.isEmpty() ? tr("The same nodes with the same weights in the same modules.")
                                           : tr("The same nodes in the same modules.");
  summary_->setFullText(remark.isEmpty() ? words : QStringLiteral("%1   %2").arg(words, remark));
}

void CompareView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

void CompareView::arrange() {
  if (across_ == nullptr || width() == 0) return;
  const int list = grown(kList);
  const bool shown = wanted_.value_or(width() - list >= 2 * kLeastGraph);
  listed_->setChecked(shown);
  changes_->setVisible(shown);
  if (shown && !arranged_) across_->setSizes({width() - list, list});
}

void CompareView::followUser(bool other, int node) {
  const auto document = other ? other_ : session_->document();
  if (document == nullptr || node < 0) return;
  const auto found = std::ranges::find(document->nodes, node, &protocol::GraphNode::id);
  changes_->follow(other, static_cast<int>(found - document->nodes.begin()));
}

QString CompareView::weightsRemark() const {
  if (!weightsProblem_.isEmpty()) return tr("The weights could not be compared: %1").arg(weightsProblem_);
  if (weightsA_.question.pending() || weightsB_.question.pending() || figures_.pending())
    return tr("Comparing the weights.");
  return {};
}

void CompareView::cancelRequests() {
  ++comparison_;
  for (Question* question : {&graph_, &weightsA_.question, &weightsB_.question, &figures_}) question->drop();
}

void CompareView::leave() {
  cancelRequests();
  Q_EMIT closed();
}

}  // namespace normlens::ui
