// The model as the graph view shows it: groups (modules) with ops in them, and the data edges between the ops.
//
// Made once per document. What it does to the raw scopes, so that a block reads as its author thinks of it:
//   - helper nodes are hidden; a consumer that is left without any input is joined to the model's input it hangs on;
//   - a container that only numbers its blocks (ModuleList) is dissolved: its children are called "h.0", "h.1" ...;
//   - a group with a single op is that op, called by the module's name ("ln_1");
//   - a group of one real op and reshapes, or of pointwise ops only, is `slim`: closed, it is drawn as one op;
//   - ops that no weight has touched yet, where there are many, are one group "masks and positions";
//   - a module that is called again later (shared layers) becomes one group per call, where one group would be a cycle;
//   - if asked for, equal groups in a row are one group that says how many there are;
//   - more than kMaxFlat children in one group are bundled into runs ("ops 1–200").
// Value type, immutable after buildHierarchy. Thread: any.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::layout {

inline constexpr int kMaxFlat = 600;  // dot takes 0.1 s for so many boxes, and grows faster than linearly
inline constexpr int kRunLength = 200;
inline constexpr int kNone = -1;

enum class ItemKind : uint8_t { Op, Group };

// Item 0 is the whole model. Indices, not ids: `node` and `scope` index the document's vectors.
struct Item {
  ItemKind kind = ItemKind::Op;
  int node = kNone;   // the op; of a slim group the op that it stands for
  int scope = kNone;  // of groups and of ops that stand for their module; kNone for runs
  int parent = kNone;
  std::vector<int> children;  // execution order
  std::string title;          // "h.3", "ln_1", "gelu"
  std::string type;           // class name or op: "GPT2Block", "aten::gelu"
  char role = 'O';            // protocol role of the op, or of a slim group's main op
  bool slim = false;
  int ops = 0;  // visible ops in it
  int layerNorms = 0;
  int64_t parameters = 0;  // numbers in the weights that it reads, each weight once
  int repeats = 1;         // of a run of equal groups: how many there are
};

struct DataEdge {
  int from = kNone, to = kNone;  // op items
  int value = kNone;             // index in document.values; kNone for a bridge over hidden helpers
  bool stream = false;
};

struct HierarchyOptions {
  bool showHelpers = false;
  bool foldRepeats = false;  // equal groups in a row are one group
  friend bool operator==(const HierarchyOptions&, const HierarchyOptions&) = default;
};

// The edges at each item, as ranges of one list.
struct EdgesByItem {
  std::vector<int> start, edges;  // those of item i: edges[start[i]] up to edges[start[i + 1]]

  [[nodiscard]] std::span<const int> of(int item) const {
    const auto begin = static_cast<size_t>(start[static_cast<size_t>(item)]);
    return {edges.data() + begin, static_cast<size_t>(start[static_cast<size_t>(item) + 1]) - begin};
  }
};

struct Hierarchy {
  std::shared_ptr<const protocol::GraphDocument> document;
  std::vector<Item> items;
  std::vector<DataEdge> edges;
  EdgesByItem entering, leaving;  // indices into edges, by op item
  std::vector<int> itemOfNode;    // by node index: its op item, kNone when hidden
  std::vector<int> nodeOfId;      // by node id: its index, kNone when there is none
  std::vector<int> valueOfId;     // by value id: its index

  [[nodiscard]] const Item& item(int index) const { return items[static_cast<size_t>(index)]; }
  // Item of a node id; kNone when unknown or hidden.
  [[nodiscard]] int itemOfId(int nodeId) const;
  [[nodiscard]] int nodeIndex(int nodeId) const;
  [[nodiscard]] int valueIndex(int valueId) const;
  // Id of the first value that an op makes; -1 for a group, and where it makes none.
  [[nodiscard]] int outputOf(int item) const;
  // The item is `ancestor` or lies below it.
  [[nodiscard]] bool contains(int ancestor, int index) const;
  // Full path of an item: "transformer.h.3.ln_1".
  [[nodiscard]] std::string path(int index) const;
};

[[nodiscard]] Hierarchy buildHierarchy(std::shared_ptr<const protocol::GraphDocument> document,
                                       const HierarchyOptions& options = {});

// Which groups stand open when nothing is known about the user's wishes: the model, and below it as long as a group
// holds nearly everything there is, so that a first look shows a column of blocks and not one box.
[[nodiscard]] std::vector<int> defaultExpanded(const Hierarchy& hierarchy);

}  // namespace normlens::layout
