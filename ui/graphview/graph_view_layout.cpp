// GraphView: which groups are open, and what happens when a layout arrives.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/graphview/graph_view.h"
#include "ui/graphview/overlays/centering_callout.h"

namespace normlens::graphview {

void GraphView::setDocument(std::shared_ptr<const protocol::GraphDocument> document) {
  worker_.cancel();
  document_ = std::move(document);
  newest_ = nullptr;
  shown_ = {};
  wanted_ = WantedMarks{.norms = {}, .nodes = std::move(wanted_.nodes), .plan = {}, .means = {}, .highlight = {}};
  marks_ = {};
  reach_ = {};
  history_.clear();
  Q_EMIT historyChanged();
  hover_ = {};
  awaited_ = Awaited{.place = awaited_.place};
  userMoved_ = false;
  message_.error.clear();
  message_.stage.clear();
  if (document_ != nullptr) requestLayout();
  updateSpinner();
  updateOverlays();
  update();
}

void GraphView::updateDocument(std::shared_ptr<const protocol::GraphDocument> document) {
  if (document_ == nullptr || document == nullptr || document == document_) return;
  const auto& before = document_->values;
  const auto& now = document->values;
  const bool streams = !std::equal(
      before.begin(), before.end(), now.begin(), now.end(),
      [](const auto& a, const auto& b) { return a.id == b.id && a.stream == b.stream && a.constant == b.constant; });
  document_ = std::move(document);
  if (streams || worker_.busy() || rebuilding()) {
    rebuildHierarchy();
    return;
  }
  // Only names of shapes differ, so that the layout is kept.
  auto hierarchy = std::make_shared<layout::Hierarchy>(*shown_.scene.hierarchy);
  hierarchy->document = document_;
  newest_ = hierarchy;
  shown_.scene.hierarchy = hierarchy;
  update();
}

void GraphView::setNorms(const std::vector<protocol::NormInfo>& norms) {
  wanted_.norms = norms;
  if (!shown_.scene.empty()) marks_.verdicts = NormVerdicts(*shown_.scene.hierarchy, norms);
  update();
}

// The graph on screen stays, and can be worked with, until the new one is laid out.
void GraphView::rebuildHierarchy() {
  newest_ = nullptr;
  requestLayout();
}

void GraphView::requestLayout() {
  if (document_ == nullptr) return;
  layout::LayoutRequest request{document_, newest_, options_, std::nullopt, direction_};
  if (newest_ != nullptr) request.expanded = wishes().groups();
  message_.stage.clear();
  message_.error.clear();
  worker_.request(std::move(request));
  updateSpinner();
}

void GraphView::takeLayout(const layout::LayoutResult& result) {
  newest_ = result.hierarchy;
  Wishes wished = wishes();
  if (wished.groups() != result.expanded) {
    requestLayout();
    return;
  }
  const std::optional<QPointF> anchor = shown_.scene.hangingPoint(shown_.anchorItem);
  const QPointF anchorScreen = anchor ? camera_.toScreen(*anchor) : QPointF();
  shown_ = Shown{std::move(wished), Scene(result.hierarchy, result.layout)};
  awaited_ = Awaited{.place = awaited_.place};
  if (wanted_.highlight) wanted_.highlight->isNew = false;
  hover_ = {};
  reach_ = {};
  message_.stage.clear();
  marks_ = Marks(shown_.scene, wanted_);
  updateSpinner();
  if (anchor && shown_.moveTo == MoveTo::Nowhere) {
    if (const auto now = shown_.scene.hangingPoint(shown_.anchorItem)) camera_ = camera_.placing(*now, anchorScreen);
  }
  shown_.anchorItem = -1;
  goToWantedPlace();
  restoreView();
  updateOverlays();
  cameraChanged();
  Q_EMIT layoutFinished();
}

bool GraphView::stopLayout() {
  if (!worker_.busy()) return false;
  worker_.cancel();
  message_.stage.clear();
  if (shown_.scene.empty()) {
    setError(tr("Arranging the graph was stopped. Press Enter to go on."));
    return true;
  }
  auto hierarchy = std::make_shared<layout::Hierarchy>(*shown_.scene.hierarchy);
  hierarchy->document = document_;
  newest_ = hierarchy;
  shown_.scene.hierarchy = hierarchy;
  shown_.open = {0};
  for (const layout::Box& box : shown_.scene.layout->boxes) {
    if (box.kind == layout::BoxKind::Frame) shown_.open.insert(box.item);
  }
  shown_.openForLight.clear();
  shown_.moveTo = MoveTo::Nowhere;
  updateSpinner();
  update();
  return true;
}

Wishes GraphView::wishes() const { return wishesIn(*newest_, shown_, awaited_, wanted_.highlight); }

void GraphView::restoreView() {
  switch (std::exchange(shown_.moveTo, MoveTo::Nowhere)) {
    case MoveTo::Nowhere:
      break;
    case MoveTo::FirstLook:
      if (!userMoved_) camera_ = firstLook(*shown_.scene.layout, freeArea());
      break;
    case MoveTo::Item:
      showItem(shown_.moveItem);
      break;
    case MoveTo::Place: {
      const int box = shown_.scene.boxOf(shown_.moveItem);
      if (box < 0) break;
      const QPointF middle = shown_.scene.box(box).rect.center();
      moveCamera(Camera{place_.zoom, {}}.placing(middle, place_.screen), true);
      break;
    }
    case MoveTo::Highlight:
      if (marks_.lighting.nearBounds().isEmpty()) break;
      userMoved_ = true;
      moveCamera(lookAtNames(marks_.lighting.nearBounds(), marks_.lighting.focus(), freeArea()), true);
      break;
  }
  shown_.moveItem = -1;
}

void GraphView::setHighlight(const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath,
                             const QString& reason) {
  rememberPlace();
  overlays_.setBlockerReason(reason);
  reach_ = {};
  wanted_.highlight = Highlight{graph, blockerPath};
  shown_.openForLight.clear();
  if (document_ != nullptr) requestLayout();
}

void GraphView::setOwnCentering(const QString& title, const QString& detail) {
  overlays_.centeringCallout()->setWords(title, detail);
}

void GraphView::clearHighlight() {
  if (!wanted_.highlight) return;
  wanted_.highlight.reset();
  // Groups opened for it stay open: closing them under the user's eyes would only confuse.
  shown_.open = shown_.groups();
  shown_.openForLight.clear();
  marks_.lighting = {};
  updateOverlays();
  update();
}

void GraphView::setPlan(std::optional<PlanPicture> plan) {
  wanted_.plan = std::move(plan);
  const bool drawn = wanted_.plan && !shown_.scene.empty();
  marks_.plan = drawn ? PlanMarks(shown_.scene, *wanted_.plan) : PlanMarks();
  update();
}

void GraphView::setZeroMeanMap(std::optional<protocol::ZeroMeanMap> map) {
  wanted_.means = std::move(map);
  const bool drawn = wanted_.means && !shown_.scene.empty();
  marks_.means = drawn ? MeanStates(shown_.scene, *wanted_.means) : MeanStates();
  updateOverlays();
  update();
}

int GraphView::itemOfScope(int scope) const {
  return shown_.scene.hierarchy == nullptr ? -1 : shown_.scene.hierarchy->itemOfScope(scope);
}

void GraphView::anchorAt(int item) {
  shown_.anchorItem = item;
  shown_.moveTo = MoveTo::Nowhere;
  userMoved_ = true;
}

void GraphView::toggle(int item) {
  if (item < 0) return;
  rememberPlace();
  anchorAt(item);
  shown_.setOpen(*shown_.scene.hierarchy, item, !shown_.groups().contains(item));
  requestLayout();
}

void GraphView::reveal(int node) {
  if (wanted_.highlight) wanted_.highlight->moves = false;
  if (!rebuilding()) return goTo(shown_.scene.hierarchy->itemOfId(node));
  awaited_.node = node;
  awaited_.move = true;
}

void GraphView::revealScope(int scope) {
  if (!rebuilding()) return goTo(itemOfScope(scope));
  awaited_.scope = scope;
}

void GraphView::goTo(int item) {
  if (item < 0) return;
  rememberPlace();
  select(item, -1);
  shown_.moveItem = item;
  if (item == 0) {
    fit();
  } else if (shown_.openAround(*shown_.scene.hierarchy, item) || worker_.busy()) {
    shown_.moveTo = MoveTo::Item;
    requestLayout();
  } else {
    showItem(item);
  }
}

void GraphView::setScopesOpen(const std::vector<ScopeState>& scopes) {
  bool any = false;
  for (const ScopeState& scope : scopes) {
    const int item = itemOfScope(scope.scope);
    if (item < 0) continue;
    any = true;
    if (scope.open) shown_.openAround(*shown_.scene.hierarchy, item);
    anchorAt(item);
    shown_.setOpen(*shown_.scene.hierarchy, item, scope.open);
  }
  if (any) requestLayout();
}

bool GraphView::isScopeOpen(int scope) const {
  const int item = itemOfScope(scope);
  const int box = shown_.scene.boxOf(item);
  return item == 0 ||
         (box >= 0 && shown_.scene.box(box).item == item && shown_.scene.box(box).kind == layout::BoxKind::Frame);
}

}  // namespace normlens::graphview
