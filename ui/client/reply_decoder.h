// Turns the engine's frames into typed replies on a thread of its own, in the order they came.
//
// A graph of ten thousand nodes is megabytes of JSON: parsed in the GUI thread it would be a visible stall. The GUI
// thread registers for each request how its reply is to be decoded; the worker parses, decodes and hands back a
// delivery, a function to be called on the GUI thread.
#pragma once

#include <QByteArray>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/protocol/bench_messages.h"
#include "core/protocol/framing.h"
#include "core/protocol/rpc.h"

namespace normlens::ui {

// Runs on the GUI thread.
using Delivery = std::function<void()>;

class ReplyDecoder {
 public:
  // Runs on the worker: decodes the reply and gives back what to do with it on the GUI thread.
  using Decode = std::function<Delivery(const protocol::RpcMessage&)>;
  struct Handlers {
    std::function<void(Delivery)> deliver;  // called on the worker
    std::function<Delivery(const protocol::Progress&)> progress;
    std::function<Delivery(const protocol::BenchUpdate&)> measured;
    std::function<Delivery(std::string)> complaint;  // something unreadable came
  };

  explicit ReplyDecoder(Handlers handlers) : handlers_(std::move(handlers)) {}

  void expect(int64_t id, Decode decode);  // any thread
  void forget(int64_t id);                 // any thread; a reply that is being decoded may still be delivered
  void feed(const QByteArray& chunk);      // worker

 private:
  void handle(const std::string& body);
  std::optional<Decode> take(int64_t id);

  Handlers handlers_;
  protocol::FrameDecoder frames_;  // worker only
  std::mutex mutex_;               // guards expected_
  std::unordered_map<int64_t, Decode> expected_;
};

}  // namespace normlens::ui
