// What turns the raw tree of scopes into groups that read like the model's source: see hierarchy.h for the rules.
#pragma once

#include "ui/layout/hierarchy.h"

namespace normlens::layout {

// Works on items and itemOfNode in place; afterwards items are numbered in preorder, without gaps.
void applyHierarchyRules(Hierarchy& hierarchy, const HierarchyOptions& options);

}  // namespace normlens::layout
