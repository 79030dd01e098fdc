// Lays out a hierarchy with some groups open: children first, each group on its own, each structure once.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/base/task.h"
#include "ui/layout/layout.h"
#include "ui/layout/local_layout.h"
#include "ui/layout/visible_graph.h"

namespace normlens::layout {

// Remembers what Graphviz made of each structure it has seen, the last kCapacity of them. Thread: one at a time.
class GroupLayouter {
 public:
  static constexpr size_t kCapacity = 512;

  // Errors: Cancelled (checked between two groups, each well under a second), or what Graphviz could not do.
  [[nodiscard]] Result<Layout> layOut(const Hierarchy& hierarchy, const GroupSet& expanded, const Task& task,
                                      Direction direction = Direction::Down);

  // Graphviz runs since it was made.
  [[nodiscard]] int runs() const { return runs_; }

 private:
  using Known = std::shared_ptr<const LocalLayout>;
  Result<Known> local(const LocalInput& input);

  BoxMetrics metrics_;
  std::unordered_map<std::string, Known> known_;
  std::list<std::string> order_;  // oldest first
  int runs_ = 0;
};

}  // namespace normlens::layout
