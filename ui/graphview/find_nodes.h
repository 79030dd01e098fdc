// Ops by what a user types.
#pragma once

#include <QString>
#include <vector>

#include "ui/layout/hierarchy.h"

namespace normlens::graphview {

// Ids of the document's nodes, by module path, title or op; best first. Nothing for an empty text.
[[nodiscard]] std::vector<int> findNodes(const layout::Hierarchy& hierarchy, const QString& text);

}  // namespace normlens::graphview
