// Lays out a hierarchy with some groups open: children first, each group on its own, each structure once.
#pragma once

#include <QByteArray>
#include <QCache>
#include <memory>
#include <utility>

#include "core/base/task.h"
#include "ui/layout/dot/dot_process.h"
#include "ui/layout/layout.h"
#include "ui/layout/local_layout.h"
#include "ui/layout/visible_graph.h"

namespace normlens::layout {

// Remembers what became of the structures it has seen last. Thread: one at a time, one for all layouts.
class GroupLayouter {
 public:
  explicit GroupLayouter(DotProgram dot = {}) : dot_(std::move(dot)) {}

  // Loads Graphviz meanwhile.
  void prepare() { dot_.start(); }

  // Graphviz may run out of time kMostFailures times, then the rest is laid out without it.
  // Errors: Cancelled, soon after the stop.
  [[nodiscard]] Result<Layout> layOut(const Hierarchy& hierarchy, const GroupSet& expanded, const Task& task,
                                      Direction direction = Direction::Down);

  static constexpr int kMostFailures = 3;

  // Since it was made: structures laid out, graphs given to Graphviz, and the most boxes and edges of one of those.
  [[nodiscard]] int runs() const { return runs_; }
  [[nodiscard]] int dotRuns() const { return dotRuns_; }
  [[nodiscard]] size_t largestDotRun() const { return largestDotRun_; }

 private:
  using Known = std::shared_ptr<const LocalLayout>;
  Result<Known> local(const LocalInput& input, const Task& task);
  Result<DotDrawing> runDot(const DotGraph& graph, const Task& task);

  BoxMetrics metrics_;
  QCache<QByteArray, Known> known_{512};
  DotProcess dot_;
  int failures_ = 0;  // Counts Graphviz's failures in this layout.
  int runs_ = 0, dotRuns_ = 0;
  size_t largestDotRun_ = 0;
};

}  // namespace normlens::layout
