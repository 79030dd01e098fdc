#include "ui/client/engine_trial.h"

#include "ui/words/format.h"

namespace normlens::ui {
namespace {

QString wordsOf(const EngineClient& engine, qint64 milliseconds) {
  const protocol::EngineInfo& info = engine.info();
  QString words = EngineTrial::tr("%1 answered after %2. Version %3, device %4.")
                      .arg(engine.name(), formatMilliseconds(static_cast<double>(milliseconds)), text(info.version),
                           text(info.device));
  const QString difference = engine.versionDifference();
  return difference.isEmpty() ? words : words + u' ' + difference;
}

}  // namespace

EngineTrial::EngineTrial(QObject* parent) : QObject(parent) {
  patience_.setSingleShot(true);
  patience_.setInterval(kPatience);
  connect(&patience_, &QTimer::timeout, this,
          [this] { end(false, tr("%1 has not answered for %2 s.").arg(engine_->name()).arg(kPatience.count())); });
}

void EngineTrial::start(const EngineCommand& command) {
  if (!engine_) {
    engine_ = std::make_unique<EngineClient>();
    connect(engine_.get(), &EngineClient::ready, this, [this] { end(true, wordsOf(*engine_, clock_.elapsed())); });
    connect(engine_.get(), &EngineClient::engineDied, this, [this](const QString& reason) { end(false, reason); });
  }
  engine_->setCommand(command);
  engine_->start();
  clock_.start();
  patience_.start();
}

void EngineTrial::stop() {
  patience_.stop();
  if (engine_) engine_->stop();
}

void EngineTrial::end(bool works, const QString& words) {
  stop();
  Q_EMIT ended(works, words);
}

}  // namespace normlens::ui
