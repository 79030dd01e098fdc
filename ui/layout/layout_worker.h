// Builds hierarchies and layouts in one thread of its own and hands them over as immutable values.
//
// Only the newest request counts: a new one cancels the one in work and replaces one that waits, and an answer to an
// older one is never delivered.
// Thread: made, called and answered in one thread (the GUI's); the work happens in the worker's.
#pragma once

#include <QObject>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "ui/layout/group_layouter.h"

namespace normlens::layout {

struct LayoutRequest {
  std::shared_ptr<const protocol::GraphDocument> document;
  std::shared_ptr<const Hierarchy> hierarchy;  // The document's, when it is made already.
  NodeTitles titles;
  HierarchyOptions options;
  std::optional<GroupSet> expanded;  // nullopt: those of defaultExpanded()
  Direction direction = Direction::Down;
};

struct LayoutResult {
  std::shared_ptr<const Hierarchy> hierarchy;
  std::shared_ptr<const Layout> layout;
  GroupSet expanded;
};

class LayoutWorker : public QObject {
  Q_OBJECT
  Q_DISABLE_COPY_MOVE(LayoutWorker)

 public:
  explicit LayoutWorker(QObject* parent = nullptr, DotProgram dot = {});
  ~LayoutWorker() override;  // cancels; Graphviz is killed

  void request(LayoutRequest request);
  void cancel();
  [[nodiscard]] bool busy() const { return busy_; }

 Q_SIGNALS:
  void progress(const QString& stage);
  void finished(const normlens::layout::LayoutResult& result);
  void failed(const QString& message);

 private:
  struct Job {
    LayoutRequest request;
    std::stop_token stop;
  };
  void work(const std::stop_token& quit, const DotProgram& dot);
  void carryOut(const Job& job, GroupLayouter& layouter);
  template <class Deliver>
  void deliver(const std::stop_token& stop, Deliver action);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<Job> waiting_;  // guarded by mutex_
  std::stop_source newest_;     // Stops the newest request; GUI thread.
  bool busy_ = false;           // GUI thread
  std::jthread thread_;         // last: ends before the rest goes
};

}  // namespace normlens::layout
