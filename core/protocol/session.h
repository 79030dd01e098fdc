// What the reader thread and the worker thread of a Dispatcher share: the queue of requests, the table of those that
// can be cancelled, and the way out. Thread: every member function may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <stop_token>

#include "core/protocol/dispatcher.h"

namespace normlens::protocol {

class Dispatcher::Session : public std::enable_shared_from_this<Session> {
 public:
  struct Request {
    int64_t id = 0;
    std::string method;
    nlohmann::json params;
    std::stop_token stop;
  };

  // A client that asks faster than it is answered is refused beyond this many waiting requests.
  static constexpr size_t kMaxWaiting = 1000;

  explicit Session(Transport transport) : transport_(std::move(transport)) {}

  [[nodiscard]] std::string read() { return transport_.read(); }
  void send(std::string_view body, const Answered* answers = nullptr);
  void log(std::string_view line);
  [[nodiscard]] ReplyOnce replyTo(int64_t id);

  // Reader side.
  void enqueue(RpcMessage message);
  void cancel(int64_t id);
  void close(bool cancelAll);  // no more requests; the worker ends once the queue is empty
  [[nodiscard]] bool waitUntilIdle(std::chrono::milliseconds patience);

  // Worker side. nullopt: closed and empty.
  [[nodiscard]] std::optional<Request> next();
  void workerEnded();

 private:
  [[nodiscard]] std::optional<RpcFailure> admit(int64_t id) const;  // why a request cannot be taken; lock held
  void refuse(int64_t id, const RpcFailure& failure);
  void forget(int64_t id);

  Transport transport_;
  std::mutex writing_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Request> waiting_;
  std::map<int64_t, std::stop_source> stops_;  // of waiting and running requests
  bool closed_ = false;
  bool workerEnded_ = false;
};

}  // namespace normlens::protocol
