#include "ui/client/engine_client.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QMetaObject>
#include <QStandardPaths>
#include <QTimer>
#include <QVersionNumber>
#include <csignal>
#include <utility>

#include "core/base/handed_over.h"
#include "ui/words/format.h"
#include "ui/words/hint_words.h"

namespace normlens::ui {

EngineError engineErrorOf(const protocol::RpcFailure& failure) {
  return {failure.code, text(failure.message), hintWords(failure.hint), false};
}

namespace {

// Returns which side is older, with both versions; empty: they are equal, or one has none. name: the engine's.
QString differenceOf(const protocol::EngineInfo& engine, const QString& name) {
  const QString theirs = text(engine.version), ours = QCoreApplication::applicationVersion();
  const auto numbers = [](const QString& version) { return QVersionNumber::fromString(version); };
  int order = engine.protocol - protocol::kProtocolVersion;
  if (order == 0 && !theirs.isEmpty() && !ours.isEmpty()) {
    order = QVersionNumber::compare(numbers(theirs), numbers(ours));
  }
  if (order == 0) return {};
  const QString words = order < 0
                            ? EngineClient::tr("%1 is older (%2, protocol %3) than this window (%4, protocol %5).")
                            : EngineClient::tr("%1 is newer (%2, protocol %3) than this window (%4, protocol %5).");
  return words.arg(name, theirs).arg(engine.protocol).arg(ours).arg(protocol::kProtocolVersion) +
         EngineClient::tr(" Install the same version of both.");
}

}  // namespace

EngineClient::EngineClient(QObject* parent) : QObject(parent) {
  decoderThread_.setObjectName(QStringLiteral("engine replies"));
  decoderThread_.start();
  heartbeat_.setInterval(std::chrono::seconds(1));
  connect(&heartbeat_, &QTimer::timeout, this, &EngineClient::lookForLife);
}

EngineClient::~EngineClient() {
  pending_.clear();
  if (process_) {
    process_->disconnect(this);
    process_->kill();
    process_->waitForFinished(500);  // the program is ending: reap the child rather than leave it behind
  }
  decoderThread_.quit();
  decoderThread_.wait();
  delete worker_;
}

void EngineClient::setCommand(EngineCommand command) {
  command_ = std::move(command);
  disconnected_ = false;
}

QString EngineClient::name() const { return host().isEmpty() ? tr("The engine") : tr("The engine on %1").arg(host()); }

QString EngineClient::versionDifference() const { return differenceOf(info_, name()); }

qint64 EngineClient::processId() const { return process_ ? process_->processId() : 0; }

void EngineClient::setState(State state) {
  if (state_ == state) return;
  state_ = state;
  Q_EMIT stateChanged(state);
}

void EngineClient::start() {
  retire();
  failAll({protocol::RpcError::InternalError, tr("The engine was restarted."), {}, true});
  lastErrorLine_.clear();
  startDecoder();
  if (command_.isEmpty()) {
    QTimer::singleShot(0, this, [this] { died(tr("The engine program normlens-engine was not found.")); });
    return;
  }
  const int generation = generation_;
  process_ = new QProcess(this);
  connect(process_, &QProcess::readyReadStandardOutput, this, &EngineClient::readReplies);
  connect(process_, &QProcess::readyReadStandardError, this, &EngineClient::readErrors);
  connect(process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    readErrors();
    const QString reason = describeEnd(code, status);
    const bool connection = status == QProcess::NormalExit && code == kConnectionEnded && !host().isEmpty();
    connection ? connectionEnded(reason) : died(reason);
  });
  connect(process_, &QProcess::errorOccurred, this, [this, generation](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    // Qt says it as the system does, "execvp: …".
    const bool there =
        QFileInfo::exists(process_->program()) || !QStandardPaths::findExecutable(process_->program()).isEmpty();
    const QString reason = (there ? tr("%1 could not be started: the system does not run the program %2.")
                                  : tr("%1 could not be started: there is no program %2."))
                               .arg(name(), process_->program());
    // Not from inside start(): the caller has not seen the state yet.
    QTimer::singleShot(0, this, [this, generation, reason] {
      if (generation == generation_) died(reason);
    });
  });
  setState(State::Starting);
  const EngineCommand command = startedCommand(command_);
  process_->start(command.first(), command.mid(1));
  heartbeat_.start();
  introduce();
}

void EngineClient::readReplies() {
  const QByteArray chunk = process_->readAllStandardOutput();
  pinged_ = false;
  received_ += chunk.size();
  setSilence(0);
  if (!decoder_->expectBytes(chunk.size())) {
    died(tr("%1 sent unreadable data: a message is too large.").arg(name()));
    return;
  }
  QMetaObject::invokeMethod(worker_, HandedOver([decoder = decoder_, chunk] { decoder->feed(chunk); }),
                            Qt::QueuedConnection);
}

