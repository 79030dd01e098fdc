#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ui/layout/hierarchy_steps.h"

namespace normlens::layout {
namespace {

class Folder {
 public:
  explicit Folder(Hierarchy& hierarchy) : h_(hierarchy), shape_(h_.items.size(), 0) {}

  void run() { fold(0, h_.edges); }

 private:
  Item& at(int index) { return h_.items[static_cast<size_t>(index)]; }

  // The child of a group that an item is or lies in.
  int childAbove(int group, int item) const {
    while (h_.item(item).parent != group) item = h_.item(item).parent;
    return item;
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

  // edges: those between ops of the group.
  void fold(int group, const std::vector<DataEdge>& edges) {
    std::unordered_map<int, std::vector<DataEdge>> inside;  // by child
    std::vector<DataEdge> between;
    for (const DataEdge& edge : edges) {
      const int from = childAbove(group, edge.from);
      (from == childAbove(group, edge.to) ? inside[from] : between).push_back(edge);
    }
    for (const int child : std::vector<int>(at(group).children)) {
      if (at(child).kind == ItemKind::Group) {
        fold(child, inside[child]);
      } else {
        shape_[static_cast<size_t>(child)] = shapeOf(child);
      }
    }
    foldChildren(group, between);
    shape_[static_cast<size_t>(group)] = shapeOf(group);
  }

  void foldChildren(int group, const std::vector<DataEdge>& between) {
    const std::vector<int> children = at(group).children;
    std::vector<int> kept;
    for (size_t begin = 0; begin < children.size();) {
      size_t end = begin + 1;
      while (end < children.size() && equal(children[begin], children[end])) ++end;
      const std::vector<int> run(children.begin() + static_cast<std::ptrdiff_t>(begin),
                                 children.begin() + static_cast<std::ptrdiff_t>(end));
      if (run.size() > 1 && !makesCircle(group, run, between)) {
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
  bool makesCircle(int group, const std::vector<int>& run, const std::vector<DataEdge>& between) const {
    std::unordered_map<int, std::vector<int>> readers;  // of the group's children
    for (const DataEdge& edge : between) readers[childAbove(group, edge.from)].push_back(childAbove(group, edge.to));
    const std::unordered_set<int> members(run.begin(), run.end());
    std::unordered_set<int> seen;
    std::vector<int> open = run;
    while (!open.empty()) {
      const int item = open.back();
      open.pop_back();
      for (const int reader : readers[item]) {
        if (members.contains(reader) && seen.contains(item)) return true;
        if (!members.contains(reader) && seen.insert(reader).second) open.push_back(reader);
      }
    }
    return false;
  }

  int bundle(int parent, const std::vector<int>& run) {
    const int index = addGroup(h_, parent, at(run.front()).title + " … " + at(run.back()).title, run);
    at(index).type = at(run.front()).type + " ×" + std::to_string(run.size());
    at(index).repeats = static_cast<int>(run.size());
    shape_.push_back(shapeOf(index));
    return index;
  }

  Hierarchy& h_;
  std::vector<size_t> shape_;  // by item
};

}  // namespace

void foldRepeats(Hierarchy& hierarchy) { Folder(hierarchy).run(); }

}  // namespace normlens::layout
