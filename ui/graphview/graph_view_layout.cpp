// GraphView: which groups are open, and what happens when a layout arrives.
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/graphview/graph_view.h"

namespace normlens::graphview {
namespace {

Verdict verdictOf(const std::string& word) {
  if (word == "free") return Verdict::Free;
  if (word == "with_centering") return Verdict::Centering;
  return word == "blocked" ? Verdict::Blocked : Verdict::None;
}

}  // namespace

void GraphView::setDocument(std::shared_ptr<const protocol::GraphDocument> document) {
  worker_.cancel();
  document_ = std::move(document);
  newest_ = nullptr;
  shown_ = {};
  scopeItems_ = {};
  highlight_.reset();
  lighting_ = {};
  reach_ = {};
  meanMap_.reset();
  means_ = {};
  history_.clear();
  Q_EMIT historyChanged();
  norms_.clear();
  verdicts_.clear();
  hover_ = {};
  pendingNode_ = pendingScope_ = -1;
  pendingMove_ = false;
  userMoved_ = false;
  error_.clear();
  stage_.clear();
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
  // Only names of shapes: the layout stands.
  auto hierarchy = std::make_shared<layout::Hierarchy>(*shown_.scene.hierarchy);
  hierarchy->document = document_;
  newest_ = hierarchy;
  shown_.scene.hierarchy = hierarchy;
  update();
}

void GraphView::setNorms(const std::vector<protocol::NormInfo>& norms) {
  norms_ = norms;
  judgeNorms();
  update();
}

void GraphView::judgeNorms() {
  verdicts_.clear();
  verdictCounts_.clear();
  if (shown_.scene.hierarchy == nullptr) return;
  for (const protocol::NormInfo& norm : norms_) {
    const int item = shown_.scene.hierarchy->itemOfId(norm.node);
    if (item < 0) continue;
    const Verdict verdict = verdictOf(norm.verdict);
    verdicts_[item] = verdict;
    for (int group = shown_.scene.hierarchy->item(item).parent; group >= 0;
         group = shown_.scene.hierarchy->item(group).parent)
      ++verdictCounts_[group][static_cast<size_t>(verdict)];
  }
}

// What is on screen stays, and can be worked with, until the new one is laid out.
void GraphView::rebuildHierarchy() {
  newest_ = nullptr;
  requestLayout();
}

void GraphView::requestLayout() {
  if (document_ == nullptr) return;
  layout::LayoutRequest request{document_, newest_, options_, std::nullopt, direction_};
  if (newest_ != nullptr) request.expanded = wishesIn(newest_).groups();
  stage_.clear();
  worker_.request(std::move(request));
  updateSpinner();
}

void GraphView::takeLayout(const layout::LayoutResult& result) {
  newest_ = result.hierarchy;
  Wishes wishes = wishesIn(newest_);
  if (wishes.groups() != result.expanded) {
    requestLayout();
    return;
  }
  const Camera before = camera_;
  const std::optional<QPointF> anchor = anchorPoint(shown_.anchorItem);
  const QPointF anchorScreen = anchor ? before.toScreen(*anchor) : QPointF();
  shown_ = Shown{std::move(wishes), Scene(result.hierarchy, result.layout)};
  pendingNode_ = pendingScope_ = -1;
  pendingMove_ = highlightIsNew_ = false;
  hover_ = {};
  reach_ = {};
  stage_.clear();
  judgeNorms();
  diffMarks_ = DiffMarks(*shown_.scene.hierarchy, nodeMarks_);
  relight();
  if (meanMap_) means_ = MeanStates(shown_.scene, *meanMap_);
  updateSpinner();
  if (anchor && shown_.moveTo == MoveTo::Nowhere) {
    if (const auto now = anchorPoint(shown_.anchorItem)) camera_ = camera_.placing(*now, anchorScreen);
  }
  shown_.anchorItem = -1;
  goToWantedPlace();
  restoreView(before);
  updateOverlays();
  cameraChanged();
  Q_EMIT layoutFinished();
}

// What is wished now, by the numbers of a hierarchy, and all that waits for a layout.
Wishes GraphView::wishesIn(const std::shared_ptr<const layout::Hierarchy>& hierarchy) const {
  auto wishes = static_cast<const Wishes&>(shown_);
  if (shown_.scene.hierarchy == nullptr) {
    const std::vector<int> usual = layout::defaultExpanded(*hierarchy);
    wishes.open.insert(usual.begin(), usual.end());
  } else if (shown_.scene.hierarchy != hierarchy) {
    wishes = renumbered(wishes, *shown_.scene.hierarchy, *hierarchy);
  }
  const auto moveTo = [&](int item) {
    wishes.openAround(*hierarchy, item);
    wishes.moveItem = item;
    wishes.moveTo = MoveTo::Item;
  };
  if (const int item = hierarchy->itemOfId(pendingNode_); item >= 0) {
    wishes.selectedItem = item;
    if (pendingMove_) moveTo(item);
  }
  if (pendingScope_ >= 0) {
    if (const int item = scopeItems(hierarchy).item(pendingScope_); item >= 0) moveTo(item);
  }
  if (wantedPlace_) wishes.open = groupsAt(*hierarchy, wantedPlace_->openGroups);
  if (highlight_ && highlightIsNew_) {
    wishes.openForLight = groupsToOpen(*hierarchy, wishes.open, *highlight_, blockerPath_);
    wishes.moveTo = MoveTo::Highlight;
  }
  return wishes;
}

void GraphView::restoreView(const Camera& before) {
  const MoveTo move = std::exchange(shown_.moveTo, MoveTo::Nowhere);
  switch (move) {
    case MoveTo::Nowhere:
      break;
    case MoveTo::FirstLook:
      if (!userMoved_) camera_ = firstCamera();
      break;
    case MoveTo::Item:
      showItem(shown_.moveItem, before.zoom != 1 || shown_.scene.layout != nullptr);
      break;
    case MoveTo::Place: {
      const int box = shown_.scene.layout->shownBox(*shown_.scene.hierarchy, shown_.moveItem);
      if (box < 0) break;
      const QPointF middle = shown_.scene.layout->boxes[static_cast<size_t>(box)].rect.center();
      moveCamera(Camera{place_.zoom, {}}.placing(middle, place_.screen), true);
      break;
    }
    case MoveTo::Highlight: {
      const QRectF near = lighting_.nearBounds();
      if (near.isEmpty()) break;
      userMoved_ = true;
      constexpr double kSmallest = 0.78;  // of a zoom at which names are easy to read
      const Camera whole = Camera::fitting(near.adjusted(0, -6, 0, 6), freeArea());
      const bool fits = whole.zoom >= kSmallest;
      moveCamera(fits ? whole : Camera{kSmallest, {}}.placing(lighting_.focus(), freeArea().center()), true);
      break;
    }
  }
  shown_.moveItem = -1;
}

// Where an item hangs: the end of the stream that enters it, else the middle of its top.
std::optional<QPointF> GraphView::anchorPoint(int item) const {
  if (item < 0 || shown_.scene.layout == nullptr || static_cast<size_t>(item) >= shown_.scene.layout->boxOfItem.size())
    return std::nullopt;
  const int box = shown_.scene.layout->shownBox(*shown_.scene.hierarchy, item);
  if (box < 0) return std::nullopt;
  const QRectF rect = shown_.scene.layout->boxes[static_cast<size_t>(box)].rect;
  for (const layout::Edge& edge : shown_.scene.layout->edges) {
    const QPointF end = shown_.scene.layout->points[static_cast<size_t>(edge.firstPoint + edge.pointCount - 1)];
    const bool down = shown_.scene.layout->direction == layout::Direction::Down;
    const double off = down ? end.y() - rect.top() : end.x() - rect.left();
    if (edge.stream && std::abs(off) < 1.5 && rect.adjusted(-2, -2, 2, 2).contains(end)) return end;
  }
  return shown_.scene.layout->direction == layout::Direction::Down ? QPointF(rect.center().x(), rect.top())
                                                                   : QPointF(rect.left(), rect.center().y());
}

void GraphView::relight() { lighting_ = highlight_ ? Lighting(shown_.scene, *highlight_, blockerPath_) : Lighting(); }

void GraphView::setHighlight(const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath) {
  rememberPlace();
  reach_ = {};
  highlight_ = graph;
  blockerPath_ = blockerPath;
  shown_.openForLight.clear();
  highlightIsNew_ = true;
  if (document_ != nullptr) requestLayout();
}

void GraphView::clearHighlight() {
  if (!highlight_) return;
  highlight_.reset();
  blockerPath_.clear();
  highlightIsNew_ = false;
  // What was opened for it stays open: closing it under the user's eyes would only confuse.
  shown_.open = shown_.groups();
  shown_.openForLight.clear();
  relight();
  updateOverlays();
  update();
}

void GraphView::setZeroMeanMap(std::optional<protocol::ZeroMeanMap> map) {
  meanMap_ = std::move(map);
  means_ = meanMap_ && !shown_.scene.empty() ? MeanStates(shown_.scene, *meanMap_) : MeanStates();
  updateOverlays();
  update();
}

const ScopeItems& GraphView::scopeItems(const std::shared_ptr<const layout::Hierarchy>& hierarchy) const {
  if (scopeItems_.hierarchy() != hierarchy) scopeItems_ = ScopeItems(hierarchy);
  return scopeItems_;
}

int GraphView::itemOfScope(int scope) const {
  return shown_.scene.hierarchy == nullptr ? -1 : scopeItems(shown_.scene.hierarchy).item(scope);
}

bool GraphView::openGroupsAround(int item) { return shown_.openAround(*shown_.scene.hierarchy, item); }

void GraphView::setOpen(int item, bool open, bool below) {
  const auto isGroup = [this](int i) { return shown_.scene.hierarchy->item(i).kind == layout::ItemKind::Group; };
  if (shown_.scene.hierarchy == nullptr || item < 0 || !isGroup(item)) return;
  if (open) {
    shown_.open.insert(item);
  } else if (item != 0) {
    shown_.open.erase(item);
    shown_.openForLight.erase(item);
  }
  if (!below) return;
  for (const int child : shown_.scene.hierarchy->item(item).children) {
    if (isGroup(child) && !(open && shown_.scene.hierarchy->item(child).slim)) setOpen(child, open, true);
  }
}

void GraphView::anchorAt(int item) {
  shown_.anchorItem = item;
  shown_.moveTo = MoveTo::Nowhere;
  userMoved_ = true;
}

void GraphView::toggle(int item) {
  rememberPlace();
  anchorAt(item);
  setOpen(item, !shown_.open.contains(item) && !shown_.openForLight.contains(item), false);
  requestLayout();
}

void GraphView::reveal(int node, bool select) {
  if (rebuilding()) {
    pendingNode_ = node;
    pendingMove_ = true;
    return;
  }
  const int item = shown_.scene.hierarchy->itemOfId(node);
  if (item < 0) return;
  rememberPlace();
  if (select) this->select(item, -1);
  shown_.moveItem = item;
  if (openGroupsAround(item) || worker_.busy()) {
    shown_.moveTo = MoveTo::Item;
    requestLayout();
  } else {
    showItem(item, true);
  }
}

void GraphView::revealScope(int scope) {
  if (rebuilding()) {
    pendingScope_ = scope;
    return;
  }
  const int item = itemOfScope(scope);
  if (item < 0) return;
  rememberPlace();
  shown_.moveItem = item;
  select(item, -1);
  if (item > 0 && (openGroupsAround(item) || worker_.busy())) {
    shown_.moveTo = MoveTo::Item;
    requestLayout();
  } else if (item > 0) {
    showItem(item, true);
  } else {
    fit();
  }
}

void GraphView::expandScope(int scope, bool open) { setScopesOpen({{scope, open}}); }

void GraphView::setScopesOpen(const std::vector<ScopeState>& scopes) {
  bool any = false;
  for (const ScopeState& scope : scopes) {
    const int item = itemOfScope(scope.scope);
    if (item < 0) continue;
    any = true;
    if (scope.open) openGroupsAround(item);
    anchorAt(item);
    setOpen(item, scope.open, false);
  }
  if (any) requestLayout();
}

bool GraphView::isScopeOpen(int scope) const {
  const int item = itemOfScope(scope);
  const int box =
      item < 0 || shown_.scene.layout == nullptr ? -1 : shown_.scene.layout->boxOfItem[static_cast<size_t>(item)];
  return item == 0 || (box >= 0 && shown_.scene.layout->boxes[static_cast<size_t>(box)].kind == layout::BoxKind::Frame);
}

bool GraphView::waitForLayout(int milliseconds) {
  QElapsedTimer timer;
  timer.start();
  while (worker_.busy() && timer.elapsed() < milliseconds) {
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents | QEventLoop::ExcludeUserInputEvents, 20);
  }
  return isLaidOut();
}

}  // namespace normlens::graphview