// Beats are counted, not time: while the window itself was held up, or the machine asleep, there were none.
void EngineClient::lookForLife() {
  constexpr qint64 kSlowest = 4096;  // bytes in a second, of a connection that still is one
  // The second in which a message stopped may have seen more: it is the first of the kSilence.
  const bool trickles = std::exchange(received_, 0) < kSlowest;
  within_ = trickles && decoder_->waitsForRest() ? within_ + 1 : 0;
  if (within_ + 1 >= kSilence) {
    const QString reason = tr("%1 stopped in the middle of a message.").arg(name());
    return host().isEmpty() ? died(reason) : connectionEnded(reason);
  }
  if (pinged_) return setSilence(silent_ + 1);
  lastErrorLine_.clear();  // it lived on, so those were not its last words
  pinged_ = true;
  silent_ = 1;  // at most: what came last came after the beat before
  const std::string frame = protocol::encodeFrame(protocol::requestBody(kPingId, protocol::methods::kPing, nullptr));
  write(QByteArray(frame.data(), static_cast<qsizetype>(frame.size())));
}

void EngineClient::setSilence(int seconds) {
  const int before = silence();
  silent_ = seconds;
  if (silence() != before) Q_EMIT silenceChanged(silence());
}

void EngineClient::startDecoder() {
  const int generation = ++generation_;
  const auto current = [this, generation](Delivery delivery) -> Delivery {
    return [this, generation, delivery = std::move(delivery)] {
      if (generation == generation_) delivery();
    };
  };
  ReplyDecoder::Handlers handlers;
  handlers.deliver = [this](Delivery delivery) {
    QMetaObject::invokeMethod(this, HandedOver(std::move(delivery)), Qt::QueuedConnection);
  };
  handlers.progress = [this, current](const protocol::Progress& progress) {
    return current([this, progress] {
      if (pending_.contains(progress.id)) {
        Q_EMIT progressed(progress.id, QString::fromStdString(progress.stage), progress.fraction);
      }
    });
  };
  handlers.measured = [this, current](const protocol::BenchUpdate& update) {
    return current([this, update] {
      if (pending_.contains(update.id)) Q_EMIT measured(update);
    });
  };
  handlers.trained = [this, current](const protocol::LabUpdate& update) {
    return current([this, update] {
      if (pending_.contains(update.id)) Q_EMIT trained(update);
    });
  };
  handlers.complaint = [this, current](const std::string& text) {
    return current([this, text = QString::fromStdString(text)] {
      Q_EMIT logged(tr("Ignored a message of the engine: %1").arg(text));
    });
  };
  handlers.nonsense = [this, current](const std::string& why) {
    return current(
        [this, why = QString::fromStdString(why)] { died(tr("%1 sent unreadable data: %2.").arg(name(), why)); });
  };
  decoder_ = std::make_shared<ReplyDecoder>(std::move(handlers));
  if (!worker_) {
    worker_ = new QObject;
    worker_->moveToThread(&decoderThread_);
  }
}

void EngineClient::introduce() {
  protocol::InitializeParams params;
  params.client = "normlens window";
  auto decode = [this](const protocol::RpcMessage& message) -> Delivery {
    Reply<protocol::EngineInfo> reply;
    if (message.failure) {
      reply = tl::unexpected<EngineError>(engineErrorOf(*message.failure));
    } else if (auto info = protocol::decode<protocol::EngineInfo>(message.result)) {
      reply = std::move(*info);
    } else {
      reply = tl::unexpected<EngineError>(
          EngineError{protocol::RpcError::InternalError, QString::fromStdString(info.error().message), {}, false});
    }
    return [this, reply] { introduced(reply); };
  };
  enqueue(
      protocol::methods::kInitialize, protocol::toJson(params), std::move(decode), [](const EngineError&) {}, true);
}

void EngineClient::introduced(const Reply<protocol::EngineInfo>& reply) {
  if (!reply) {
    died(tr("%1 refused to start: %2").arg(name(), reply.error().message));
    return;
  }
  if (const QString difference = differenceOf(*reply, name()); !difference.isEmpty()) {
    if (reply->protocol != protocol::kProtocolVersion) return died(difference);
    Q_EMIT logged(difference);
  }
  info_ = *reply;
  failedStarts_ = 0;
  disconnected_ = false;
  setState(State::Ready);
  for (auto& [id, pending] : pending_) {
    if (!pending.unsent.isEmpty()) write(std::exchange(pending.unsent, {}));
  }
  Q_EMIT ready();
}

