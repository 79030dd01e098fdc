// A client and its byte stream in this process: give the transport to a Dispatcher, send requests, take replies.
// take() fails after 10 s instead of hanging.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>

#include "core/protocol/dispatcher.h"

namespace normlens::protocol {

class FakeClient {
 public:
  Transport transport() {
    return {.read = [this] { return read(); },
            .write = [this](std::string_view body, const Answered* /*answers*/) { write(encodeFrame(body)); },
            .log = [this](std::string_view line) { log(line); }};
  }

  void request(int64_t id, std::string_view method, const nlohmann::json& params = nullptr) {
    sendBody(requestBody(id, method, params));
  }
  void cancel(int64_t id) { sendBody(notificationBody(methods::kCancel, {{"id", id}})); }
  void sendBody(std::string_view body) { sendBytes(encodeFrame(body)); }
  void sendBytes(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    toEngine_ += bytes;
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  // The next message of the engine, whatever it is.
  RpcMessage take() {
    std::unique_lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (;;) {
      if (auto frame = fromEngine_.next()) {
        if (!*frame) throw std::runtime_error("the engine wrote no frame: " + frame->error().message);
        auto message = parseMessage(**frame);
        if (!message) throw std::runtime_error("the engine wrote no message: " + **frame);
        return *message;
      }
      if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) throw std::runtime_error("no answer in 10 s");
    }
  }
  // The next reply; notifications before it are dropped.
  RpcMessage takeReply() {
    for (;;) {
      RpcMessage message = take();
      if (message.isReply()) return message;
    }
  }
  std::string logged() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  std::string read() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !toEngine_.empty(); });
    return std::exchange(toEngine_, {});
  }
  void write(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    fromEngine_.feed(bytes);
    changed_.notify_all();
  }
  void log(std::string_view line) {
    const std::lock_guard lock(mutex_);
    log_ += std::string(line) + "\n";
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string toEngine_;
  FrameDecoder fromEngine_;
  std::string log_;
  bool closed_ = false;
};

}  // namespace normlens::protocol
