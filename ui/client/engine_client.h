// The window's end of the engine: a child process that speaks the protocol on its standard streams.
//
//   EngineClient engine;
//   engine.setCommand(engineCommandFromSettings());
//   engine.start();
//   auto id = engine.request(protocol::methods::kOpen, params, this,
//                                                 [this](const Reply<protocol::ModelInfo>& reply) { ... });
//   engine.cancel(id);
//
// Thread: GUI thread; nothing here waits. Every request is answered exactly once, later, never from inside request():
// by the engine, by cancel() (at the latest kCancelPatience after it), or, when the engine dies, with an error.
// Requests made while the engine starts are kept and sent once it has introduced itself. Only the current process is
// read: what an older one still sends is dropped.
//
// An engine is pinged each second; any byte is a sign of life. silenceChanged() reports one that sent none for
// kSilence, and again each second until it speaks or is ended. One that stops in the middle of a message, or announces
// more than it sends, is given up after as long.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QPointer>
#include <QProcess>
#include <QStringList>
#include <QThread>
#include <QTimer>
#include <chrono>
#include <functional>
#include <map>
#include <memory>

#include "core/protocol/methods.h"
#include "ui/client/engine_command.h"
#include "ui/client/reply_decoder.h"

namespace normlens::ui {

struct EngineError {
  protocol::RpcError code = protocol::RpcError::InternalError;
  QString message;  // one plain sentence
  QString hint;     // may be empty
  bool engineDied = false;

  [[nodiscard]] bool cancelled() const { return code == protocol::RpcError::RequestCancelled; }
};

template <class T>
using Reply = tl::expected<T, EngineError>;

[[nodiscard]] EngineError engineErrorOf(const protocol::RpcFailure& failure);

class EngineClient final : public QObject {
  Q_OBJECT
  Q_DISABLE_COPY_MOVE(EngineClient)

 public:
  enum class State { Stopped, Starting, Ready, Dead };
  Q_ENUM(State)
  using RequestId = qint64;
  static constexpr size_t kMaxPending = 256;  // more are refused at once
  static constexpr std::chrono::milliseconds kCancelPatience{120};
  static constexpr int kSilence = 5;  // seconds

  explicit EngineClient(QObject* parent = nullptr);
  ~EngineClient() override;

  void setCommand(EngineCommand command);
  [[nodiscard]] const EngineCommand& command() const { return command_; }
  [[nodiscard]] QString host() const { return hostOf(command_); }  // empty: this machine
  [[nodiscard]] QString name() const;  // begins a sentence: "The engine", "The engine on gpu-box"
  void start();                        // ends a running engine first
  void stop();                         // orderly; pending requests are answered with an error
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const protocol::EngineInfo& info() const { return info_; }        // The last ready engine's.
  [[nodiscard]] qint64 processId() const;                                         // 0 when none runs
  [[nodiscard]] int silence() const { return silent_ < kSilence ? 0 : silent_; }  // seconds; 0: it shows life
  // Returns which side is older, as a sentence; empty: window and last ready engine have one version.
  [[nodiscard]] QString versionDifference() const;
  // The connection of an engine that was ready ended, and none was ready since: another start may reach it.
  [[nodiscard]] bool disconnected() const { return disconnected_; }
  // Deaths before it was ready, one after another.
  [[nodiscard]] int failedStarts() const { return failedStarts_; }

  // `context`: when it is gone, the reply is dropped. The reply is `done`'s to take apart.
  template <class Params, class T>
  RequestId request(const protocol::Method<Params, T>& method, const std::type_identity_t<Params>& params,
                    QObject* context, const std::type_identity_t<std::function<void(Reply<T>&)>>& done);
  void cancel(RequestId id);
  // Sends a notification to an engine that is ready; for any other it is dropped.
  template <class Params>
  void notify(std::string_view method, const Params& params) {
    if (state_ == State::Ready) write(frameOf(method, protocol::toJson(params)));
  }

