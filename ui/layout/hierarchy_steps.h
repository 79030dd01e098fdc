// The steps of buildHierarchy(), in their order. Each works on the hierarchy in place.
#pragma once

#include <string>
#include <vector>

#include "ui/layout/hierarchy.h"

namespace normlens::layout {

// Returns which nodes of the document are drawn, by node index, and adds the data edges between them: producer ->
// consumer, no duplicates, execution order of the consumers. Until buildScopeTree() the ends are indices of nodes.
[[nodiscard]] std::vector<bool> findEdges(Hierarchy& hierarchy, bool showHelpers);

// The raw tree of modules and ops that the document's scopes spell out, and the edges between its ops. Siblings that
// feed each other in a circle (a module called at several places) are split into one group per call.
void buildScopeTree(Hierarchy& hierarchy, const std::vector<bool>& shown, const NodeTitles& titles);

// Turns the raw tree into groups that read like the model's source: see hierarchy.h for the rules. Afterwards items are
// numbered in preorder, without gaps.
void applyHierarchyRules(Hierarchy& hierarchy, const HierarchyOptions& options);

// Makes the groups "masks and positions", index arithmetic that traced models do before the first weight comes into
// play, and "preprocessing". Gathers, in every group that also has weights, the children that nothing with weights
// comes before; where there are few, they stay as they are. The new group has no predecessors but the model's inputs,
// so no circle can arise.
void gatherPreparation(Hierarchy& hierarchy);

// Has equal blocks in a row shown once: "h.0 … h.11  Block ×12". Puts each run of at least `shortest` sibling groups
// that hold the same ops, with weights of the same shapes, joined in the same way, into a group of its own, where that
// makes no circle.
void foldRepeats(Hierarchy& hierarchy, size_t shortest);

// The title and the type of a row of equal blocks, or of such rows, and how many there are.
void nameRepeats(Hierarchy& hierarchy, int run);

// A new group for some children of another; the caller puts it among those. Returns its index.
[[nodiscard]] int addGroup(Hierarchy& hierarchy, int parent, std::string title, std::vector<int> children);

}  // namespace normlens::layout
