// The model as the graph view shows it: groups (modules) with ops in them, and the data edges between the ops.
//
// Made once per document. What it does to the raw scopes, so that a block reads as its author thinks of it:
//   - helper nodes are hidden; a consumer that is left without any input is joined to the model's input it hangs on;
//   - a container that only numbers its blocks (ModuleList) is dissolved: its children are called "h.0", "h.1" ...;
//   - a group with a single op is that op, called by the module's name ("ln_1");
//   - a group of one real op and reshapes, or of pointwise ops only, is `slim`: closed, it is drawn as one op;
//   - ops that no weight has touched yet, where there are many, are one group "masks and positions",
//     or "preprocessing" where what it makes reaches the ops with weights;
//   - a module that is called again later (shared layers) becomes one group per call, where one group would be a cycle;
//   - more than kMaxEqual equal groups in a row, any number with foldRepeats, are one group that shows their number;
//   - more than kMaxFlat children in one group are bundled into runs ("ops 1–200").
// Value type, immutable after buildHierarchy. Thread: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/layout/buckets.h"

namespace normlens::layout {

inline constexpr int kMaxFlat = 600;  // dot takes 0.1 s for so many boxes, and grows faster than linearly
inline constexpr int kRunLength = 200;
inline constexpr int kMaxEqual = 24;  // more blocks in a column than anybody looks through
inline constexpr int kNone = -1;

enum class ItemKind : uint8_t { Op, Group };

// Item 0 is the whole model. Indices, not ids: `node` and `scope` index the document's vectors.
struct Item {
  ItemKind kind = ItemKind::Op;
  int node = kNone;   // the op; of a slim group the op that it is drawn as
  int scope = kNone;  // Set for groups and for ops drawn in place of their module; kNone for runs.
  int parent = kNone;
  std::vector<int> children;  // execution order
  std::string title;          // "h.3", "ln_1", "gelu"
  std::string type;           // class name or op: "GPT2Block", "aten::gelu"
  char role = 'O';            // protocol role of the op, or of a slim group's main op
  bool slim = false;
  int ops = 0;  // visible ops in it
  int layerNorms = 0;
  int64_t parameters = 0;  // numbers in the weights that it reads, each weight once
  int repeats = 1;         // Counts the equal groups of a run.

  [[nodiscard]] bool isOneNorm() const { return slim && layerNorms == 1 && repeats == 1; }  // or holds but one
};

struct DataEdge {
  int from = kNone, to = kNone;  // op items
  int value = kNone;             // index in document.values; kNone for a bridge over hidden helpers
  bool stream = false;
};

using GroupSet = std::unordered_set<int>;                 // items
using NodeTitles = std::unordered_map<int, std::string>;  // in place of labels, by the nodes' ids

struct HierarchyOptions {
  bool showHelpers = false;
  bool foldRepeats = false;  // any equal groups in a row are one group, not only many
  friend bool operator==(const HierarchyOptions&, const HierarchyOptions&) = default;
};

// Maps the ids of things in a list to their places.
class IdIndex {
 public:
  IdIndex() = default;
  template <class T>
  explicit IdIndex(const std::vector<T>& things) {
    for (size_t i = 0; i < things.size(); ++i) {
      if (things[i].id < 0) continue;
      const auto id = static_cast<size_t>(things[i].id);
      if (id >= places_.size()) places_.resize(id + 1, kNone);
      places_[id] = static_cast<int>(i);
    }
  }
  [[nodiscard]] int of(int id) const {  // kNone when there is none
    return id < 0 || static_cast<size_t>(id) >= places_.size() ? kNone : places_[static_cast<size_t>(id)];
  }

 private:
  std::vector<int> places_;
};

struct Hierarchy {
  std::shared_ptr<const protocol::GraphDocument> document;
  std::vector<Item> items;
  std::vector<DataEdge> edges;
  Buckets entering, leaving;       // indices into edges, by op item
  std::vector<int> itemOfNode;     // by node index: its op item, kNone when hidden
  std::vector<int> itemsOfScopes;  // by scope index: its first item, or the first block of a container
  IdIndex nodes, values, scopes;   // by id, in the document

  [[nodiscard]] const Item& item(int index) const { return items[static_cast<size_t>(index)]; }
  // Item of a node id; kNone when unknown or hidden.
  [[nodiscard]] int itemOfId(int nodeId) const {
    const int node = nodes.of(nodeId);
    return node < 0 ? kNone : itemOfNode[static_cast<size_t>(node)];
  }
  // Item of a scope id; kNone when nothing of it is shown.
  [[nodiscard]] int itemOfScope(int scopeId) const {
    const int scope = scopes.of(scopeId);
    return scope < 0 ? kNone : itemsOfScopes[static_cast<size_t>(scope)];
  }
  // Ids of the op and of the module that an item shows; -1.
  [[nodiscard]] int nodeId(int item) const;
  [[nodiscard]] int scopeId(int item) const;
  // Id of the first value that an op makes; -1 for a group, and where it makes none.
  [[nodiscard]] int outputOf(int item) const;
  // The item is `ancestor` or lies below it.
  [[nodiscard]] bool contains(int ancestor, int index) const;
  // Full path of an item: "transformer.h.3.ln_1".
  [[nodiscard]] std::string path(int index) const;
};

[[nodiscard]] Hierarchy buildHierarchy(std::shared_ptr<const protocol::GraphDocument> document,
                                       const HierarchyOptions& options = {}, const NodeTitles& titles = {});

// Returns the groups that are open before the user has chosen: the model, and below it as long as a group holds nearly
// everything there is, so that a first look shows a column of blocks and not one box.
[[nodiscard]] GroupSet defaultExpanded(const Hierarchy& hierarchy);

}  // namespace normlens::layout
