// GraphView: which groups are open, and what happens when a layout arrives.
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/graphview/graph_view.h"
#include "ui/layout/visible_edges.h"

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
  hierarchy_ = nullptr;
  scene_ = {};
  open_.reset();
  openForLight_.clear();
  reopen_.clear();
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
  selectedItem_ = selectedValue_ = pendingNode_ = pendingScope_ = anchorItem_ = -1;
  moveTo_ = MoveTo::FirstLook;
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
  if (streams || worker_.busy() || hierarchy_ == nullptr) {
    rebuildHierarchy();
    return;
  }
  // Only names of shapes: the layout stands.
  auto hierarchy = std::make_shared<layout::Hierarchy>(*hierarchy_);
  hierarchy->document = document_;
  hierarchy_ = hierarchy;
  scene_.hierarchy = hierarchy;
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
  if (scene_.hierarchy == nullptr) return;
  for (const protocol::NormInfo& norm : norms_) {
    const int item = scene_.hierarchy->itemOfId(norm.node);
    if (item < 0) continue;
    const Verdict verdict = verdictOf(norm.verdict);
    verdicts_[item] = verdict;
    for (int group = scene_.hierarchy->item(item).parent; group >= 0; group = scene_.hierarchy->item(group).parent)
      ++verdictCounts_[group][static_cast<size_t>(verdict)];
  }
}

// Items are numbered anew: what is open is carried over by path.
void GraphView::rebuildHierarchy() {
  if (hierarchy_ != nullptr && open_) {
    reopen_.clear();
    for (const int group : *open_) reopen_.push_back(hierarchy_->path(group));
    for (const int group : openForLight_) reopen_.push_back(hierarchy_->path(group));
    if (selectedItem_ >= 0 && pendingNode_ < 0 && hierarchy_->item(selectedItem_).node >= 0) {
      pendingNode_ = document_->nodes[static_cast<size_t>(hierarchy_->item(selectedItem_).node)].id;
      if (moveTo_ == MoveTo::Item) moveTo_ = MoveTo::Nowhere;
    }
  }
  hierarchy_ = nullptr;
  open_.reset();
  openForLight_.clear();
  selectedItem_ = -1;
  requestLayout();
}

void GraphView::requestLayout() {
  if (document_ == nullptr) return;
  layout::LayoutRequest request{document_, hierarchy_, options_, std::nullopt, direction_};
  if (open_) {
    request.expanded = open_;
    request.expanded->insert(openForLight_.begin(), openForLight_.end());
  }
  stage_.clear();
  worker_.request(std::move(request));
  updateSpinner();
}

void GraphView::takeLayout(const layout::LayoutResult& result) {
  const bool newHierarchy = hierarchy_ != result.hierarchy;
  hierarchy_ = result.hierarchy;
  if (!open_) open_ = result.expanded;
  if (openWhatIsPending() || openWantedGroups()) {
    requestLayout();
    return;
  }
  const Camera before = camera_;
  const std::optional<QPointF> anchor = newHierarchy ? std::nullopt : anchorPoint(anchorItem_);
  const QPointF anchorScreen = anchor ? before.toScreen(*anchor) : QPointF();
  scene_ = Scene(result.hierarchy, result.layout);
  hover_ = {};
  reach_ = {};
  stage_.clear();
  judgeNorms();
  diffMarks_ = DiffMarks(*scene_.hierarchy, nodeMarks_);
  relight();
  if (meanMap_) means_ = MeanStates(scene_, *meanMap_);
  updateSpinner();
  if (anchor && moveTo_ == MoveTo::Nowhere) {
    if (const auto now = anchorPoint(anchorItem_)) camera_ = camera_.placing(*now, anchorScreen);
  }
  anchorItem_ = -1;
  goToWantedPlace();
  restoreView(before);
  updateOverlays();
  cameraChanged();
  Q_EMIT layoutFinished();
}

