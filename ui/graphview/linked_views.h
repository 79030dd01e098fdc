// Two graph views that go together: what is moved, zoomed or opened in one, the other shows as well.
//
// The graphs need not be equal: what is in the middle of the one is looked up in the other, and modules are matched by
// their paths. Thread: GUI thread.
#pragma once

#include <QObject>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "ui/graphview/compare/graph_diff.h"
#include "ui/layout/layout.h"

namespace normlens::graphview {

class GraphView;

class LinkedViews final : public QObject {
  Q_OBJECT

 public:
  LinkedViews(GraphView* a, GraphView* b, QObject* parent);  // views: not owned, outlive this

  void setDiff(GraphDiff diff) { diff_ = std::move(diff); }  // Compares the documents that the views show.
  void setLinked(bool linked);
  [[nodiscard]] bool linked() const { return linked_; }

  // Goes to a node in each, by its place in the document's nodes; -1: nothing is
  // chosen there, and that view follows the other while they are linked.
  void show(int a, int b);

 private:
  struct GroupBoxes {
    std::shared_ptr<const layout::Layout> layout;  // that they are of
    std::unordered_map<std::string, int> boxByPath;
  };
  const std::unordered_map<std::string, int>& groupBoxesOf(const GraphView* view);
  void follow(GraphView* moved);
  void openTheSame(GraphView* changed);
  [[nodiscard]] GraphView* other(const GraphView* view) const { return view == a_ ? b_ : a_; }
  [[nodiscard]] const GraphDiff::Side& sideOf(const GraphView* view) const { return view == a_ ? diff_.a : diff_.b; }

  GraphView* a_;  // not owned
  GraphView* b_;  // not owned
  GraphDiff diff_;
  GroupBoxes groupsA_, groupsB_;
  bool linked_ = true;
  bool following_ = false;  // the move comes from here
};

}  // namespace normlens::graphview
