#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "ui/layout/hierarchy_steps.h"

namespace normlens::layout {
namespace {

class Folder {
 public:
  Folder(Hierarchy& hierarchy, size_t shortest)
      : h_(hierarchy),
        shortest_(shortest),
        shape_(h_.items.size(), 0),
        place_(h_.items.size(), 0),
        inputs_(h_.items.size(), 0) {
    for (const DataEdge& edge : h_.edges) ++inputs_[static_cast<size_t>(edge.to)];
  }

  void run() { fold(0, h_.edges); }

 private:
  struct Siblings {
    int from = 0, to = 0;  // places in their group's list of children
  };

  Item& at(int index) { return h_.items[static_cast<size_t>(index)]; }

  // The child of a group that an item is or lies in.
  [[nodiscard]] int childAbove(int group, int item) const {
    while (h_.item(item).parent != group) item = h_.item(item).parent;
    return item;
  }

  static size_t mix(size_t seed, size_t value) {
    return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
  }

  // Returns a hash of what is in an item, in which order and how joined, whatever it is called.
  [[nodiscard]] size_t shapeOf(int index) const {
    const Item& item = h_.item(index);
    if (item.kind == ItemKind::Op) return shapeOfOp(item);
    size_t shape = std::hash<std::string>{}(item.type);
    for (const int child : item.children) shape = mix(shape, shape_[static_cast<size_t>(child)]);
    return shape;
  }

  [[nodiscard]] size_t shapeOfOp(const Item& item) const {
    const auto& node = h_.document->nodes[static_cast<size_t>(item.node)];
    size_t shape = mix(std::hash<std::string>{}(node.op), static_cast<size_t>(item.role));
    shape = mix(shape, inputs_[static_cast<size_t>(h_.itemOfNode[static_cast<size_t>(item.node)])]);
    for (const int id : node.inputs) {
      const int value = h_.values.of(id);
      if (value < 0 || !h_.document->values[static_cast<size_t>(value)].constant) continue;
      for (const int64_t size : h_.document->values[static_cast<size_t>(value)].shape)
        shape = mix(shape, static_cast<size_t>(size));
    }
    return shape;
  }

  // edges: those between ops of the group.
  void fold(int group, const std::vector<DataEdge>& edges) {
    const std::vector<int> children = at(group).children;
    for (size_t i = 0; i < children.size(); ++i) place_[static_cast<size_t>(children[i])] = static_cast<int>(i);
    std::unordered_map<int, std::vector<DataEdge>> inside;  // by child
    std::vector<Siblings> between;
    for (const DataEdge& edge : edges) {
      const int from = childAbove(group, edge.from), to = childAbove(group, edge.to);
      if (from == to) {
        inside[from].push_back(edge);
      } else {
        between.push_back({place_[static_cast<size_t>(from)], place_[static_cast<size_t>(to)]});
      }
    }
    for (const int child : children) {
      if (at(child).kind == ItemKind::Group) {
        fold(child, inside[child]);
      } else {
        shape_[static_cast<size_t>(child)] = shapeOf(child);
      }
    }
    foldChildren(group, between);
    size_t shape = shapeOf(group);
    for (const auto& [from, to] : between) shape = mix(mix(shape, static_cast<size_t>(from)), static_cast<size_t>(to));
    shape_[static_cast<size_t>(group)] = shape;
  }

  void foldChildren(int group, const std::vector<Siblings>& between) {
    const std::vector<int> children = at(group).children;
    const bool forward = std::ranges::all_of(between, [](const Siblings& edge) { return edge.from < edge.to; });
    const Buckets readers(children.size(), [&](auto put) {
      for (const Siblings& edge : between) put(static_cast<size_t>(edge.from), edge.to);
    });
    std::vector<int> kept;
    for (size_t begin = 0; begin < children.size();) {
      size_t end = begin + 1;
      while (end < children.size() && equal(children[begin], children[end])) ++end;
      const std::vector<int> run(children.begin() + static_cast<std::ptrdiff_t>(begin),
                                 children.begin() + static_cast<std::ptrdiff_t>(end));
      // If every edge goes forward in the list, nothing can both read from a run of it and feed it.
      if (run.size() >= shortest_ && (forward || !makesCircle(begin, end, children.size(), readers))) {
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

  // Something outside would both read from the run and feed it. begin, end: places in the group's list of children.
  static bool makesCircle(size_t begin, size_t end, size_t count, const Buckets& readers) {
    const auto isMember = [&](int child) {
      return static_cast<size_t>(child) >= begin && static_cast<size_t>(child) < end;
    };
    std::vector<bool> seen(count, false);
    std::vector<int> open(end - begin);
    std::iota(open.begin(), open.end(), static_cast<int>(begin));
    while (!open.empty()) {
      const int child = open.back();
      open.pop_back();
      for (const int reader : readers.of(static_cast<size_t>(child))) {
        if (isMember(reader) && !isMember(child)) return true;
        if (isMember(reader) || seen[static_cast<size_t>(reader)]) continue;
        seen[static_cast<size_t>(reader)] = true;
        open.push_back(reader);
      }
    }
    return false;
  }

  int bundle(int parent, const std::vector<int>& run) {
    const int index = addGroup(h_, parent, {}, run);
    nameRepeats(h_, index);
    shape_.push_back(shapeOf(index));
    return index;
  }

  Hierarchy& h_;
  const size_t shortest_;
  std::vector<size_t> shape_;   // by item
  std::vector<int> place_;      // by item: in its group's list of children
  std::vector<size_t> inputs_;  // by op item
};

}  // namespace

void nameRepeats(Hierarchy& hierarchy, int run) {
  constexpr std::string_view kTo = " … ";
  Item& item = hierarchy.items[static_cast<size_t>(run)];
  const Item &first = hierarchy.item(item.children.front()), &last = hierarchy.item(item.children.back());
  item.repeats = 0;
  for (const int child : item.children) item.repeats += hierarchy.item(child).repeats;
  item.title = first.title.substr(0, first.title.find(kTo)) + std::string(kTo);
  const size_t to = last.title.find(kTo);
  item.title += to == std::string::npos ? last.title : last.title.substr(to + kTo.size());
  item.type = first.type.substr(0, first.type.find(" ×")) + " ×" + std::to_string(item.repeats);
}

void foldRepeats(Hierarchy& hierarchy, size_t shortest) { Folder(hierarchy, shortest).run(); }

}  // namespace normlens::layout
