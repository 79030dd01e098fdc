#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ui/layout/hierarchy_steps.h"

namespace normlens::layout {
namespace {

constexpr int kMaxDepth = 64;  // deeper scope chains are a defect of the file
constexpr int kMaxRounds = 6;

std::string lastPart(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

// An op that a file without scopes names after its weights is called by that name.
std::string opTitle(const protocol::GraphNode& node, const std::vector<protocol::GraphScope>& scopes, int scope) {
  const bool named = !node.name.empty() && (scope < 0 || node.name != scopes[static_cast<size_t>(scope)].path);
  if (node.role == NodeClass::Input || node.role == NodeClass::Output)
    return node.name.empty() ? node.label : node.name;
  const std::string own = lastPart(node.name);
  const bool number = own.find_first_not_of("0123456789") == std::string::npos;  // "p2o.Conv.0"
  if (named && node.role == NodeClass::Linear && !number) return own;
  return node.label.empty() ? node.op : node.label;
}

class TreeBuilder {
 public:
  TreeBuilder(Hierarchy& hierarchy, const std::vector<bool>& shown, const NodeTitles& titles)
      : tree_(hierarchy), document_(*hierarchy.document), shown_(shown), titles_(titles) {
    chains_.resize(document_.scopes.size());
    for (size_t i = 0; i < chains_.size(); ++i) chains_[i] = chainOf(static_cast<int>(i));
  }

  void build() {
    makeTree();
    for (int round = 0; round < kMaxRounds && splitCircles(); ++round) makeTree();
    numberCalls();
    for (DataEdge& edge : tree_.edges) {
      edge.from = tree_.itemOfNode[static_cast<size_t>(edge.from)];
      edge.to = tree_.itemOfNode[static_cast<size_t>(edge.to)];
    }
  }

 private:
  // Scopes from below the model down to this one.
  std::vector<int> chainOf(int scope) const {
    std::vector<int> chain;
    while (scope >= 0 && static_cast<int>(chain.size()) < kMaxDepth) {
      const int parent = tree_.scopes.of(document_.scopes[static_cast<size_t>(scope)].parent);
      if (parent < 0) break;
      chain.push_back(scope);
      scope = parent;
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  void makeTree() {
    tree_.items.clear();
    depth_.clear();
    Item model;
    model.kind = ItemKind::Group;
    for (size_t i = 0; i < document_.scopes.size(); ++i) {
      if (tree_.scopes.of(document_.scopes[i].parent) >= 0) continue;
      model.scope = static_cast<int>(i);
      model.title = document_.scopes[i].name;
      model.type = document_.scopes[i].type;
      break;
    }
    tree_.items.push_back(model);
    depth_.push_back(0);
    tree_.itemOfNode.assign(document_.nodes.size(), kNone);
    std::map<std::tuple<int, int, int>, int> groups;  // parent item, scope, call
    // The inputs first: documents list them after the ops.
    for (const bool inputs : {true, false}) {
      for (size_t i = 0; i < document_.nodes.size(); ++i) {
        if (!shown_[i] || (document_.nodes[i].role == NodeClass::Input) != inputs) continue;
        const int scope = tree_.scopes.of(document_.nodes[i].scope);
        int parent = 0;
        if (scope >= 0) {
          for (const int step : chains_[static_cast<size_t>(scope)])
            parent = groupFor(groups, parent, step, static_cast<int>(i));
        }
        addOp(static_cast<int>(i), scope, parent);
      }
    }
  }

  int groupFor(std::map<std::tuple<int, int, int>, int>& groups, int parent, int scope, int node) {
    const auto found = calls_.find(key(scope, node));
    const int call = found == calls_.end() ? 0 : found->second;
    const auto [entry, isNew] = groups.try_emplace({parent, scope, call}, static_cast<int>(tree_.items.size()));
    if (isNew) {
      Item group;
      group.kind = ItemKind::Group;
      group.scope = scope;
      group.title = document_.scopes[static_cast<size_t>(scope)].name;
      group.type = document_.scopes[static_cast<size_t>(scope)].type;
      append(std::move(group), parent);
    }
    return entry->second;
  }

  void addOp(int node, int scope, int parent) {
    const protocol::GraphNode& source = document_.nodes[static_cast<size_t>(node)];
    Item op;
    op.node = node;
    const auto title = titles_.find(source.id);
    op.title = title != titles_.end() ? title->second : opTitle(source, document_.scopes, scope);
    op.type = source.op;
    op.role = letterOf(source.role);
    tree_.itemOfNode[static_cast<size_t>(node)] = static_cast<int>(tree_.items.size());
    append(std::move(op), parent);
  }

  void append(Item item, int parent) {
    item.parent = parent;
    const int index = static_cast<int>(tree_.items.size());
    depth_.push_back(depth_[static_cast<size_t>(parent)] + 1);
    tree_.items.push_back(std::move(item));
    tree_.items[static_cast<size_t>(parent)].children.push_back(index);
  }

  // The children of the closest common ancestor through which an edge runs.
  std::pair<int, int> siblings(int a, int b) const {
    while (depth_[static_cast<size_t>(a)] > depth_[static_cast<size_t>(b)]) a = tree_.item(a).parent;
    while (depth_[static_cast<size_t>(b)] > depth_[static_cast<size_t>(a)]) b = tree_.item(b).parent;
    while (tree_.item(a).parent != tree_.item(b).parent) {
      a = tree_.item(a).parent;
      b = tree_.item(b).parent;
    }
    return {a, b};
  }

  // Marks the calls of groups that lie on a circle among their siblings. True when anything was split.
  bool splitCircles() {
    std::vector<std::pair<int, int>> pairs;
    for (const DataEdge& edge : tree_.edges) {
      const auto [a, b] =
          siblings(tree_.itemOfNode[static_cast<size_t>(edge.from)], tree_.itemOfNode[static_cast<size_t>(edge.to)]);
      if (a != b) pairs.emplace_back(a, b);
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    const std::vector<bool> circular = onCircles(pairs);
    std::map<int, std::vector<int>> byParent;  // items on circles
    for (size_t i = 1; i < circular.size(); ++i) {
      if (circular[i]) byParent[tree_.items[i].parent].push_back(static_cast<int>(i));
    }
    bool split = false;
    for (const auto& [parent, members] : byParent) split = splitMembers(members) || split;
    return split;
  }

  // Marks what is left after peeling off everything without a predecessor, then everything without a successor.
  std::vector<bool> onCircles(const std::vector<std::pair<int, int>>& pairs) const {
    const size_t count = tree_.items.size();
    std::vector<bool> left(count, true);
    for (const bool forward : {true, false}) {
      std::vector<int> degree(count, 0);
      std::vector<std::vector<int>> next(count);
      for (const auto& [a, b] : pairs) {
        if (!left[static_cast<size_t>(a)] || !left[static_cast<size_t>(b)]) continue;
        ++degree[static_cast<size_t>(forward ? b : a)];
        next[static_cast<size_t>(forward ? a : b)].push_back(forward ? b : a);
      }
      std::vector<int> open;
      for (size_t i = 0; i < count; ++i) {
        if (left[i] && degree[i] == 0) open.push_back(static_cast<int>(i));
      }
      while (!open.empty()) {
        const int item = open.back();
        open.pop_back();
        left[static_cast<size_t>(item)] = false;
        for (const int other : next[static_cast<size_t>(item)]) {
          if (--degree[static_cast<size_t>(other)] == 0) open.push_back(other);
        }
      }
    }
    return left;
  }

  void collectNodes(int item, int member, std::vector<std::pair<int, int>>& out) const {
    const Item& it = tree_.item(item);
    if (it.kind == ItemKind::Op) out.emplace_back(it.node, member);
    for (const int child : it.children) collectNodes(child, member, out);
  }

  bool splitMembers(const std::vector<int>& members) {
    std::vector<std::pair<int, int>> nodes;  // node, member, in execution order
    for (const int member : members) collectNodes(member, member, nodes);
    std::sort(nodes.begin(), nodes.end());
    std::map<int, int> calls;
    int previous = kNone;
    bool split = false;
    for (const auto& [node, member] : nodes) {
      const Item& item = tree_.item(member);
      if (member != previous && calls[member]++ > 0) split = split || item.kind == ItemKind::Group;
      if (item.kind == ItemKind::Group) {
        int& call = calls_[key(item.scope, node)];
        call = call * 4096 + calls[member];
      }
      previous = member;
    }
    return split;
  }

  void numberCalls() {
    std::map<std::pair<int, int>, std::vector<int>> same;
    for (size_t i = 1; i < tree_.items.size(); ++i) {
      const Item& item = tree_.items[i];
      if (item.kind == ItemKind::Group) same[{item.parent, item.scope}].push_back(static_cast<int>(i));
    }
    for (const auto& [where, items] : same) {
      if (items.size() < 2 || areParts(items)) continue;
      for (size_t k = 0; k < items.size(); ++k) {
        tree_.items[static_cast<size_t>(items[k])].title += " #" + std::to_string(k + 1);
      }
    }
  }

  // True for a list of modules that are called one by one, false for several calls of one module.
  bool areParts(const std::vector<int>& items) const {
    std::vector<int> modules;
    for (const int item : items) {
      for (const int child : tree_.item(item).children) {
        if (tree_.item(child).kind != ItemKind::Group) return false;
        modules.push_back(tree_.item(child).scope);
      }
    }
    std::sort(modules.begin(), modules.end());
    return std::adjacent_find(modules.begin(), modules.end()) == modules.end();
  }

  static uint64_t key(int scope, int node) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(scope)) << 32) | static_cast<uint32_t>(node);
  }

  Hierarchy& tree_;
  const protocol::GraphDocument& document_;
  const std::vector<bool>& shown_;
  const NodeTitles& titles_;
  std::vector<std::vector<int>> chains_;
  std::unordered_map<uint64_t, int> calls_;  // (scope, node) -> call, where a scope is split
  std::vector<int> depth_;
};

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

void buildScopeTree(Hierarchy& hierarchy, const std::vector<bool>& shown, const NodeTitles& titles) {
  TreeBuilder(hierarchy, shown, titles).build();
}

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
