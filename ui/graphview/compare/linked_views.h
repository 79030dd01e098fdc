// Two graph views that go together: what is moved, zoomed or opened in one, the other shows as well.
//
// The graphs need not be equal: what is in the middle of the one is looked up in the other, and modules are told by
// their paths. Thread: GUI thread.
#pragma once

#include <QObject>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ui/graphview/compare/graph_diff.h"
#include "ui/layout/layout.h"

namespace normlens::graphview {

class GraphView;

class LinkedViews final : public QObject {
  Q_OBJECT

 public:
  LinkedViews(GraphView* a, GraphView* b, QObject* parent);  // views: not owned, outlive this

  void setDiff(GraphDiff diff);  // of the documents that the views show
  [[nodiscard]] const GraphDiff& diff() const { return diff_; }
  void setLinked(bool linked);
  [[nodiscard]] bool linked() const { return linked_; }

  // The next place, in the order in which nodes run, where the graphs differ, in both views. Wraps around.
  void showNextDifference(bool forward = true);

 private:
  struct Difference {
    double order = 0;    // where it comes among the others
    int a = -1, b = -1;  // places of nodes; one may be -1
  };
  struct GroupBoxes {
    std::shared_ptr<const layout::Layout> layout;  // that they are of
    std::unordered_map<std::string, int> boxByPath;
  };
  const std::unordered_map<std::string, int>& groupBoxesOf(const GraphView* view);
  void follow(GraphView* moved);
  void openTheSame(GraphView* changed);
  void collectDifferences();
  [[nodiscard]] GraphView* other(const GraphView* view) const { return view == a_ ? b_ : a_; }
  [[nodiscard]] const GraphDiff::Side& sideOf(const GraphView* view) const { return view == a_ ? diff_.a : diff_.b; }

  GraphView* a_;  // not owned
  GraphView* b_;  // not owned
  GraphDiff diff_;
  GroupBoxes groupsA_, groupsB_;
  std::vector<Difference> differences_;
  int current_ = -1;
  bool linked_ = true;
  bool following_ = false;  // the move comes from here
};

}  // namespace normlens::graphview
