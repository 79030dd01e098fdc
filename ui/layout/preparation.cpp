#include <algorithm>
#include <utility>

#include "ui/layout/hierarchy_steps.h"

namespace normlens::layout {
namespace {

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
    std::vector<std::vector<int>> readers(h_.items.size());
    std::vector<int> late;
    for (size_t i = 0; i < h_.items.size(); ++i) {
      const Item& item = h_.items[i];
      if (item.kind != ItemKind::Op || item.role == 'I') continue;
      early_[i] = item.role != 'G' && item.role != 'N' && !hasWeights(item);
      if (!early_[i]) late.push_back(static_cast<int>(i));
    }
    for (const DataEdge& edge : h_.edges) {
      if (edge.value == kNone) continue;
      readers[static_cast<size_t>(edge.from)].push_back(edge.to);
      const bool indexes =
          h_.document->values[static_cast<size_t>(edge.value)].dtype.find("float") == std::string::npos;
      if (!indexes && usesWeights(at(edge.to))) feeds_[static_cast<size_t>(edge.from)] = true;
    }
    while (!late.empty()) {
      const int item = late.back();
      late.pop_back();
      for (const int reader : readers[static_cast<size_t>(item)]) {
        if (early_[static_cast<size_t>(reader)]) late.push_back(reader);
        early_[static_cast<size_t>(reader)] = false;
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
  std::vector<bool> feeds_;  // by item: an op whose numbers a norm, or an op with weights, reads, not as an index
};

}  // namespace

void gatherPreparation(Hierarchy& hierarchy) { Gatherer(hierarchy).run(); }

}  // namespace normlens::layout
