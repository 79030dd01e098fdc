// Turns the engine's frames into typed replies on a thread of its own, in the order they came.
//
// A graph of ten thousand nodes is megabytes of JSON: parsed in the GUI thread it would be a visible stall. The GUI
// thread registers for each request how its reply is to be decoded; the worker parses, decodes and hands back a
// delivery, a function to be called on the GUI thread.
//
// An engine that speaks nonsense is given up: a message that is none or beyond all measure may have been an answer for
// which somebody would wait for ever, and noise between the messages need not end.
#pragma once

#include <QByteArray>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/protocol/bench_messages.h"
#include "core/protocol/framing.h"
#include "core/protocol/lab_messages.h"
#include "core/protocol/progress_throttle.h"
#include "core/protocol/rpc.h"

namespace normlens::ui {

// Runs on the GUI thread.
using Delivery = std::function<void()>;

class ReplyDecoder {
 public:
  // Runs on the worker: decodes the reply and returns what to do with it on the GUI thread.
  using Decode = std::function<Delivery(const protocol::RpcMessage&)>;
  struct Handlers {
    std::function<void(Delivery)> deliver;  // called on the worker
    std::function<Delivery(const protocol::Progress&)> progress;
    std::function<Delivery(const protocol::BenchUpdate&)> measured;
    std::function<Delivery(const protocol::LabUpdate&)> trained;
    std::function<Delivery(std::string)> complaint;  // something that is no message came, and was skipped
    std::function<Delivery(std::string)> nonsense;   // once: half a sentence; nothing is read any more
  };
  static constexpr int kMostComplaints = 100;                 // between two answers
  static constexpr int64_t kMostUnread = int64_t{256} << 20;  // bytes

  explicit ReplyDecoder(Handlers handlers) : handlers_(std::move(handlers)) {}

  void expect(int64_t id, Decode decode);  // any thread
  void forget(int64_t id);                 // any thread; a reply that is being decoded may still be delivered
  // The GUI thread calls this before it hands a chunk over. False: the engine sends faster than it can be read.
  [[nodiscard]] bool expectBytes(int64_t bytes) { return (unread_ += bytes) <= kMostUnread; }
  void feed(const QByteArray& chunk);  // worker
  // All that came was read, and it ends in the middle of a message. Any thread.
  [[nodiscard]] bool waitsForRest() const { return within_ && unread_ == 0; }
  void close() { closed_ = true; }  // any thread: what is still fed is dropped

 private:
  void handle(const std::string& body);
  void deliverProgress(const protocol::RpcMessage& message);
  void complain(const Error& error);
  void giveUp(const std::string& why);
  [[nodiscard]] bool isExpected(int64_t id);
  std::optional<Decode> take(int64_t id);

  Handlers handlers_;
  protocol::FrameDecoder frames_;  // worker only
  protocol::ProgressThrottle throttle_;
  int complaints_ = 0;  // since the last answer
  std::atomic<int64_t> unread_ = 0;
  std::atomic<bool> closed_ = false, within_ = false;
  std::mutex mutex_;  // guards expected_
  std::unordered_map<int64_t, Decode> expected_;
};

}  // namespace normlens::ui