// Opens what waits for a hierarchy: groups of an earlier one, of a reveal, of a highlight. True if anything was opened.
bool GraphView::openWhatIsPending() {
  const size_t before = open_->size() + openForLight_.size();
  if (!reopen_.empty()) {
    std::sort(reopen_.begin(), reopen_.end());
    for (size_t i = 1; i < hierarchy_->items.size(); ++i) {
      const int group = static_cast<int>(i);
      if (hierarchy_->item(group).kind != layout::ItemKind::Group) continue;
      if (std::binary_search(reopen_.begin(), reopen_.end(), hierarchy_->path(group))) open_->insert(group);
    }
    reopen_.clear();
  }
  if (pendingScope_ >= 0) {
    const int item = itemOfScope(std::exchange(pendingScope_, -1));
    if (item >= 0) {
      openGroupsAround(item);
      moveItem_ = item;
      moveTo_ = MoveTo::Item;
    }
  }
  if (pendingNode_ >= 0) {
    const int item = hierarchy_->itemOfId(std::exchange(pendingNode_, -1));
    if (item >= 0) {
      if (moveItem_ == -2) openGroupsAround(item);
      if (moveItem_ == -2) moveItem_ = item;
      selectedItem_ = item;
    }
  }
  if (highlight_ && highlightIsNew_) {
    highlightIsNew_ = false;
    openForLight_ = groupsToOpen(*hierarchy_, *open_, *highlight_, blockerPath_);
    moveTo_ = MoveTo::Highlight;
  }
  return open_->size() + openForLight_.size() != before;
}

