#include "ui/window/frame/status_strip.h"

#include <unistd.h>

#include <QFile>
#include <QProgressBar>
#include <QPushButton>
#include <QTimer>
#include <optional>

#include "ui/session/session.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kMemoryMs = 2000;   // from one look at the engine's memory to the next
constexpr int kStoppedMs = 6000;  // for which it is shown what was stopped

// By JobKind.
constexpr const char* kJobWords[] = {"",
                                     QT_TRANSLATE_NOOP("StatusStrip", "Opening"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Analyzing"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Confirming inferred shapes"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Planning"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Folding"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Measuring"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Exporting"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Narrowing"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Saving the tensor"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Comparing"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Probing"),
                                     QT_TRANSLATE_NOOP("StatusStrip", "Writing the report")};

std::optional<qint64> residentBytesOfOne(qint64 processId) {
  QFile file(QStringLiteral("/proc/%1/statm").arg(processId));
  if (!file.open(QIODevice::ReadOnly)) return std::nullopt;
  const QList<QByteArray> fields = file.readAll().split(' ');
  if (fields.size() < 2) return std::nullopt;
  return fields[1].toLongLong() * sysconf(_SC_PAGESIZE);
}

// Resident set in bytes; of a process that works through children theirs, as what it shares with them would count
// twice. nullopt when there is no such process here.
std::optional<qint64> residentBytes(qint64 processId) {
  if (processId <= 0) return std::nullopt;
  QFile children(QStringLiteral("/proc/%1/task/%1/children").arg(processId));
  qint64 bytes = 0;
  if (children.open(QIODevice::ReadOnly)) {
    for (const QByteArray& child : children.readAll().simplified().split(' ')) {
      bytes += residentBytesOfOne(child.toLongLong()).value_or(0);
    }
  }
  return bytes > 0 ? bytes : residentBytesOfOne(processId);
}

QString jobWords(const Job& job) {
  const QString kind = StatusStrip::tr(kJobWords[static_cast<int>(job.kind)]);
  // A stage that repeats the job's word continues it: "Measuring memory".
  if (job.stage.isEmpty() || job.stage.startsWith(kind, Qt::CaseInsensitive)) return kind + job.stage.mid(kind.size());
  return QStringLiteral("%1: %2").arg(kind, job.stage);
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

// Returns the kind, and so the color, of the dot before the engine's word.
const char* dotKind(EngineClient::State state, int silence) {
  if (silence > 0) return "dotSilent";
  if (state == EngineClient::State::Ready) return "dotReady";
  return state == EngineClient::State::Dead ? "dotDead" : "dot";
}

}  // namespace

StatusStrip::StatusStrip(QWidget* parent) : QFrame(parent) {
  describe(this, "statusBar", {}, tr("Status"));
  setTextHeight(this, 24);
  auto* layout = makeRow(this, 10, {12, 0, 12, 0});
  dot_ = makeLabel({}, "dot", this);
  setTextWidth(dot_, 7);
  setTextHeight(dot_, 7);
  layout->addWidget(dot_);
  const auto addLabel = [&](const char* name, const QString& tip) {
    if (layout->count() > 1) {
      QFrame* line = makeLine(Qt::Vertical, this);
      line->setFixedHeight(12);
      layout->addWidget(line);
    }
    auto* label = describe(makeLabel({}, "status", this), name, tip);
    layout->addWidget(label);
    return label;
  };
  engineLabel_ = addLabel("engineState", tr("The engine is a separate program: if it stops, this window stays open."));
  device_ = addLabel("engineDevice", tr("The device that runs the models."));
  model_ = addLabel("modelSize", tr("Size of the opened file."));
  memory_ = addLabel("engineMemory", tr("Memory the engine uses now."));
  QPushButton* log = addButton(layout, "link", tr("Log"), "logButton", tr("Show or hide the engine's messages."));
  connect(log, &QPushButton::clicked, this, &StatusStrip::logClicked);
  layout->addStretch(1);
  stage_ = describe(new ElidedLabel({}, Qt::ElideRight, this), "jobStage");
  stage_->setProperty("kind", "status");
  bar_ = new QProgressBar(this);
  bar_->setTextVisible(false);
  bar_->setFixedWidth(70);
  bar_->setAccessibleName(tr("Progress"));
  cancel_ = describe(new IconButton(QStringLiteral("close"), {}, tr("Stop what is running (Esc)"), this), "cancelJob");
  cancel_->setIconExtent(12);
  cancel_->setFixedSize(20, 20);
  connect(cancel_, &QToolButton::clicked, this, &StatusStrip::cancelClicked);
  for (QWidget* part : std::initializer_list<QWidget*>{stage_, bar_, cancel_}) layout->addWidget(part);
  stopped_ = new QTimer(this);
  stopped_->setSingleShot(true);
  connect(stopped_, &QTimer::timeout, stage_, &QWidget::hide);
  auto* memoryTimer = new QTimer(this);
  connect(memoryTimer, &QTimer::timeout, this, &StatusStrip::showMemory);
  memoryTimer->start(kMemoryMs);
  showJob({});
}

void StatusStrip::showEngine(const EngineClient& engine) {
  engine_ = &engine;
  state_ = engine.state();
  silence_ = engine.silence();
  const QString words = silence_ > 0 ? tr("Engine: no response for %1 s").arg(silence_) : engineWord(state_);
  engineLabel_->setText(engine.host().isEmpty() ? words : tr("%1 on %2").arg(words, engine.host()));
  const bool ready = state_ == EngineClient::State::Ready;
  device_->setText(ready ? text(engine.info().device) : QStringLiteral("–"));
  setKind(dot_, dotKind(state_, silence_));
  showMemory();
}

void StatusStrip::showMemory() {
  const bool ready = engine_ != nullptr && state_ == EngineClient::State::Ready;
  qint64 bytes = 0;
  if (ready) {
    // The process that was started may be ssh: then only the engine's own report is of use.
    const bool local = engine_->info().pid == engine_->processId();
    bytes = local ? residentBytes(engine_->processId()).value_or(engine_->info().memory_bytes)
                  : engine_->info().memory_bytes;
  }
  memory_->setText(bytes > 0 ? tr("%1 memory").arg(formatBytes(bytes)) : tr("no memory used"));
}

void StatusStrip::showModel(const Session& session) {
  model_->setText(session.model() ? tr("%1 model").arg(formatBytes(session.model()->file_bytes)) : tr("no model"));
}

void StatusStrip::showJob(const Job& job, bool canStop) {
  const bool running = job.kind != JobKind::None;
  if (running) stopped_->stop();
  stage_->setVisible(running || stopped_->isActive());
  bar_->setVisible(running);
  cancel_->setVisible(running && canStop && !job.stopping);
  if (!running) return;
  QString words = job.stopping ? tr("Stopping…")
                  : canStop    ? jobWords(job)
                               : tr("Going back to the fold that was proved");
  const QString left = job.stopping ? QString() : remainingWords(job.remainingMs);
  if (silence_ > 0) {
    words += tr(" · no response for %1 s").arg(silence_);
  } else if (!left.isEmpty()) {
    words += QStringLiteral(" · ") + left;
  }
  stage_->setFullText(words);
  bar_->setRange(0, job.fraction < 0 ? 0 : 1000);
  if (job.fraction >= 0) bar_->setValue(static_cast<int>(qBound(0.0, job.fraction, 1.0) * 1000));
}

void StatusStrip::showStopped(const Job& job) {
  stopped_->start(kStoppedMs);
  showJob({});
  stage_->setFullText(tr("%1 · stopped").arg(jobWords(job)));
}

}  // namespace normlens::ui