EngineClient::RequestId EngineClient::enqueue(std::string_view method, const nlohmann::json& params,
                                              ReplyDecoder::Decode decode, Fail fail, bool now) {
  const RequestId id = nextId_++;
  if (pending_.size() >= kMaxPending) {
    refuseLater(std::move(fail),
                {protocol::RpcError::InternalError, tr("Too many requests are waiting for the engine."), {}, false});
    return id;
  }
  if (!now && (state_ == State::Stopped || state_ == State::Dead)) {
    refuseLater(std::move(fail),
                {protocol::RpcError::InternalError, tr("The engine is not running."), tr("Restart it."), true});
    return id;
  }
  const std::string frame = protocol::encodeFrame(protocol::requestBody(id, method, params));
  const QByteArray bytes(frame.data(), static_cast<qsizetype>(frame.size()));
  // The entry is removed before the reply is delivered, so that each request is answered once.
  const int generation = generation_;
  decoder_->expect(id,
                   [this, id, generation, decode = std::move(decode)](const protocol::RpcMessage& message) -> Delivery {
                     Delivery delivery = decode(message);
                     return [this, id, generation, delivery = std::move(delivery)] {
                       if (generation == generation_ && pending_.erase(id) > 0) delivery();
                     };
                   });
  const bool hold = !now && state_ != State::Ready;
  pending_.emplace(id, Pending{std::move(fail), hold ? bytes : QByteArray()});
  if (!hold) write(bytes);
  return id;
}

void EngineClient::refuseLater(Fail fail, EngineError error) {
  QTimer::singleShot(0, this, [fail = std::move(fail), error = std::move(error)] { fail(error); });
}

void EngineClient::write(const QByteArray& frame) {
  if (process_) process_->write(frame);
}

QByteArray EngineClient::frameOf(std::string_view method, const nlohmann::json& params) {
  return QByteArray::fromStdString(protocol::encodeFrame(protocol::notificationBody(method, params)));
}

void EngineClient::cancel(RequestId id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const EngineError error{protocol::RpcError::RequestCancelled, tr("Stopped on request."), {}, false};
  const auto giveUp = [this, id, error] {
    auto entry = pending_.extract(id);
    if (entry.empty()) return;
    decoder_->forget(id);
    entry.mapped().fail(error);
  };
  if (!found->second.unsent.isEmpty()) {  // the engine has not received it
    QTimer::singleShot(0, this, giveUp);
    return;
  }
  write(frameOf(protocol::methods::kCancel, nlohmann::json{{"id", id}}));
  // The engine answers when it notices; the user need not wait for that.
  QTimer::singleShot(kCancelPatience, this, giveUp);
}

void EngineClient::stop() {
  retire();
  setState(State::Stopped);
  failAll({protocol::RpcError::InternalError, tr("The engine was stopped."), {}, true});
}

void EngineClient::retire() {
  ++generation_;
  heartbeat_.stop();
  pinged_ = false;
  within_ = 0;
  setSilence(0);
  if (decoder_) decoder_->close();
  if (!process_) return;
  QProcess* old = process_;
  process_ = nullptr;
  old->disconnect(this);
  if (old->state() == QProcess::NotRunning) {
    old->deleteLater();
    return;
  }
  connect(old, &QProcess::finished, old, &QObject::deleteLater);
  old->closeWriteChannel();  // the engine ends at the end of its input
  QTimer::singleShot(std::chrono::milliseconds(300), old, &QProcess::kill);
}

void EngineClient::died(const QString& reason) {
  retire();
  if (state_ == State::Starting) ++failedStarts_;
  setState(State::Dead);
  failAll({protocol::RpcError::InternalError, reason, {}, true});
  Q_EMIT engineDied(reason);
}

void EngineClient::connectionEnded(const QString& reason) {
  disconnected_ = disconnected_ || state_ == State::Ready;
  died(reason);
}

void EngineClient::failAll(const EngineError& error) {
  const auto orphans = std::exchange(pending_, {});
  for (const auto& [id, pending] : orphans) {
    if (decoder_) decoder_->forget(id);
    pending.fail(error);
  }
}

void EngineClient::readErrors() {
  if (!process_) return;
  const QString text = QString::fromUtf8(process_->readAllStandardError());
  const QStringList lines = text.split(u'\n', Qt::SkipEmptyParts);
  for (const QString& line : lines.mid(qMax(qsizetype{0}, lines.size() - kMostErrorLines))) {
    lastErrorLine_ = line.trimmed();
    Q_EMIT logged(lastErrorLine_);
  }
}

QString EngineClient::describeEnd(int exitCode, QProcess::ExitStatus status) const {
  if (status == QProcess::NormalExit) {
    const QString connection = connectionEnd(command_, exitCode, lastErrorLine_);
    if (!connection.isEmpty()) return connection;
  }
  const QString detail = lastErrorLine_.isEmpty() ? QString() : tr(" Last output: %1").arg(lastErrorLine_);
  if (status == QProcess::NormalExit) return tr("%1 exited (exit status %2).").arg(name()).arg(exitCode) + detail;
  if (exitCode == SIGKILL) {
    return tr("%1 was killed, possibly because memory ran out.").arg(name()) + detail;
  }
  return tr("%1 crashed (signal %2).").arg(name()).arg(exitCode) + detail;
}

}  // namespace normlens::ui