void GraphView::restoreView(const Camera& before) {
  const MoveTo move = std::exchange(moveTo_, MoveTo::Nowhere);
  switch (move) {
    case MoveTo::Nowhere:
      break;
    case MoveTo::FirstLook:
      if (!userMoved_) camera_ = firstCamera();
      break;
    case MoveTo::Item:
      showItem(moveItem_, before.zoom != 1 || scene_.layout != nullptr);
      break;
    case MoveTo::Place: {
      const int box = scene_.layout->shownBox(*scene_.hierarchy, moveItem_);
      if (box < 0) break;
      const QPointF middle = scene_.layout->boxes[static_cast<size_t>(box)].rect.center();
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
  moveItem_ = -1;
}

// Where an item hangs: the end of the stream that enters it, else the middle of its top.
std::optional<QPointF> GraphView::anchorPoint(int item) const {
  if (item < 0 || scene_.layout == nullptr || static_cast<size_t>(item) >= scene_.layout->boxOfItem.size())
    return std::nullopt;
  const int box = scene_.layout->shownBox(*scene_.hierarchy, item);
  if (box < 0) return std::nullopt;
  const QRectF rect = scene_.layout->boxes[static_cast<size_t>(box)].rect;
  for (const layout::Edge& edge : scene_.layout->edges) {
    const QPointF end = scene_.layout->points[static_cast<size_t>(edge.firstPoint + edge.pointCount - 1)];
    const bool down = scene_.layout->direction == layout::Direction::Down;
    const double off = down ? end.y() - rect.top() : end.x() - rect.left();
    if (edge.stream && std::abs(off) < 1.5 && rect.adjusted(-2, -2, 2, 2).contains(end)) return end;
  }
  return scene_.layout->direction == layout::Direction::Down ? QPointF(rect.center().x(), rect.top())
                                                             : QPointF(rect.left(), rect.center().y());
}

void GraphView::relight() { lighting_ = highlight_ ? Lighting(scene_, *highlight_, blockerPath_) : Lighting(); }

void GraphView::setHighlight(const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath) {
  rememberPlace();
  reach_ = {};
  highlight_ = graph;
  blockerPath_ = blockerPath;
  openForLight_.clear();
  highlightIsNew_ = true;
  if (document_ != nullptr) requestLayout();
}

void GraphView::clearHighlight() {
  if (!highlight_) return;
  highlight_.reset();
  blockerPath_.clear();
  highlightIsNew_ = false;
  // What was opened for it stays open: closing it under the user's eyes would only confuse.
  if (open_) open_->insert(openForLight_.begin(), openForLight_.end());
  openForLight_.clear();
  relight();
  updateOverlays();
  update();
}

void GraphView::setZeroMeanMap(std::optional<protocol::ZeroMeanMap> map) {
  meanMap_ = std::move(map);
  means_ = meanMap_ && !scene_.empty() ? MeanStates(scene_, *meanMap_) : MeanStates();
  updateOverlays();
  update();
}

int GraphView::itemOfScope(int scope) const {
  if (hierarchy_ == nullptr) return -1;
  const auto& scopes = hierarchy_->document->scopes;
  for (size_t i = 0; i < hierarchy_->items.size(); ++i) {
    const int index = hierarchy_->items[i].scope;
    if (index >= 0 && scopes[static_cast<size_t>(index)].id == scope) return static_cast<int>(i);
  }
  // A dissolved container: its first block.
  const std::vector<int> byId = layout::indexById(scopes);
  if (scope < 0 || static_cast<size_t>(scope) >= byId.size() || byId[static_cast<size_t>(scope)] < 0) return -1;
  const std::string prefix = scopes[static_cast<size_t>(byId[static_cast<size_t>(scope)])].path + ".";
  for (size_t i = 1; i < hierarchy_->items.size(); ++i) {
    if (hierarchy_->path(static_cast<int>(i)).starts_with(prefix)) return static_cast<int>(i);
  }
  return -1;
}

// Open: so that the item itself is drawn. Closed one-op groups stay: they show their op.
bool GraphView::openGroupsAround(int item) {
  bool opened = false;
  for (int group = hierarchy_->item(item).parent; group > 0; group = hierarchy_->item(group).parent) {
    if (!hierarchy_->item(group).slim) opened = open_->insert(group).second || opened;
  }
  return opened;
}

void GraphView::setOpen(int item, bool open, bool below) {
  if (hierarchy_ == nullptr || !open_ || item < 0 || hierarchy_->item(item).kind != layout::ItemKind::Group) return;
  if (open) {
    open_->insert(item);
  } else if (item != 0) {
    open_->erase(item);
    openForLight_.erase(item);
  }
  if (!below) return;
  for (const int child : hierarchy_->item(item).children) {
    if (hierarchy_->item(child).kind == layout::ItemKind::Group && !(open && hierarchy_->item(child).slim))
      setOpen(child, open, true);
  }
}

void GraphView::anchorAt(int item) {
  anchorItem_ = item;
  moveTo_ = MoveTo::Nowhere;
  userMoved_ = true;
}

void GraphView::toggle(int item) {
  if (!open_) return;
  rememberPlace();
  anchorAt(item);
  setOpen(item, !open_->contains(item) && !openForLight_.contains(item), false);
  requestLayout();
}

void GraphView::reveal(int node, bool select) {
  if (hierarchy_ == nullptr || !open_) {
    pendingNode_ = node;
    moveItem_ = -2;
    moveTo_ = MoveTo::Item;
    return;
  }
  const int item = hierarchy_->itemOfId(node);
  if (item < 0) return;
  rememberPlace();
  if (select) this->select(item, -1);
  moveItem_ = item;
  if (openGroupsAround(item) || worker_.busy()) {
    moveTo_ = MoveTo::Item;
    requestLayout();
  } else {
    showItem(item, true);
  }
}

void GraphView::revealScope(int scope) {
  if (hierarchy_ == nullptr || !open_) {
    pendingScope_ = scope;
    return;
  }
  const int item = itemOfScope(scope);
  if (item < 0) return;
  rememberPlace();
  moveItem_ = item;
  select(item, -1);
  if (item > 0 && (openGroupsAround(item) || worker_.busy())) {
    moveTo_ = MoveTo::Item;
    requestLayout();
  } else if (item > 0) {
    showItem(item, true);
  } else {
    fit();
  }
}

void GraphView::expandScope(int scope, bool open) {
  const int item = itemOfScope(scope);
  if (item < 0 || !open_) return;
  if (open) openGroupsAround(item);
  anchorAt(item);
  setOpen(item, open, false);
  requestLayout();
}

bool GraphView::isScopeOpen(int scope) const {
  const int item = itemOfScope(scope);
  const int box = item < 0 || scene_.layout == nullptr ? -1 : scene_.layout->boxOfItem[static_cast<size_t>(item)];
  return item == 0 || (box >= 0 && scene_.layout->boxes[static_cast<size_t>(box)].kind == layout::BoxKind::Frame);
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
