#include "ui/graphview/linked_views.h"

#include <QScopedValueRollback>
#include <limits>
#include <unordered_map>

#include "ui/graphview/graph_view.h"

namespace normlens::graphview {
namespace {

using layout::Box;
using layout::Item;

const protocol::GraphDocument* documentOf(const GraphView* view) {
  return view->scene().hierarchy != nullptr ? view->scene().hierarchy->document.get() : nullptr;
}

std::unordered_map<std::string, int> scopesByPath(const protocol::GraphDocument& document) {
  std::unordered_map<std::string, int> scopes;
  for (const auto& scope : document.scopes) scopes.emplace(scope.path, scope.id);
  return scopes;
}

}  // namespace

LinkedViews::LinkedViews(GraphView* a, GraphView* b, QObject* parent) : QObject(parent), a_(a), b_(b) {
  for (GraphView* view : {a, b}) {
    connect(view, &GraphView::viewMoved, this, [this, view] { follow(view); });
    connect(view, &GraphView::layoutFinished, this, [this, view] { openTheSame(view); });
  }
}

void LinkedViews::setLinked(bool linked) {
  linked_ = linked;
  if (!linked) return;
  openTheSame(a_);
  follow(a_);
}

void LinkedViews::show(int a, int b) {
  const QScopedValueRollback<bool> moving(following_, a >= 0 && b >= 0);
  const auto reveal = [](GraphView* view, int place) {
    const auto* document = documentOf(view);
    if (document == nullptr) return;
    place < 0 ? view->selectNode(-1) : view->reveal(document->nodes[static_cast<size_t>(place)].id);
  };
  reveal(a_, a);
  reveal(b_, b);
}

// Made once per layout: a view moves at every step of a drag.
const std::unordered_map<std::string, int>& LinkedViews::groupBoxesOf(const GraphView* view) {
  GroupBoxes& known = view == a_ ? groupsA_ : groupsB_;
  const Scene& scene = view->scene();
  if (known.layout == scene.layout) return known.boxByPath;
  known = {scene.layout, {}};
  for (size_t i = 0; i < scene.layout->boxes.size(); ++i) {
    const Box& box = scene.layout->boxes[i];
    if (scene.itemOf(box).kind != layout::ItemKind::Group) continue;
    known.boxByPath.emplace(scene.hierarchy->path(box.item), static_cast<int>(i));
  }
  return known.boxByPath;
}

// The box nearest to the middle that the other graph has as well comes to the same place on the screen there.
void LinkedViews::follow(GraphView* moved) {
  GraphView* follower = other(moved);
  if (!linked_ || following_ || moved->scene().empty() || follower->scene().empty()) return;
  const Scene& from = moved->scene();
  const Scene& to = follower->scene();
  const auto& partners = sideOf(moved).partners;
  const auto& groups = groupBoxesOf(follower);
  const auto counterpart = [&](const Box& box) {
    const Item& item = from.itemOf(box);
    if (item.kind == layout::ItemKind::Group) {
      const auto found = groups.find(from.hierarchy->path(box.item));
      return found == groups.end() ? -1 : found->second;
    }
    const bool paired = item.node >= 0 && static_cast<size_t>(item.node) < partners.size();
    const int node = paired ? partners[static_cast<size_t>(item.node)] : -1;
    const int there = node >= 0 ? to.hierarchy->itemOfNode[static_cast<size_t>(node)] : -1;
    return to.boxOf(there);
  };
  const QRectF screen(moved->rect());
  const QPointF middle = moved->camera().toWorld(screen.center());
  std::vector<int> boxes;
  from.boxIndex.query(moved->camera().toWorld(screen), boxes);
  double nearest = std::numeric_limits<double>::max();
  int best = -1, bestThere = -1;
  for (const int index : boxes) {
    const Box& box = from.box(index);
    if (box.kind == layout::BoxKind::Frame) continue;
    const QPointF away = box.rect.center() - middle;
    const double distance = QPointF::dotProduct(away, away);
    if (distance >= nearest) continue;
    if (const int there = counterpart(box); there >= 0) {
      nearest = distance;
      best = index;
      bestThere = there;
    }
  }
  if (best < 0) return;
  const QPointF here = moved->camera().toScreen(from.box(best).rect.center());
  const QPointF place = here - screen.center() + QRectF(follower->rect()).center();
  const QScopedValueRollback<bool> moving(following_, true);
  follower->setCamera(Camera{moved->camera().zoom, {}}.placing(to.box(bestThere).rect.center(), place));
}

void LinkedViews::openTheSame(GraphView* changed) {
  GraphView* follower = other(changed);
  const auto* from = documentOf(changed);
  const auto* to = documentOf(follower);
  if (!linked_ || from == nullptr || to == nullptr) return;
  const auto theirs = scopesByPath(*to);
  std::vector<ScopeState> others;
  for (const auto& scope : from->scopes) {
    const auto found = theirs.find(scope.path);
    if (scope.id == 0 || found == theirs.end()) continue;
    const bool open = changed->isScopeOpen(scope.id);
    if (follower->isScopeOpen(found->second) != open) others.push_back({found->second, open});
  }
  follower->setScopesOpen(others);
  follow(changed);
}

}  // namespace normlens::graphview
