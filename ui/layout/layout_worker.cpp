#include "ui/layout/layout_worker.h"

#include <QMetaObject>
#include <chrono>
#include <utility>

#include "core/base/handed_over.h"

namespace normlens::layout {

LayoutWorker::LayoutWorker(QObject* parent, DotProgram dot) : QObject(parent) {
  thread_ = std::jthread([this, dot = std::move(dot)](const std::stop_token& quit) { work(quit, dot); });
}

LayoutWorker::~LayoutWorker() {
  cancel();
  thread_.request_stop();
  wake_.notify_all();
  thread_.join();
}

void LayoutWorker::request(LayoutRequest request) {
  cancel();
  busy_ = true;
  newest_ = {};
  {
    const std::lock_guard lock(mutex_);
    waiting_ = Job{std::move(request), newest_.get_token()};
  }
  wake_.notify_all();
}

void LayoutWorker::cancel() {
  newest_.request_stop();
  busy_ = false;
  const std::lock_guard lock(mutex_);
  waiting_.reset();
}

void LayoutWorker::work(const std::stop_token& quit, const DotProgram& dot) {
  GroupLayouter layouter(dot);
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, quit, [this] { return waiting_.has_value(); })) return;
      job = std::move(*waiting_);
      waiting_.reset();
    }
    carryOut(job, layouter);
  }
}

// Runs `action` in the GUI thread, unless a newer request has come meanwhile.
template <class Deliver>
void LayoutWorker::deliver(const std::stop_token& stop, Deliver action) {
  QMetaObject::invokeMethod(this, HandedOver([stop, action = std::move(action)] {
                              if (!stop.stop_requested()) action();
                            }),
                            Qt::QueuedConnection);
}

void LayoutWorker::carryOut(const Job& job, GroupLayouter& layouter) {
  using Clock = std::chrono::steady_clock;
  Task task;
  task.stop = job.stop;
  task.onProgress = [this, &job, last = Clock::time_point()](std::string_view stage, double) mutable {
    if (Clock::now() - last < std::chrono::milliseconds(50)) return;
    last = Clock::now();
    const QString text = QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size()));
    deliver(job.stop, [this, text] { Q_EMIT progress(text); });
  };
  layouter.prepare();
  LayoutResult result{job.request.hierarchy, nullptr, {}};
  if (result.hierarchy == nullptr) {
    task.report("Sorting the nodes into modules");
    const LayoutRequest& of = job.request;
    result.hierarchy = std::make_shared<const Hierarchy>(buildHierarchy(of.document, of.options, of.titles));
  }
  result.expanded = job.request.expanded ? *job.request.expanded : defaultExpanded(*result.hierarchy);
  Result<Layout> layout = layouter.layOut(*result.hierarchy, result.expanded, task, job.request.direction);
  if (layout) {
    result.layout = std::make_shared<const Layout>(std::move(*layout));
    deliver(job.stop, [this, result] {
      busy_ = false;
      Q_EMIT finished(result);
    });
  } else if (layout.error().code != ErrorCode::Cancelled) {
    const QString message = QString::fromStdString(layout.error().message);
    deliver(job.stop, [this, message] {
      busy_ = false;
      Q_EMIT failed(message);
    });
  }
}

}  // namespace normlens::layout
