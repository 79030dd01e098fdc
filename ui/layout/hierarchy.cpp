#include "ui/layout/hierarchy.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "ui/layout/hierarchy_steps.h"

namespace normlens::layout {
namespace {

std::vector<int> itemsOfScopes(const Hierarchy& hierarchy) {
  const auto& scopes = hierarchy.document->scopes;
  std::vector<int> items(scopes.size(), kNone);
  const auto firstIn = [&](int scope) -> int& { return items[static_cast<size_t>(scope)]; };
  for (size_t i = 0; i < hierarchy.items.size(); ++i) {
    const int scope = hierarchy.items[i].scope;
    if (scope != kNone && firstIn(scope) == kNone) firstIn(scope) = static_cast<int>(i);
  }
  // A container that was dissolved is its first block.
  for (size_t i = 1; i < hierarchy.items.size(); ++i) {
    if (hierarchy.items[i].scope == kNone) continue;
    const auto above = [&](int scope) { return hierarchy.scopes.of(scopes[static_cast<size_t>(scope)].parent); };
    for (int scope = above(hierarchy.items[i].scope); scope != kNone && firstIn(scope) == kNone; scope = above(scope))
      firstIn(scope) = static_cast<int>(i);
  }
  return items;
}

Buckets edgesAt(const Hierarchy& hierarchy, int DataEdge::*end) {
  return {hierarchy.items.size(), [&](auto put) {
            for (size_t i = 0; i < hierarchy.edges.size(); ++i)
              put(static_cast<size_t>(hierarchy.edges[i].*end), static_cast<int>(i));
          }};
}

constexpr int kSlimOps = 10;  // a bigger group is worth a card of its own

bool isNumber(const std::string& title) {
  return !title.empty() &&
         std::all_of(title.begin(), title.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

class Rules {
 public:
  explicit Rules(Hierarchy& hierarchy) : h_(hierarchy), inputs_(hierarchy.items.size(), 0) {
    for (const DataEdge& edge : h_.edges) ++inputs_[static_cast<size_t>(edge.to)];
  }

  void run(const HierarchyOptions& options) {
    tidy(0);
    gatherPreparation(h_);
    inputs_.resize(h_.items.size(), 0);
    markSlim(0);
    dropBridges();
    foldRepeats(h_, options.foldRepeats ? 2 : kMaxEqual + 1);
    bundle(0);
    renumber();
    seenNorms_.clear();
    count(0);
    countParameters();
  }

 private:
  Item& at(int index) { return h_.items[static_cast<size_t>(index)]; }

  // Bottom-up: single-child groups give way to their child, containers to their children.
  void tidy(int group) {
    std::vector<int> children;
    for (const int child : std::vector<int>(at(group).children)) {
      if (at(child).kind == ItemKind::Op) {
        children.push_back(child);
        continue;
      }
      tidy(child);
      if (at(child).children.empty()) continue;
      if (at(child).children.size() == 1) {
        children.push_back(inheritName(child));
      } else if (isContainer(child)) {
        for (const int inner : at(child).children) {
          at(inner).title = at(child).title + "." + at(inner).title;
          children.push_back(inner);
        }
      } else {
        children.push_back(child);
      }
    }
    for (const int child : children) at(child).parent = group;
    at(group).children = std::move(children);
  }

  int inheritName(int group) {
    const int child = at(group).children.front();
    const bool plainOp = at(child).kind == ItemKind::Op && at(child).scope == kNone;
    if (plainOp && (at(child).role == 'I' || at(child).role == 'G')) return child;
    at(child).title = plainOp ? withoutCall(at(group).title) : at(group).title + "." + at(child).title;
    if (plainOp) {
      at(child).scope = at(group).scope;
      at(child).type = at(group).type.empty() ? at(child).type : at(group).type;
      nameNumber(child);
    }
    return child;
  }

  // "dropout #2" -> "dropout": for a single op the number means nothing.
  static std::string withoutCall(const std::string& title) { return title.substr(0, title.find(" #")); }

  // "4" -> "4 LayerNorm": a place in a Sequential is no name.
  void nameNumber(int index) {
    Item& item = at(index);
    if (!isNumber(item.title) || item.type.empty()) return;
    item.title += " " + item.type.substr(item.type.find_last_of(".:") + 1);
  }

  // A list of blocks: numbered modules and nothing else. A Sequential of single ops is a module in its own right.
  bool isContainer(int group) {
    int modules = 0;
    for (const int child : at(group).children) {
      if (at(child).scope == kNone || !isNumber(at(child).title.substr(0, at(child).title.find_first_of(" ."))))
        return false;
      modules += at(child).kind == ItemKind::Group;
    }
    return modules > 0 && at(group).type.find("Sequential") == std::string::npos;
  }

  void markSlim(int group) {
    for (const int child : at(group).children) {
      if (at(child).kind == ItemKind::Group) markSlim(child);
    }
    if (group != 0) judgeSlim(group);
  }

  void judgeSlim(int group) {
    Item& item = at(group);
    std::vector<int> heavy, opaque;
    std::set<int> norms;
    bool sums = false;
    for (const int child : item.children) {
      const Item& op = at(child);
      if (op.kind == ItemKind::Group || op.role == 'I' || op.role == 'G') return;
      norms.insert(h_.document->nodes[static_cast<size_t>(op.node)].norm);
      if (op.role == 'O') opaque.push_back(child);
      if (op.role == 'R' && inputs_[static_cast<size_t>(child)] > 1) sums = true;
      if (op.role != 'O' && op.role != 'S' && op.role != 'R' && op.role != 'B') heavy.push_back(child);
    }
    int main = kNone;
    if (norms.size() == 1 && *norms.begin() >= 0) {
      main = item.children.back();  // a LayerNorm that is written out
      for (const int child : item.children) main = at(child).role == 'N' ? child : main;
      item.role = 'N';
    } else if (item.children.size() > kSlimOps || heavy.size() > 1) {
      return;
    } else if (heavy.size() == 1) {
      main = heavy.front();
      if (sums || !opaque.empty() || (at(main).role != 'L' && at(main).role != 'N' && at(main).role != 'M')) return;
      item.role = at(main).role;
    } else {
      if (sums && opaque.empty()) return;
      main = opaque.empty() ? item.children.front() : opaque.front();
      item.role = opaque.empty() ? 'S' : 'O';
    }
    item.slim = true;
    nameNumber(group);
    item.node = at(main).node;
  }

  // An op without weights needs no line to the model's input when its group has real inputs: it is drawn there as a
  // source of its own.
  void dropBridges() {
    std::vector<bool> fed(h_.items.size(), false);  // by group: an edge with a value enters it
    for (const DataEdge& edge : h_.edges) {
      if (edge.value == kNone) continue;
      for (int group = at(edge.to).parent; group >= 0 && !h_.contains(group, edge.from); group = at(group).parent) {
        fed[static_cast<size_t>(group)] = true;
      }
    }
    std::erase_if(h_.edges, [&](const DataEdge& edge) {
      if (edge.value != kNone || at(edge.to).role == 'L') return false;
      const int group = at(edge.to).parent;
      return group >= 0 && fed[static_cast<size_t>(group)];
    });
  }

  // Runs of children in execution order: no circles, and dot never sees more than kMaxFlat boxes.
  void bundle(int group) {
    for (const int child : std::vector<int>(at(group).children)) {
      if (at(child).kind == ItemKind::Group) bundle(child);
    }
    int unit = kRunLength;
    while (static_cast<int>(at(group).children.size()) > kMaxFlat) {
      bundleOnce(group, unit);
      unit *= kRunLength;
    }
  }

  void bundleOnce(int group, int unit) {
    const std::vector<int> children = at(group).children;
    std::vector<int> runs;
    for (size_t begin = 0; begin < children.size(); begin += kRunLength) {
      const size_t end = std::min(begin + kRunLength, children.size());
      const auto scale = static_cast<size_t>(unit / kRunLength);
      const std::string title = "nodes " + std::to_string(begin * scale + 1) + "–" + std::to_string(end * scale);
      runs.push_back(addGroup(h_, group, title,
                              {children.begin() + static_cast<std::ptrdiff_t>(begin),
                               children.begin() + static_cast<std::ptrdiff_t>(end)}));
      // A part of a long row of equal blocks is such a row.
      if (at(group).repeats > 1) nameRepeats(h_, runs.back());
    }
    at(group).children = std::move(runs);
  }

  void renumber() {
    std::vector<int> order, place(h_.items.size(), kNone);
    std::vector<int> open{0};
    while (!open.empty()) {
      const int index = open.back();
      open.pop_back();
      place[static_cast<size_t>(index)] = static_cast<int>(order.size());
      order.push_back(index);
      const std::vector<int>& children = at(index).children;
      open.insert(open.end(), children.rbegin(), children.rend());
    }
    const auto placed = [&](int old) { return old < 0 ? kNone : place[static_cast<size_t>(old)]; };
    std::vector<Item> items;
    items.reserve(order.size());
    for (const int old : order) {
      Item item = std::move(at(old));
      item.parent = placed(item.parent);
      for (int& child : item.children) child = placed(child);
      items.push_back(std::move(item));
    }
    h_.items = std::move(items);
    for (int& item : h_.itemOfNode) item = placed(item);
    for (DataEdge& edge : h_.edges) edge.from = placed(edge.from), edge.to = placed(edge.to);
  }

  void count(int index) {
    Item& item = at(index);
    if (item.kind == ItemKind::Op) {
      item.ops = item.role == 'I' || item.role == 'G' ? 0 : 1;
      const int norm = h_.document->nodes[static_cast<size_t>(item.node)].norm;
      item.layerNorms = norm >= 0 ? seenNorms_.insert(norm).second : item.role == 'N';
      return;
    }
    for (const int child : item.children) {
      count(child);
      item.ops += at(child).ops;
      item.layerNorms += at(child).layerNorms;
    }
  }

  // A weight that several ops read counts once in each group around them.
  void countParameters() {
    const auto& values = h_.document->values;
    std::vector<int> lastValue(h_.items.size(), kNone);  // by item: counted there last
    std::vector<std::pair<int, int>> reads;              // value, op item
    for (size_t i = 0; i < h_.document->nodes.size(); ++i) {
      const int item = h_.itemOfNode[i];
      if (item < 0) continue;
      for (const int id : h_.document->nodes[i].inputs) {
        const int value = h_.values.of(id);
        if (value >= 0 && isWeight(values[static_cast<size_t>(value)])) reads.emplace_back(value, item);
      }
    }
    std::sort(reads.begin(), reads.end());
    for (const auto& [value, op] : reads) {
      for (int item = op; item >= 0 && lastValue[static_cast<size_t>(item)] != value; item = at(item).parent) {
        lastValue[static_cast<size_t>(item)] = value;
        at(item).parameters += elements(values[static_cast<size_t>(value)]);
      }
    }
  }

  static bool isWeight(const protocol::GraphValue& value) {
    return value.constant && value.has_shape && !value.shape.empty() && value.dtype.find("float") != std::string::npos;
  }

  static int64_t elements(const protocol::GraphValue& value) {
    constexpr double kMost = 9e18;
    double count = 1;
    for (const int64_t size : value.shape) count *= static_cast<double>(std::max<int64_t>(size, 0));
    return static_cast<int64_t>(std::min(count, kMost));
  }

  Hierarchy& h_;
  std::vector<int> inputs_;  // data edges into each op item, before renumbering
  std::set<int> seenNorms_;
};

constexpr size_t kMany = 6;

class Gatherer {
 public:
  explicit Gatherer(Hierarchy& hierarchy) : h_(hierarchy) {}

  void run() {
    findEarly();
    gather(0);
  }

 private:
  Item& at(int index) { return h_.items[static_cast<size_t>(index)]; }

  // A linear op over constants. A cumulative sum is linear as well and has none.
  [[nodiscard]] bool hasWeights(const Item& item) const {
    if (item.role != 'L') return false;
    const auto& inputs = h_.document->nodes[static_cast<size_t>(item.node)].inputs;
    return std::any_of(inputs.begin(), inputs.end(), [this](int id) {
      const int value = h_.values.of(id);
      return value < 0 || h_.document->values[static_cast<size_t>(value)].constant;
    });
  }

  void findEarly() {
    early_.assign(h_.items.size(), false);
    feeds_.assign(h_.items.size(), false);
    std::vector<std::vector<int>> readers(h_.items.size()), makers(h_.items.size());  // makers: of what is no index
    std::vector<int> late, fed;
    for (size_t i = 0; i < h_.items.size(); ++i) {
      const Item& item = h_.items[i];
      if (item.kind != ItemKind::Op || item.role == 'I') continue;
      early_[i] = item.role != 'G' && item.role != 'N' && !hasWeights(item);
      if (!early_[i]) late.push_back(static_cast<int>(i));
      if (usesWeights(item)) fed.push_back(static_cast<int>(i));
    }
    for (const DataEdge& edge : h_.edges) {
      if (edge.value == kNone) continue;
      readers[static_cast<size_t>(edge.from)].push_back(edge.to);
      // Types that no run has shown yet: an embedding's are indices.
      const std::string& type = h_.document->values[static_cast<size_t>(edge.value)].dtype;
      const std::string& reader = h_.document->nodes[static_cast<size_t>(at(edge.to).node)].op;
      const bool indexes =
          type.empty() ? reader.find("embedding") != std::string::npos : type.find("float") == std::string::npos;
      if (!indexes) makers[static_cast<size_t>(edge.to)].push_back(edge.from);
    }
    while (!late.empty()) {
      const int item = late.back();
      late.pop_back();
      for (const int reader : readers[static_cast<size_t>(item)]) {
        if (early_[static_cast<size_t>(reader)]) late.push_back(reader);
        early_[static_cast<size_t>(reader)] = false;
      }
    }
    while (!fed.empty()) {
      const int item = fed.back();
      fed.pop_back();
      for (const int maker : makers[static_cast<size_t>(item)]) {
        if (early_[static_cast<size_t>(maker)] && !feeds_[static_cast<size_t>(maker)]) fed.push_back(maker);
        feeds_[static_cast<size_t>(maker)] = true;
      }
    }
  }

  bool allEarly(int index) {
    const Item& item = at(index);
    if (item.kind == ItemKind::Op) return early_[static_cast<size_t>(index)];
    return std::all_of(item.children.begin(), item.children.end(), [this](int child) { return allEarly(child); });
  }

  [[nodiscard]] bool usesWeights(const Item& item) const { return item.role == 'N' || hasWeights(item); }

  bool containsWeights(int index) {
    const Item& item = at(index);
    if (item.kind == ItemKind::Op) return usesWeights(item);
    return std::any_of(item.children.begin(), item.children.end(),
                       [this](int child) { return containsWeights(child); });
  }

  bool feedsWeights(int index) {
    const Item& item = at(index);
    if (item.kind == ItemKind::Op) return feeds_[static_cast<size_t>(index)];
    return std::any_of(item.children.begin(), item.children.end(), [this](int child) { return feedsWeights(child); });
  }

  void gather(int group) {
    std::vector<int> early, rest;
    for (const int child : std::vector<int>(at(group).children)) {
      const bool before = allEarly(child);
      if (at(child).kind == ItemKind::Group && !before) gather(child);
      (before ? early : rest).push_back(child);
    }
    if (early.size() < kMany || rest.size() < 2 || !containsWeights(group)) return;
    early_.push_back(true);
    feeds_.push_back(false);
    const bool isMainPath = std::any_of(early.begin(), early.end(), [this](int child) { return feedsWeights(child); });
    const char* name = isMainPath ? "preprocessing" : "masks and positions";
    rest.insert(rest.begin(), addGroup(h_, group, name, std::move(early)));
    at(group).children = std::move(rest);
  }

  Hierarchy& h_;
  std::vector<bool> early_;  // by item: an op that nothing with weights comes before
  std::vector<bool> feeds_;  // by item: an op whose numbers reach a norm, or an op with weights, not as an index
};

}  // namespace

int Hierarchy::nodeId(int item) const {
  const int node = this->item(item).node;
  return node < 0 ? -1 : document->nodes[static_cast<size_t>(node)].id;
}

int Hierarchy::scopeId(int item) const {
  const int scope = this->item(item).scope;
  return scope < 0 ? -1 : document->scopes[static_cast<size_t>(scope)].id;
}

int Hierarchy::outputOf(int item) const {
  const int node = this->item(item).node;
  if (node < 0) return -1;
  const auto& outputs = document->nodes[static_cast<size_t>(node)].outputs;
  return outputs.empty() ? -1 : outputs.front();
}

bool Hierarchy::contains(int ancestor, int index) const {
  for (; index >= 0; index = item(index).parent) {
    if (index == ancestor) return true;
  }
  return false;
}

std::string Hierarchy::path(int index) const {
  const Item& it = item(index);
  if (it.scope != kNone) {
    const std::string& path = document->scopes[static_cast<size_t>(it.scope)].path;
    return path.empty() ? it.title : path;
  }
  const int parent = it.parent;
  const std::string above = parent > 0 ? path(parent) : std::string();
  return above.empty() ? it.title : above + "." + it.title;
}

Hierarchy buildHierarchy(std::shared_ptr<const protocol::GraphDocument> document, const HierarchyOptions& options,
                         const NodeTitles& titles) {
  Hierarchy hierarchy;
  hierarchy.document = std::move(document);
  hierarchy.nodes = IdIndex(hierarchy.document->nodes);
  hierarchy.values = IdIndex(hierarchy.document->values);
  hierarchy.scopes = IdIndex(hierarchy.document->scopes);
  buildScopeTree(hierarchy, findEdges(hierarchy, options.showHelpers), titles);
  applyHierarchyRules(hierarchy, options);
  hierarchy.itemsOfScopes = itemsOfScopes(hierarchy);
  hierarchy.entering = edgesAt(hierarchy, &DataEdge::to);
  hierarchy.leaving = edgesAt(hierarchy, &DataEdge::from);
  return hierarchy;
}

GroupSet defaultExpanded(const Hierarchy& hierarchy) {
  constexpr int kFewOps = 30;
  constexpr double kNearlyAll = 0.6;
  std::vector<int> open{0};
  const int total = hierarchy.item(0).ops;
  for (size_t i = 0; i < open.size(); ++i) {
    for (const int child : hierarchy.item(open[i]).children) {
      const Item& item = hierarchy.item(child);
      if (item.kind != ItemKind::Group || item.slim || item.repeats > 1) continue;
      if (total <= kFewOps || item.ops >= kNearlyAll * total) open.push_back(child);
    }
  }
  return {open.begin(), open.end()};
}

int addGroup(Hierarchy& hierarchy, int parent, std::string title, std::vector<int> children) {
  const int index = static_cast<int>(hierarchy.items.size());
  for (const int child : children) hierarchy.items[static_cast<size_t>(child)].parent = index;
  Item group;
  group.kind = ItemKind::Group;
  group.parent = parent;
  group.title = std::move(title);
  group.children = std::move(children);
  hierarchy.items.push_back(std::move(group));
  return index;
}

void applyHierarchyRules(Hierarchy& hierarchy, const HierarchyOptions& options) { Rules(hierarchy).run(options); }

void gatherPreparation(Hierarchy& hierarchy) { Gatherer(hierarchy).run(); }

}  // namespace normlens::layout
