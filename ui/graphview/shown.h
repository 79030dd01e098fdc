// What is on screen, in one value: the scene and what the user made of it, by the item numbers of the scene's
// hierarchy.
//
// It is swapped as a whole when a layout comes, so that no number ever meets another hierarchy than its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ui/graphview/scene.h"
#include "ui/layout/visible_graph.h"

namespace normlens::graphview {

enum class MoveTo : uint8_t { Nowhere, FirstLook, Item, Place, Highlight };

struct Wishes {
  layout::GroupSet open;
  layout::GroupSet openForLight;  // for the highlight only
  int selectedItem = -1;
  int selectedValue = -1;  // index into document.values
  int anchorItem = -1;     // keeps its place on the screen over a change of layout
  int moveItem = -1;
  MoveTo moveTo = MoveTo::FirstLook;

  [[nodiscard]] layout::GroupSet groups() const;  // all that are to stand open
  // So that the item itself is drawn. Closed one-op groups stay: they show their op. True when anything was opened.
  bool openAround(const layout::Hierarchy& hierarchy, int item);
};

struct Shown : Wishes {
  Scene scene;
};

// The model and the groups with these paths, which are sorted.
[[nodiscard]] layout::GroupSet groupsAt(const layout::Hierarchy& hierarchy, const std::vector<std::string>& paths);

// The same item in a hierarchy made anew, -1 when there is none: ops are told by their nodes, groups by their paths.
[[nodiscard]] int counterpart(int item, const layout::Hierarchy& from, const layout::Hierarchy& to);
// What is usually open stands open as well.
[[nodiscard]] Wishes renumbered(const Wishes& wishes, const layout::Hierarchy& from, const layout::Hierarchy& to);

}  // namespace normlens::graphview
