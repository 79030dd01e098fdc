// Lays out a hierarchy with some groups open: children first, each group on its own, each structure once.
#pragma once

#include <QByteArray>
#include <QCache>
#include <memory>

#include "core/base/task.h"
#include "ui/layout/layout.h"
#include "ui/layout/local_layout.h"
#include "ui/layout/visible_graph.h"

namespace normlens::layout {

// Remembers what Graphviz made of the structures it has seen last. Thread: one at a time.
class GroupLayouter {
 public:
  // Errors: Cancelled (checked between two groups, each well under a second), or what Graphviz could not do.
  [[nodiscard]] Result<Layout> layOut(const Hierarchy& hierarchy, const GroupSet& expanded, const Task& task,
                                      Direction direction = Direction::Down);

  // Graphviz runs since it was made.
  [[nodiscard]] int runs() const { return runs_; }

 private:
  using Known = std::shared_ptr<const LocalLayout>;
  Result<Known> local(const LocalInput& input);

  BoxMetrics metrics_;
  QCache<QByteArray, Known> known_{512};
  int runs_ = 0;
};

}  // namespace normlens::layout