 Q_SIGNALS:
  void stateChanged(normlens::ui::EngineClient::State state);
  void ready();
  void progressed(qint64 id, const QString& stage, double fraction);
  void measured(const normlens::protocol::BenchUpdate& update);  // A pending request reports it.
  void trained(const normlens::protocol::LabUpdate& update);     // the same
  void engineDied(const QString& reason);                        // one sentence
  void logged(const QString& line);  // the engine's stderr, and complaints about what it sent or what version it is
  void silenceChanged(int seconds);  // silence()

 private:
  static constexpr RequestId kPingId = 0;            // No request has it: its answer is dropped once it was read.
  static constexpr qsizetype kMostErrorLines = 200;  // Limits one piece of the engine's stderr.
  using Fail = std::function<void(const EngineError&)>;
  struct Pending {
    Fail fail;
    QByteArray unsent;  // kept until the engine is ready
  };

  RequestId enqueue(std::string_view method, const nlohmann::json& params, ReplyDecoder::Decode decode, Fail fail,
                    bool now);
  void refuseLater(Fail fail, EngineError error);
  void write(const QByteArray& frame);
  [[nodiscard]] static QByteArray frameOf(std::string_view method, const nlohmann::json& params);  // a notification
  void introduce();
  void introduced(const Reply<protocol::EngineInfo>& reply);
  void setState(State state);
  void retire();  // lets go of the current process without waiting
  void died(const QString& reason);
  void connectionEnded(const QString& reason);
  void failAll(const EngineError& error);
  void readErrors();
  void readReplies();
  void lookForLife();
  void setSilence(int seconds);
  void startDecoder();
  [[nodiscard]] QString describeEnd(int exitCode, QProcess::ExitStatus status) const;

  EngineCommand command_;
  State state_ = State::Stopped;
  protocol::EngineInfo info_;
  QPointer<QProcess> process_;  // owned through QObject
  int generation_ = 0;          // Counts processes; deliveries of an older one are dropped.
  std::map<RequestId, Pending> pending_;
  RequestId nextId_ = 1;
  std::shared_ptr<ReplyDecoder> decoder_;
  QObject* worker_ = nullptr;  // lives on decoderThread_, owned
  QThread decoderThread_;
  QString lastErrorLine_;
  QTimer heartbeat_;
  bool pinged_ = false;  // and nothing came since
  int silent_ = 0;       // seconds since something came
  int within_ = 0;       // seconds in the middle of a message, of which little came
  qint64 received_ = 0;  // bytes since the last beat
  int failedStarts_ = 0;
  bool disconnected_ = false;
};

template <class Params, class T>
EngineClient::RequestId EngineClient::request(const protocol::Method<Params, T>& method,
                                              const std::type_identity_t<Params>& params, QObject* context,
                                              const std::type_identity_t<std::function<void(Reply<T>&)>>& done) {
  const QPointer<QObject> alive(context);
  auto decode = [alive, done](const protocol::RpcMessage& message) -> Delivery {
    auto reply = std::make_shared<Reply<T>>();
    if (message.failure) {
      *reply = tl::unexpected<EngineError>(engineErrorOf(*message.failure));
    } else if (auto decoded = protocol::decode<T>(message.result)) {
      *reply = std::move(*decoded);
    } else {
      *reply = tl::unexpected<EngineError>(EngineError{
          protocol::RpcError::InternalError,
          tr("The engine's answer could not be read: %1.").arg(QString::fromStdString(decoded.error().message)),
          tr("The versions of window and engine may differ."), false});
    }
    return [alive, done, reply] {
      if (alive) done(*reply);
    };
  };
  auto fail = [alive, done](const EngineError& error) {
    Reply<T> reply = tl::unexpected<EngineError>(error);
    if (alive) done(reply);
  };
  return enqueue(method, protocol::toJson(params), std::move(decode), std::move(fail), false);
}

}  // namespace normlens::ui
