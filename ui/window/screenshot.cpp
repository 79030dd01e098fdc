#include "ui/window/screenshot.h"

#include <QPixmap>
#include <QSaveFile>

#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/session/session.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/main_window.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/report_export.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

constexpr int kPollMs = 25;
constexpr int kMostSilence = 60;  // seconds
constexpr int kCalmPolls = 6;     // repaints, scroll positions and the status line follow within this

}  // namespace

Screenshot::Screenshot(MainWindow* window, ScreenshotOptions options, Done done)
    : window_(window), options_(std::move(options)), done_(std::move(done)) {
  window_->workspace()->graph()->view()->setAnimated(false);
  Session* session = window_->session();
  connect(session, &Session::problem, this, [this](const QString& message) { problem_ = message; });
  connect(session, &Session::openFailed, this, [this] { finish(3, problem_); });
  connect(session, &Session::engineLost, this, [this](const QString& reason) { finish(3, reason); });
  connect(window_->engine(), &EngineClient::silenceChanged, this, [this](int seconds) {
    if (seconds >= kMostSilence) finish(3, tr("The engine has not answered for %1 s.").arg(seconds));
  });
  connect(&poll_, &QTimer::timeout, this, &Screenshot::check);
}

void Screenshot::start(const QString& model) {
  model_ = model;
  window_->resize(options_.size);
  window_->show();
  if (!model.isEmpty()) window_->openFile(model);
  poll_.start(kPollMs);
}

bool Screenshot::settled() {
  const Session* session = window_->session();
  if (window_->engine()->state() != EngineClient::State::Ready) return false;
  if (model_.isEmpty()) return true;
  if (!session->model() || session->busy()) return false;
  return window_->workspace()->graph()->view()->isLaidOut();
}

void Screenshot::check() {
  Session* session = window_->session();
  if (!model_.isEmpty() && session->path().isEmpty()) {  // a project that cannot be read, or whose model is gone
    finish(3, problem_.isEmpty() ? window_->infoBar()->message() : problem_);
    return;
  }
  calm_ = settled() ? calm_ + 1 : 0;
  if (calm_ < kCalmPolls) return;
  if (!options_.select.isEmpty() && !selected_) {
    const int norm = session->normNamed(options_.select);
    if (norm < 0) {
      finish(2, tr("There is no LayerNorm named %1 in %2.").arg(options_.select, model_));
      return;
    }
    selected_ = true;
    calm_ = 0;
    session->selection()->selectNorm(norm);
    return;
  }
  if (selected_ && !session->selection()->zeroMean()) return;
  if (selected_ && calm_ < 3 * kCalmPolls) return;  // the highlight may have opened groups, which are laid out
  poll_.stop();
  folding_ ? writeReport() : takePictures();
}

void Screenshot::takePictures() {
  if (!options_.file.isEmpty()) {
    QSaveFile file(options_.file);
    if (!file.open(QIODevice::WriteOnly) || !window_->grab().save(&file, "PNG") || !file.commit()) {
      finish(3, tr("The picture could not be written to %1.").arg(options_.file));
      return;
    }
  }
  if (options_.picture.isEmpty()) return fold();
  GraphPane* pane = window_->workspace()->graph();
  connect(pane, &GraphPane::reported, this, [this](const QString& message) { problem_ = message; });
  connect(pane, &GraphPane::pictureDone, this, [this](bool written) { written ? fold() : finish(3, problem_); });
  pane->savePicture(options_.picture, true);
}

void Screenshot::fold() {
  if (options_.report.isEmpty()) return finish(0, problem_);
  folding_ = true;
  calm_ = 0;
  window_->session()->fold();
  poll_.start(kPollMs);
}

void Screenshot::writeReport() {
  if (!window_->session()->foldResult()) return finish(3, problem_);
  auto* report = window_->findChild<ReportExport*>();
  connect(report, &ReportExport::written, this, [this] { finish(0, problem_); });
  connect(report, &ReportExport::failed, this, [this](const QString& why) { finish(3, why); });
  report->start(options_.report);
}

void Screenshot::finish(int status, const QString& line) {
  poll_.stop();
  if (const Done done = std::exchange(done_, nullptr)) done(status, line);
}

}  // namespace normlens::ui
