#include "ui/graphview/shown.h"

#include <algorithm>

#include "ui/graphview/marks/lighting.h"

namespace normlens::graphview {

using layout::Hierarchy;

layout::GroupSet Wishes::groups() const {
  layout::GroupSet all = open;
  all.insert(openForLight.begin(), openForLight.end());
  return all;
}

bool Wishes::openAround(const Hierarchy& hierarchy, int item) {
  bool opened = false;
  for (int group = hierarchy.item(item).parent; group > 0; group = hierarchy.item(group).parent) {
    if (!hierarchy.item(group).slim) opened = open.insert(group).second || opened;
  }
  return opened;
}

void Wishes::setOpen(const Hierarchy& hierarchy, int item, bool wanted) {
  if (hierarchy.item(item).kind != layout::ItemKind::Group) return;
  if (wanted) {
    open.insert(item);
  } else if (item != 0) {
    open.erase(item);
    openForLight.erase(item);
  }
}

void Wishes::openBelow(const Hierarchy& hierarchy, int item) {
  setOpen(hierarchy, item, true);
  for (const int child : hierarchy.item(item).children) {
    if (!hierarchy.item(child).slim) openBelow(hierarchy, child);
  }
}

layout::GroupSet groupsToDepth(const Hierarchy& hierarchy, int levels) {
  layout::GroupSet open{0};
  std::vector<int> level{0};
  for (int depth = 0; depth < levels && !level.empty(); ++depth) {
    std::vector<int> below;
    for (const int group : level) {
      for (const int child : hierarchy.item(group).children) {
        const layout::Item& item = hierarchy.item(child);
        if (item.kind == layout::ItemKind::Group && !item.slim) below.push_back(child);
      }
    }
    open.insert(below.begin(), below.end());
    level = std::move(below);
  }
  return open;
}

int counterpart(int item, const Hierarchy& from, const Hierarchy& to) {
  if (item < 0) return -1;
  if (from.item(item).kind == layout::ItemKind::Group) {
    const std::string path = from.path(item);
    const int count = static_cast<int>(to.items.size());
    const auto same = [&](int group) {
      return to.item(group).kind == layout::ItemKind::Group && to.path(group) == path;
    };
    if (item < count && same(item)) return item;  // the calls of a shared layer have one path
    for (int group = 0; group < count; ++group) {
      if (same(group)) return group;
    }
  }
  return to.itemOfId(from.nodeId(item));
}

layout::GroupSet groupsAt(const Hierarchy& hierarchy, const std::vector<std::string>& paths) {
  layout::GroupSet groups{0};
  for (size_t i = 1; i < hierarchy.items.size(); ++i) {
    const int group = static_cast<int>(i);
    if (hierarchy.item(group).kind != layout::ItemKind::Group) continue;
    if (std::binary_search(paths.begin(), paths.end(), hierarchy.path(group))) groups.insert(group);
  }
  return groups;
}

namespace {

Wishes renumbered(const Wishes& wishes, const Hierarchy& from, const Hierarchy& to) {
  std::vector<std::string> paths;
  for (const int group : wishes.groups()) paths.push_back(from.path(group));
  std::sort(paths.begin(), paths.end());
  Wishes anew = wishes;
  anew.open = groupsAt(to, paths);
  anew.open.merge(layout::defaultExpanded(to));
  anew.openForLight.clear();
  anew.selectedItem = counterpart(wishes.selectedItem, from, to);
  if (wishes.selectedValue >= 0) {
    const auto& value = from.document->values[static_cast<size_t>(wishes.selectedValue)];
    anew.selectedValue = to.values.of(value.id);
  }
  anew.anchorItem = counterpart(wishes.anchorItem, from, to);
  anew.moveItem = counterpart(wishes.moveItem, from, to);
  return anew;
}

}  // namespace

Wishes wishesIn(const Hierarchy& hierarchy, const Shown& shown, const Awaited& awaited,
                const std::optional<Highlight>& highlight) {
  Wishes wishes = static_cast<const Wishes&>(shown);
  if (shown.scene.hierarchy == nullptr) {
    wishes.open.merge(layout::defaultExpanded(hierarchy));
  } else if (shown.scene.hierarchy.get() != &hierarchy) {
    wishes = renumbered(wishes, *shown.scene.hierarchy, hierarchy);
  }
  const auto moveTo = [&](int item) {
    wishes.openAround(hierarchy, item);
    wishes.moveItem = item;
    wishes.moveTo = MoveTo::Item;
  };
  if (const int item = hierarchy.itemOfId(awaited.node); item >= 0) {
    wishes.selectedItem = item;
    if (awaited.move) moveTo(item);
  }
  if (const int item = hierarchy.itemOfScope(awaited.scope); item >= 0) moveTo(item);
  if (awaited.place) wishes.open = groupsAt(hierarchy, awaited.place->openGroups);
  if (highlight && highlight->isNew) {
    wishes.openForLight = groupsToOpen(hierarchy, wishes.open, highlight->graph, highlight->blockerPath);
    if (highlight->moves) wishes.moveTo = MoveTo::Highlight;
  }
  return wishes;
}

}  // namespace normlens::graphview
