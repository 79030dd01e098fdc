#include "ui/graphview/compare/linked_views.h"

#include <QScopedValueRollback>
#include <algorithm>
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

void LinkedViews::setDiff(GraphDiff diff) {
  diff_ = std::move(diff);
  current_ = -1;
  collectDifferences();
}

void LinkedViews::setLinked(bool linked) {
  linked_ = linked;
  if (!linked) return;
  openTheSame(a_);
  follow(a_);
}

// What b has alone stands behind what comes before it in both.
void LinkedViews::collectDifferences() {
  differences_.clear();
  for (size_t node = 0; node < diff_.a.marks.size(); ++node) {
    if (diff_.a.marks[node] == NodeMark::Same) continue;
    differences_.push_back({static_cast<double>(node), static_cast<int>(node), diff_.a.partners[node]});
  }
  double before = -1;
  for (size_t node = 0; node < diff_.b.marks.size(); ++node) {
    if (diff_.b.marks[node] == NodeMark::Only) {
      differences_.push_back({before + 0.5, -1, static_cast<int>(node)});
    } else {
      before = diff_.b.partners[node];
    }
  }
  std::ranges::stable_sort(differences_, {}, &Difference::order);
}

void LinkedViews::showNextDifference(bool forward) {
  if (differences_.empty()) return;
  const int count = static_cast<int>(differences_.size());
  current_ = current_ < 0 ? (forward ? 0 : count - 1) : (current_ + (forward ? 1 : count - 1)) % count;
  const Difference& difference = differences_[static_cast<size_t>(current_)];
  const QScopedValueRollback<bool> moving(following_, true);
  const auto show = [](GraphView* view, int place) {
    const auto* document = documentOf(view);
    if (document != nullptr && place >= 0) view->reveal(document->nodes[static_cast<size_t>(place)].id);
  };
  show(a_, difference.a);
  show(b_, difference.b);
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
