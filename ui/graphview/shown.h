// Holds all that is on screen in one value: the scene and what the user made of it, by the item numbers of the scene's
// hierarchy.
//
// It is swapped as a whole when a layout comes, so that no number ever meets another hierarchy than its own.
#pragma once

#include <QPointF>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/graphview/scene.h"

namespace normlens::graphview {

enum class MoveTo : uint8_t { Nowhere, FirstLook, Item, Anchor, Highlight };

struct Wishes {
  layout::GroupSet open;
  layout::GroupSet openForLight;  // for the highlight only
  int selectedItem = -1;
  int selectedValue = -1;  // index into document.values
  int anchorItem = -1;     // keeps its place on the screen over a change of layout
  int moveItem = -1;
  MoveTo moveTo = MoveTo::FirstLook;

  [[nodiscard]] layout::GroupSet groups() const;  // all that are to be open
  // Opens groups until the item is drawn. Closed one-op groups stay: they show their op. True when anything was opened.
  bool openAround(const layout::Hierarchy& hierarchy, int item);
  void setOpen(const layout::Hierarchy& hierarchy, int item, bool wanted);  // the model itself is never closed
  void openBelow(const layout::Hierarchy& hierarchy, int item);             // and the group itself
};

struct Shown : Wishes {
  Scene scene;
};

// The model and that many levels of groups below it.
[[nodiscard]] layout::GroupSet groupsToDepth(const layout::Hierarchy& hierarchy, int levels);

// The model and the groups with these paths, which are sorted.
[[nodiscard]] layout::GroupSet groupsAt(const layout::Hierarchy& hierarchy, const std::vector<std::string>& paths);

// Records a user's place in a drawing: which groups are open, by path, and what is in the middle. zoom 0: nowhere.
struct ViewPlace {
  std::vector<std::string> openGroups;  // sorted
  double zoom = 0;
  QPointF center;
};

// One norm's zero-mean graph. blockerPath: node ids from the norm to the blocker, empty when it folds.
struct Highlight {
  protocol::ZeroMeanGraph graph;
  std::vector<int> blockerPath;
  bool isNew = true;  // the groups it needs are not opened yet
  bool moves = true;  // the view goes to it; not where it was sent elsewhere since
};

// Keeps what was requested by the document's ids while there was no layout to do it in.
struct Awaited {
  int node = -1;      // to select
  bool move = false;  // to move to the node as well
  int scope = -1;     // to move to
  std::optional<ViewPlace> place;
};

// The same item in a hierarchy made anew, -1 when there is none: ops are matched by node, groups by path.
[[nodiscard]] int counterpart(int item, const layout::Hierarchy& from, const layout::Hierarchy& to);
// Returns the wishes by the numbers of a hierarchy, with all that waited for one; in another hierarchy than the one on
// screen, what is usually open is open as well.
[[nodiscard]] Wishes wishesIn(const layout::Hierarchy& hierarchy, const Shown& shown, const Awaited& awaited,
                              const std::optional<Highlight>& highlight);

}  // namespace normlens::graphview
