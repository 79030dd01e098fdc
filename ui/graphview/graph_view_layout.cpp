// GraphView: which groups are open, and what happens when a layout arrives.
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QMenu>
#include <QMetaMethod>
#include <QVariantAnimation>
#include <algorithm>
#include <limits>
#include <utility>

#include "ui/graphview/graph_view.h"
#include "ui/graphview/overlays/centering_callout.h"

namespace normlens::graphview {

void GraphView::setDocument(std::shared_ptr<const protocol::GraphDocument> document) {
  worker_.cancel();
  document_ = std::move(document);
  titles_.clear();
  newest_ = nullptr;
  shown_ = {};
  wanted_ = WantedMarks{.norms = {},
                        .nodes = std::move(wanted_.nodes),
                        .plan = {},
                        .means = {},
                        .highlight = {},
                        .times = std::nullopt,
                        .letters = wanted_.letters};
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

void GraphView::updateDocument(std::shared_ptr<const protocol::GraphDocument> document, layout::NodeTitles titles) {
  const bool named = titles != titles_;
  if (document_ == nullptr || document == nullptr || (document == document_ && !named)) return;
  const auto& before = document_->values;
  const auto& now = document->values;
  // A stream is drawn as one once its shape is known.
  const auto drawnAlike = [](const protocol::GraphValue& a, const protocol::GraphValue& b) {
    return a.id == b.id && a.stream == b.stream && a.constant == b.constant &&
           (!a.stream || a.has_shape == b.has_shape);
  };
  const bool streams = !std::equal(before.begin(), before.end(), now.begin(), now.end(), drawnAlike);
  titles_ = std::move(titles);
  document_ = std::move(document);
  if (streams || named || worker_.busy() || rebuilding()) {
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
  layout::LayoutRequest request{document_, newest_, titles_, options_, std::nullopt, direction_};
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
  updateOverlays();
  goToWantedPlace();
  restoreView();
  cameraChanged();
  Q_EMIT layoutFinished();
}

bool GraphView::stopLayout() {
  if (!worker_.busy()) return false;
  worker_.cancel();
  message_.stage.clear();
  if (shown_.scene.empty()) {
    setError(tr("The graph's layout was stopped. Press Enter to resume."));
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
      updateOverlays();  // which it keeps clear of
      if (!userMoved_) lookFirst();
      break;
    case MoveTo::Item:
      showItem(shown_.moveItem);
      break;
    case MoveTo::Anchor: {
      const int box = shown_.scene.boxOf(shown_.moveItem);
      if (box < 0) break;
      const QPointF middle = shown_.scene.box(box).rect.center();
      moveCamera(Camera{anchor_.zoom, {}}.placing(middle, anchor_.screen), true);
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

void GraphView::setTimes(std::optional<NodeTimes> times) {
  wanted_.times = std::move(times);
  const bool drawn = wanted_.times && !shown_.scene.empty();
  marks_.heat = drawn ? Heat(*shown_.scene.hierarchy, *wanted_.times) : Heat();
  update();
}

void GraphView::setLetters(bool shown) {
  wanted_.letters = marks_.letters = shown;
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

// ---- the context menu

void GraphView::contextMenuEvent(QContextMenuEvent* event) {
  if (shown_.scene.empty()) return;
  if (event->reason() == QContextMenuEvent::Mouse) {
    const Hit hit = hitAt(event->pos());
    if (hit.box >= 0 || hit.edge >= 0) selectByUser(hit);
    showMenu(hit, event->globalPos());
  } else if (shown_.selectedItem >= 0) {
    const int box = shown_.scene.boxOf(shown_.selectedItem);
    const QRectF rect = camera_.toScreen(shown_.scene.box(box).rect);
    showMenu({box, -1, false}, mapToGlobal(rect.center().toPoint()));
  }
}

void GraphView::showMenu(const Hit& hit, const QPoint& globalPosition) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const int item = hit.box < 0 ? -1 : shown_.scene.box(hit.box).item;
  const bool group = item >= 0 && shown_.scene.hierarchy->item(item).kind == layout::ItemKind::Group;
  int value = item >= 0 ? shown_.scene.hierarchy->outputOf(item) : -1;
  QString name = item >= 0 ? QString::fromStdString(shown_.scene.hierarchy->path(item)) : QString();
  if (hit.edge >= 0 && shown_.scene.valueOfEdge(hit.edge) >= 0) {
    const auto& v = shown_.scene.hierarchy->document->values[static_cast<size_t>(shown_.scene.valueOfEdge(hit.edge))];
    value = v.id;
    name = QString::fromStdString(v.name);
  }
  if (value >= 0) {
    QAction* center = menu->addAction(tr("Center here"), this, [this, value] { Q_EMIT centerHereRequested(value); });
    center->setToolTip(tr("Subtract the mean at this point at run time"));
  }
  // The signal of a graph beside another one is connected to nothing.
  if (value >= 0 && isSignalConnected(QMetaMethod::fromSignal(&GraphView::compareHereRequested))) {
    QAction* compare =
        menu->addAction(tr("Compare values here"), this, [this, value] { Q_EMIT compareHereRequested(value); });
    compare->setToolTip(tr("Add this value to the differences between the two models"));
  }
  const int node = item >= 0 ? shown_.scene.hierarchy->nodeId(item) : -1;
  if (node >= 0 && shown_.scene.hierarchy->item(item).role == 'L') {
    QAction* cone =
        menu->addAction(tr("Show what its centering reaches"), this, [this, node] { Q_EMIT shiftConeRequested(node); });
    cone->setToolTip(
        tr("Highlight the values that shift when the plan centers its weights, up to where the shift has no effect"));
  }
  if (!name.isEmpty()) menu->addAction(tr("Copy name"), this, [name] { QApplication::clipboard()->setText(name); });
  if (group) {
    const bool open = shown_.scene.box(hit.box).kind == layout::BoxKind::Frame;
    // Another hierarchy may be on screen before the menu is answered.
    const auto itemNow = [this, item, of = shown_.scene.hierarchy] {
      return shown_.scene.hierarchy == nullptr ? -1 : counterpart(item, *of, *shown_.scene.hierarchy);
    };
    menu->addSeparator();
    menu->addAction(open ? tr("Collapse") : tr("Expand"), this, [this, itemNow] { toggle(itemNow()); });
    menu->addAction(tr("Expand all below"), this, [this, itemNow] {
      const int now = itemNow();
      anchorAt(now);
      if (now >= 0) shown_.openBelow(*shown_.scene.hierarchy, now);
      requestLayout();
    });
  }
  if (item < 0) {
    menu->addAction(tr("Show everything"), this, &GraphView::fit);
    menu->addAction(tr("Expand all"), this, &GraphView::expandAll);
    menu->addAction(tr("Collapse all"), this, &GraphView::collapseAll);
    menu->addAction(tr("Reset groups"), this, &GraphView::resetGroups);
    menu->addAction(tr("Keys and gestures"), this, [this] { overlays_.toggleKeys(); });
  }
  menu->popup(globalPosition);
}

// ---- how deep groups are open, which way the data runs, back and forward, and the place a project keeps

void GraphView::setOptions(const layout::HierarchyOptions& options) {
  if (options == options_) return;
  options_ = options;
  if (document_ != nullptr) rebuildHierarchy();
}

void GraphView::setDirection(layout::Direction direction) {
  if (direction == direction_) return;
  direction_ = direction;
  if (document_ == nullptr) return;
  shown_.anchorItem = -1;
  userMoved_ = false;
  shown_.moveTo = MoveTo::FirstLook;
  requestLayout();
}

void GraphView::showGroups(layout::GroupSet groups) {
  rememberPlace();
  shown_.open = std::move(groups);
  shown_.openForLight.clear();
  userMoved_ = false;
  shown_.moveTo = MoveTo::FirstLook;
  requestLayout();
}

void GraphView::expandToDepth(int levels) {
  if (shown_.scene.hierarchy != nullptr) showGroups(groupsToDepth(*shown_.scene.hierarchy, levels));
}

void GraphView::expandAll() { expandToDepth(std::numeric_limits<int>::max()); }

void GraphView::collapseAll() { expandToDepth(0); }

void GraphView::resetGroups() {
  if (shown_.scene.hierarchy != nullptr) showGroups(layout::defaultExpanded(*shown_.scene.hierarchy));
}

// ---- back and forward

void GraphView::rememberPlace() {
  if (const auto here = viewAnchorAt(shown_.scene, camera_, QRectF(rect()).center())) history_.leave(*here);
  Q_EMIT historyChanged();
}

void GraphView::goBack() {
  if (const auto here = viewAnchorAt(shown_.scene, camera_, QRectF(rect()).center())) showAnchor(history_.back(*here));
}

void GraphView::goForward() {
  if (const auto here = viewAnchorAt(shown_.scene, camera_, QRectF(rect()).center()))
    showAnchor(history_.forward(*here));
}

void GraphView::showAnchor(const std::optional<ViewAnchor>& anchor) {
  if (!anchor) return;
  Q_EMIT historyChanged();
  const int item = anchor->node >= 0 ? shown_.scene.hierarchy->itemOfId(anchor->node) : itemOfScope(anchor->scope);
  if (item < 0) return;
  userMoved_ = true;
  anchor_ = *anchor;
  shown_.moveItem = item;
  shown_.moveTo = MoveTo::Anchor;
  if (shown_.openAround(*shown_.scene.hierarchy, item) || worker_.busy()) {
    requestLayout();
  } else {
    restoreView();
  }
}

// ---- where the user is in the drawing, taken and put back, for projects

ViewPlace GraphView::place() const {
  ViewPlace place;
  if (shown_.scene.layout == nullptr) return place;
  for (const int group : shown_.open) place.openGroups.push_back(shown_.scene.hierarchy->path(group));
  std::sort(place.openGroups.begin(), place.openGroups.end());
  place.zoom = camera_.zoom;
  place.center = camera_.toWorld(QRectF(rect()).center());
  return place;
}

void GraphView::setPlace(const ViewPlace& place) {
  if (place.zoom <= 0) return;
  awaited_.place = place;
  std::sort(awaited_.place->openGroups.begin(), awaited_.place->openGroups.end());
  if (document_ != nullptr) requestLayout();
}

void GraphView::goToWantedPlace() {
  if (!awaited_.place) return;
  if (animation_ != nullptr) animation_->stop();
  const double zoom = std::clamp(awaited_.place->zoom, Camera::kMinZoom, Camera::kMaxZoom);
  camera_ = Camera{zoom, {}}.placing(awaited_.place->center, QRectF(rect()).center());
  userMoved_ = true;
  shown_.moveTo = MoveTo::Nowhere;
  awaited_.place.reset();
}

// ---- the path under the pointer

void GraphView::followPath() {
  reach_ = Reach();
  if (!shown_.scene.empty() && !marks_.lighting.active() && !marks_.means.active() && !dragging_) {
    if (hover_.edge >= 0 && shown_.scene.valueOfEdge(hover_.edge) >= 0) {
      reach_ = Reach::ofValue(shown_.scene, shown_.scene.valueOfEdge(hover_.edge));
    } else if (hover_.box >= 0) {
      const layout::Box& box = shown_.scene.box(hover_.box);
      // The ground of an open group is under the pointer nearly always.
      if (box.kind != layout::BoxKind::Frame) reach_ = Reach::ofItem(shown_.scene, box.item);
    }
  }
  update();
}

}  // namespace normlens::graphview
