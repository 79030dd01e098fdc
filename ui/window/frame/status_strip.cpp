#include "ui/window/frame/status_strip.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QTimer>

#include "ui/client/process_memory.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"

namespace normlens::ui {

namespace {

QString jobWord(JobKind kind) {
  switch (kind) {
    case JobKind::Opening:
      return StatusStrip::tr("Opening");
    case JobKind::Analyzing:
      return StatusStrip::tr("Analysing");
    case JobKind::Planning:
      return StatusStrip::tr("Planning");
    case JobKind::Folding:
      return StatusStrip::tr("Folding");
    case JobKind::Measuring:
      return StatusStrip::tr("Measuring");
    case JobKind::Exporting:
      return StatusStrip::tr("Exporting");
    case JobKind::SavingTensor:
      return StatusStrip::tr("Saving the tensor");
    case JobKind::None:
      break;
  }
  return {};
}

QString engineWord(EngineClient::State state) {
  switch (state) {
    case EngineClient::State::Ready:
      return StatusStrip::tr("Engine ready");
    case EngineClient::State::Starting:
      return StatusStrip::tr("Engine starting");
    case EngineClient::State::Dead:
      return StatusStrip::tr("Engine stopped");
    case EngineClient::State::Stopped:
      break;
  }
  return StatusStrip::tr("No engine");
}

QColor dotColor(const Theme& theme, EngineClient::State state, int silence) {
  if (silence > 0) return theme.classes.chosen;
  if (state == EngineClient::State::Ready) return theme.good;
  return state == EngineClient::State::Dead ? theme.blocked : theme.textFaint;
}

}  // namespace

StatusStrip::StatusStrip(QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("statusBar"));
  setAccessibleName(tr("Status"));
  setFixedHeight(24);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(26, 0, 12, 0);
  layout->setSpacing(10);
  const auto addLabel = [&](const char* name, const QString& tip) {
    if (layout->count() > 0) {
      QFrame* line = makeLine(Qt::Vertical, this);
      line->setFixedHeight(12);
      layout->addWidget(line);
    }
    auto* label = makeLabel({}, "status", this);
    label->setObjectName(QLatin1String(name));
    label->setToolTip(tip);
    layout->addWidget(label);
    return label;
  };
  engineLabel_ = addLabel("engineState", tr("The engine is a program of its own: if it stops, this window stays."));
  device_ = addLabel("engineDevice", tr("What the engine runs models on."));
  model_ = addLabel("modelSize", tr("Size of the opened file."));
  memory_ = addLabel("engineMemory", tr("Memory that the engine holds now."));
  layout->addStretch(1);
  stage_ = makeLabel({}, "status", this);
  stage_->setObjectName(QStringLiteral("jobStage"));
  bar_ = new QProgressBar(this);
  bar_->setTextVisible(false);
  bar_->setFixedWidth(70);
  bar_->setAccessibleName(tr("Progress"));
  cancel_ = new IconButton(QStringLiteral("close"), {}, tr("Stop what is running (Esc)"), this);
  cancel_->setObjectName(QStringLiteral("cancelJob"));
  cancel_->setIconExtent(12);
  cancel_->setFixedSize(20, 20);
  connect(cancel_, &QToolButton::clicked, this, &StatusStrip::cancelClicked);
  layout->addWidget(stage_);
  layout->addWidget(bar_);
  layout->addWidget(cancel_);
  memoryTimer_ = new QTimer(this);
  memoryTimer_->setInterval(2000);
  connect(memoryTimer_, &QTimer::timeout, this, &StatusStrip::showMemory);
  showJob({});
}

void StatusStrip::showEngine(const EngineClient& engine) {
  engine_ = &engine;
  state_ = engine.state();
  silence_ = engine.silence();
  engineLabel_->setText(silence_ > 0 ? tr("Engine silent for %1 s").arg(silence_) : engineWord(state_));
  const bool ready = state_ == EngineClient::State::Ready;
  device_->setText(ready ? text(engine.info().device) : QStringLiteral("–"));
  if (ready) {
    memoryTimer_->start();
  } else {
    memoryTimer_->stop();
  }
  showMemory();
  update();
}

void StatusStrip::showMemory() {
  const bool ready = engine_ != nullptr && state_ == EngineClient::State::Ready;
  qint64 bytes = 0;
  if (ready) {
    // The process that was started may be ssh: then only what the engine itself said is known.
    const bool local = engine_->info().pid == engine_->processId();
    bytes = local ? residentBytes(engine_->processId()).value_or(engine_->info().memory_bytes)
                  : engine_->info().memory_bytes;
  }
  memory_->setText(bytes > 0 ? tr("%1 memory").arg(formatBytes(bytes)) : tr("no memory held"));
}

void StatusStrip::showModel(const Session& session) {
  model_->setText(session.model() ? tr("%1 model").arg(formatBytes(session.model()->file_bytes)) : tr("no model"));
}

void StatusStrip::showJob(const Job& job) {
  const bool running = job.kind != JobKind::None;
  for (QWidget* widget : {static_cast<QWidget*>(stage_), static_cast<QWidget*>(bar_), static_cast<QWidget*>(cancel_)}) {
    widget->setVisible(running);
  }
  if (!running) return;
  QString words = job.stage.isEmpty() ? jobWord(job.kind) : QStringLiteral("%1: %2").arg(jobWord(job.kind), job.stage);
  const QString left = remainingWords(job.remainingMs);
  if (silence_ > 0) {
    words += tr(" · no news for %1 s").arg(silence_);
  } else if (!left.isEmpty()) {
    words += QStringLiteral(" · ") + left;
  }
  stage_->setText(words);
  bar_->setRange(0, job.fraction < 0 ? 0 : 1000);
  if (job.fraction >= 0) bar_->setValue(static_cast<int>(qBound(0.0, job.fraction, 1.0) * 1000));
}

void StatusStrip::paintEvent(QPaintEvent* event) {
  QFrame::paintEvent(event);
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(dotColor(theme, state_, silence_));
  painter.drawEllipse(QPointF(15.5, height() / 2.0), 3.5, 3.5);
}

}  // namespace normlens::ui
