#include "ui/layout/layout_worker.h"

#include <QMetaObject>
#include <chrono>
#include <utility>

namespace normlens::layout {

LayoutWorker::LayoutWorker(QObject* parent) : QObject(parent) {
  thread_ = std::jthread([this](const std::stop_token& quit) { work(quit); });
}

LayoutWorker::~LayoutWorker() {
  cancel();
  thread_.request_stop();
  wake_.notify_all();
  thread_.join();
}

int LayoutWorker::request(LayoutRequest request) {
  ++generation_;
  busy_ = true;
  {
    const std::lock_guard lock(mutex_);
    running_.request_stop();
    waiting_ = Job{std::move(request), generation_, {}};
  }
  wake_.notify_all();
  return generation_;
}

void LayoutWorker::cancel() {
  ++generation_;
  busy_ = false;
  const std::lock_guard lock(mutex_);
  running_.request_stop();
  waiting_.reset();
}

void LayoutWorker::work(const std::stop_token& quit) {
  GroupLayouter layouter;
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, quit, [this] { return waiting_.has_value(); })) return;
      job = std::move(*waiting_);
      waiting_.reset();
      running_ = job.stop;
    }
    carryOut(job, layouter);
  }
}

// Runs `action` in the GUI thread, unless a newer request has come meanwhile.
template <class Deliver>
void LayoutWorker::deliver(int generation, Deliver action) {
  QMetaObject::invokeMethod(
      this,
      [this, generation, action = std::move(action)] {
        if (generation == generation_) action();
      },
      Qt::QueuedConnection);
}

void LayoutWorker::carryOut(const Job& job, GroupLayouter& layouter) {
  using Clock = std::chrono::steady_clock;
  Task task;
  task.stop = job.stop.get_token();
  task.onProgress = [this, &job, last = Clock::time_point()](std::string_view stage, double fraction) mutable {
    if (Clock::now() - last < std::chrono::milliseconds(50)) return;
    last = Clock::now();
    const QString text = QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size()));
    deliver(job.generation, [this, text, fraction] { Q_EMIT progress(text, fraction); });
  };
  LayoutResult result{job.request.hierarchy, nullptr, {}};
  if (result.hierarchy == nullptr) {
    task.report("Sorting the ops into modules");
    result.hierarchy = std::make_shared<const Hierarchy>(buildHierarchy(job.request.document, job.request.options));
  }
  if (job.request.expanded) {
    result.expanded = *job.request.expanded;
  } else {
    for (const int group : defaultExpanded(*result.hierarchy)) result.expanded.insert(group);
  }
  Result<Layout> layout = layouter.layOut(*result.hierarchy, result.expanded, task, job.request.direction);
  if (layout) {
    result.layout = std::make_shared<const Layout>(std::move(*layout));
    deliver(job.generation, [this, result, generation = job.generation] {
      busy_ = false;
      Q_EMIT finished(result, generation);
    });
  } else if (layout.error().code != ErrorCode::Cancelled) {
    const QString message = QString::fromStdString(layout.error().message);
    deliver(job.generation, [this, message] {
      busy_ = false;
      Q_EMIT failed(message);
    });
  }
}

}  // namespace normlens::layout
