// The boxes of a graph for a screen reader: each has a name, a place and a state, and can be selected. Thread: GUI
// thread.
#pragma once

namespace normlens::graphview {

class GraphView;

// Before a view is first looked at: in its constructor.
void makeGraphsAccessible();
// Says that the box is the one that the keyboard is at.
void announceBox(GraphView* view, int box);

}  // namespace normlens::graphview
