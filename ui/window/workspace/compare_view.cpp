#include "ui/window/workspace/compare_view.h"

#include <QFileInfo>
#include <QShortcut>
#include <QSplitter>
#include <algorithm>
#include <utility>

#include "core/protocol/methods.h"
#include "ui/graphview/compare/linked_views.h"
#include "ui/graphview/graph_view.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/push_button.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr int kBarHeight = 44;
constexpr int kTitleHeight = 30;

}  // namespace

CompareView::CompareView(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  setObjectName(QStringLiteral("compare"));
  build();
  views_ = new graphview::LinkedViews(viewA_, viewB_, this);
  connect(previous_, &IconButton::clicked, this, [this] { views_->showNextDifference(false); });
  connect(next_, &IconButton::clicked, this, [this] { views_->showNextDifference(true); });
  connect(link_, &IconButton::toggled, this, [this](bool on) { views_->setLinked(on); });
  // The open model is another one now, or none; replies may be under way though another page is shown.
  connect(session_, &Session::modelChanged, this, [this] {
    cancelRequests();
    other_.reset();
    if (isVisible()) Q_EMIT closed();
  });
}

void CompareView::build() {
  auto* layout = makeColumn(this);
  QFrame* bar = makeBar(QStringLiteral("compareBar"), kBarHeight, this);
  layoutOf(bar)->setContentsMargins(14, 0, 12, 0);
  summary_ = describe(new ElidedLabel({}, Qt::ElideRight, bar), "compareSummary");
  layoutOf(bar)->addWidget(summary_, 1);
  link_ = new IconButton({}, tr("Linked"), tr("Move, zoom and open both graphs together."), bar);
  link_->setCheckable(true);
  link_->setChecked(true);
  link_->setLook(IconButton::Look::Outlined);
  previous_ = new IconButton({}, tr("Previous"), tr("Go to the difference before this one (Shift+F8)."), bar);
  next_ = new IconButton({}, tr("Next"), tr("Go to the next difference (F8)."), bar);
  previous_->setShortcut(QKeySequence(Qt::SHIFT | Qt::Key_F8));
  next_->setShortcut(QKeySequence(Qt::Key_F8));
  for (QWidget* button : {link_, previous_, next_}) layoutOf(bar)->addWidget(button);
  auto* close = describe(new PushButton(tr("Back to the model"), PushButton::Look::Outlined, bar), "leaveCompare",
                         tr("Leave the comparison (Esc)."));
  layoutOf(bar)->addWidget(close);
  connect(close, &PushButton::clicked, this, &CompareView::leave);
  auto* escape = new QShortcut(QKeySequence(Qt::Key_Escape), this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut);
  connect(escape, &QShortcut::activated, this, &CompareView::leave);
  layout->addWidget(bar);
  auto* sides = makeSplitter(Qt::Horizontal, this);
  sides->addWidget(makeSide(titleA_, viewA_, tr("Graph of the open model")));
  sides->addWidget(makeSide(titleB_, viewB_, tr("Graph of the other model")));
  sides->setSizes({1, 1});
  layout->addWidget(sides, 1);
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

void CompareView::compareWith(const QString& path) {
  path_ = path;
  other_.reset();
  titleA_->setFullText(QFileInfo(session_->path()).fileName());
  titleB_->setFullText(path.isEmpty() ? tr("folded") : QFileInfo(path).fileName());
  for (graphview::GraphView* view : {viewA_, viewB_}) {
    view->setError({});
    view->setMarks({});
  }
  views_->setDiff({});
  viewA_->setDocument(session_->document());
  viewA_->setFocus();
  viewB_->setDocument(nullptr);
  viewB_->setBusy(path.isEmpty() ? tr("Reading the folded graph") : tr("Opening %1").arg(QFileInfo(path).fileName()));
  cancelRequests();
  weightsA_ = weightsB_ = {};
  weightsProblem_.clear();
  showSummary();
  request_ =
      session_->engine()->request(protocol::methods::kReadGraph, protocol::ReadGraphParams{path.toStdString()}, this,
                                  [this, comparison = comparison_](const Reply<protocol::ModelInfo>& reply) {
                                    if (comparison == comparison_) showReply(reply);
                                  });
}

void CompareView::showReply(const Reply<protocol::ModelInfo>& reply) {
  request_ = 0;
  viewB_->setBusy({});
  if (!reply) {
    const QString problem = asSentence(reply.error().message);
    viewB_->setError(problem);
    summary_->setFullText(problem);
    return;
  }
  other_ = std::make_shared<const protocol::GraphDocument>(reply->graph);
  viewB_->setDocument(other_);
  askForWeights(false);
  askForWeights(true);
  showDifferences();
}

void CompareView::askForWeights(bool other) {
  const protocol::WeightDigestsParams params{other, other ? path_.toStdString() : std::string()};
  (other ? weightsB_ : weightsA_).request =
      session_->engine()->request(protocol::methods::kWeightDigests, params, this,
                                  [this, other, comparison = comparison_](const Reply<protocol::WeightDigests>& reply) {
                                    if (comparison == comparison_) takeWeights(other, reply);
                                  });
}

void CompareView::takeWeights(bool other, const Reply<protocol::WeightDigests>& reply) {
  Weights& weights = other ? weightsB_ : weightsA_;
  weights.request = 0;
  if (!reply) {
    weightsProblem_ = asSentence(reply.error().message);
    showSummary();
    return;
  }
  for (size_t i = 0; i < std::min(reply->values.size(), reply->digests.size()); ++i) {
    weights.texts.emplace(reply->values[i], reply->digests[i]);
  }
  if (weightsRemark().isEmpty()) showDifferences();
}

void CompareView::showDifferences() {
  auto diff = graphview::compareGraphs(*session_->document(), *other_, weightsA_.texts, weightsB_.texts);
  viewA_->setMarks(diff.a.marks);
  viewB_->setMarks(diff.b.marks);
  views_->setDiff(std::move(diff));
  showSummary();
}

void CompareView::showSummary() {
  const auto& diff = views_->diff();
  const bool some = other_ != nullptr && !diff.same();
  previous_->setEnabled(some);
  next_->setEnabled(some);
  if (other_ == nullptr) {
    summary_->setFullText(tr("The graphs are compared when both are read."));
  } else if (!some) {
    const QString remark = weightsRemark();
    summary_->setFullText(remark.isEmpty() ? tr("The same operators with the same weights in the same modules.")
                                           : tr("The same operators in the same modules.   %1").arg(remark));
  } else {
    summary_->setFullText(tr("≠ %1 changed   + %2 only on the left   + %3 only on the right   %4")
                              .arg(diff.changed)
                              .arg(diff.onlyA)
                              .arg(diff.onlyB)
                              .arg(weightsRemark())
                              .trimmed());
  }
}

QString CompareView::weightsRemark() const {
  if (!weightsProblem_.isEmpty()) return tr("The weights could not be compared: %1").arg(weightsProblem_);
  if (weightsA_.request != 0 || weightsB_.request != 0) return tr("The weights are being compared.");
  return {};
}

void CompareView::cancelRequests() {
  ++comparison_;
  for (EngineClient::RequestId* request : {&request_, &weightsA_.request, &weightsB_.request}) {
    if (*request != 0) session_->engine()->cancel(std::exchange(*request, 0));
  }
}

void CompareView::leave() {
  cancelRequests();
  Q_EMIT closed();
}

}  // namespace normlens::ui
