#include "ui/layout/repeats.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace normlens::layout {
namespace {

class Folder {
 public:
  explicit Folder(Hierarchy& hierarchy) : h_(hierarchy), shape_(h_.items.size(), 0) { linkSiblings(); }

  void run() { fold(0); }

 private:
  Item& at(int index) { return h_.items[static_cast<size_t>(index)]; }

  int depthOf(int item) const {
    int depth = 0;
    for (; item > 0; item = h_.item(item).parent) ++depth;
    return depth;
  }

  // Edges between siblings: each data edge at the level where its ends part.
  void linkSiblings() {
    for (const DataEdge& edge : h_.edges) {
      int a = edge.from, b = edge.to;
      if (a < 0 || b < 0) continue;
      int da = depthOf(a), db = depthOf(b);
      for (; da > db; --da) a = h_.item(a).parent;
      for (; db > da; --db) b = h_.item(b).parent;
      while (h_.item(a).parent != h_.item(b).parent) a = h_.item(a).parent, b = h_.item(b).parent;
      if (a != b) next_[a].push_back(b);
    }
  }

  static size_t mix(size_t seed, size_t value) {
    return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
  }

  // What is in an item and in which order, whatever it is called.
  size_t shapeOf(int index) {
    const Item& item = h_.item(index);
    if (item.kind == ItemKind::Op) {
      const auto& node = h_.document->nodes[static_cast<size_t>(item.node)];
      return mix(std::hash<std::string>{}(node.op), static_cast<size_t>(item.role));
    }
    size_t shape = std::hash<std::string>{}(item.type);
    for (const int child : item.children) shape = mix(shape, shape_[static_cast<size_t>(child)]);
    return shape;
  }

  void fold(int group) {
    for (const int child : std::vector<int>(at(group).children)) {
      if (at(child).kind == ItemKind::Group) {
        fold(child);
      } else {
        shape_[static_cast<size_t>(child)] = shapeOf(child);
      }
    }
    foldChildren(group);
    shape_[static_cast<size_t>(group)] = shapeOf(group);
  }

  void foldChildren(int group) {
    const std::vector<int> children = at(group).children;
    std::vector<int> kept;
    for (size_t begin = 0; begin < children.size();) {
      size_t end = begin + 1;
      while (end < children.size() && equal(children[begin], children[end])) ++end;
      const std::vector<int> run(children.begin() + static_cast<std::ptrdiff_t>(begin),
                                 children.begin() + static_cast<std::ptrdiff_t>(end));
      if (run.size() > 1 && !makesCircle(run)) {
        kept.push_back(bundle(group, run));
      } else {
        kept.insert(kept.end(), run.begin(), run.end());
      }
      begin = end;
    }
    at(group).children = std::move(kept);
  }

  bool equal(int a, int b) {
    const bool blocks = at(a).kind == ItemKind::Group && at(b).kind == ItemKind::Group && !at(a).slim && !at(b).slim;
    return blocks && shape_[static_cast<size_t>(a)] == shape_[static_cast<size_t>(b)];
  }

  // Something outside would stand both behind and before the run.
  bool makesCircle(const std::vector<int>& run) const {
    const std::unordered_set<int> inside(run.begin(), run.end());
    std::unordered_set<int> seen;
    std::vector<int> open;
    const auto follow = [&](int item) {
      const auto found = next_.find(item);
      if (found == next_.end()) return;
      for (const int other : found->second) {
        if (!inside.contains(other) && seen.insert(other).second) open.push_back(other);
      }
    };
    for (const int item : run) follow(item);
    while (!open.empty()) {
      const int item = open.back();
      open.pop_back();
      const auto found = next_.find(item);
      if (found != next_.end() &&
          std::any_of(found->second.begin(), found->second.end(), [&](int other) { return inside.contains(other); }))
        return true;
      follow(item);
    }
    return false;
  }

  int bundle(int parent, const std::vector<int>& run) {
    Item item;
    item.kind = ItemKind::Group;
    item.parent = parent;
    item.title = at(run.front()).title + " … " + at(run.back()).title;
    item.type = at(run.front()).type + " ×" + std::to_string(run.size());
    item.repeats = static_cast<int>(run.size());
    item.children = run;
    const int index = static_cast<int>(h_.items.size());
    for (const int child : run) at(child).parent = index;
    // The run takes its members' place among its siblings.
    for (const int member : run) {
      const auto found = next_.find(member);
      if (found == next_.end()) continue;
      std::vector<int> beyond = found->second;
      std::erase_if(beyond, [&](int other) { return at(other).parent == index; });
      auto& out = next_[index];
      out.insert(out.end(), beyond.begin(), beyond.end());
    }
    for (const int sibling : at(parent).children) {
      const auto found = next_.find(sibling);
      if (found == next_.end() || at(sibling).parent == index) continue;
      for (int& other : found->second) other = at(other).parent == index ? index : other;
    }
    h_.items.push_back(std::move(item));
    shape_.push_back(0);
    shape_[static_cast<size_t>(index)] = shapeOf(index);
    return index;
  }

  Hierarchy& h_;
  std::vector<size_t> shape_;                       // by item
  std::unordered_map<int, std::vector<int>> next_;  // sibling -> siblings that read from it
};

}  // namespace

void foldRepeats(Hierarchy& hierarchy) { Folder(hierarchy).run(); }

}  // namespace normlens::layout
