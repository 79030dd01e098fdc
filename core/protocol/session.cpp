#include "core/protocol/session.h"

#include <algorithm>

namespace normlens::protocol {

void Dispatcher::Session::send(std::string_view body, const Answered* answers) {
  const std::string frame = encodeFrame(body);
  const std::lock_guard lock(writing_);
  transport_.write(frame, answers);
}

void Dispatcher::Session::log(std::string_view line) {
  if (transport_.log) transport_.log(line);
}

ReplyOnce Dispatcher::Session::replyTo(int64_t id) {
  // Forgotten before the answer goes out: the client may use the id again as soon as it has read it.
  return {id, [self = shared_from_this(), id](const std::string& body, bool withResult) {
            self->forget(id);
            const Answered answered{id, withResult};
            self->send(body, &answered);
          }};
}

std::optional<RpcFailure> Dispatcher::Session::admit(int64_t id) const {
  if (stops_.contains(id)) {
    return RpcFailure{RpcError::InvalidRequest, "request id " + std::to_string(id) + " is already in use", {}, {}};
  }
  if (waiting_.size() >= kMaxWaiting) {
    return RpcFailure{RpcError::InvalidRequest, "too many requests are waiting", {}, {}};
  }
  return std::nullopt;
}

void Dispatcher::Session::enqueue(RpcMessage message) {
  const int64_t id = *message.id;
  std::unique_lock lock(mutex_);
  const std::optional<RpcFailure> refusal = admit(id);
  if (refusal) {
    lock.unlock();
    refuse(id, *refusal);
    return;
  }
  const std::stop_source& stop = stops_[id];
  waiting_.push_back({id, std::move(message.method), std::move(message.params), stop.get_token()});
  changed_.notify_all();
}

// A waiting request is answered here, so that it need not wait for the running one.
void Dispatcher::Session::cancel(int64_t id) {
  std::unique_lock lock(mutex_);
  const auto stop = stops_.find(id);
  if (stop == stops_.end()) return;  // answered already
  stop->second.request_stop();
  const auto waiting = std::ranges::find(waiting_, id, &Request::id);
  if (waiting == waiting_.end()) return;
  waiting_.erase(waiting);
  stops_.erase(stop);
  lock.unlock();
  refuse(id, {RpcError::RequestCancelled, "stopped on request", {}, {}});
}

void Dispatcher::Session::refuse(int64_t id, const RpcFailure& failure) {
  const Answered answered{id, /*withResult=*/false};
  send(failureBody(id, failure), &answered);
}

void Dispatcher::Session::close(bool cancelAll) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (cancelAll) {
    for (auto& [id, stop] : stops_) stop.request_stop();
  }
  changed_.notify_all();
}

bool Dispatcher::Session::waitUntilIdle(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return workerEnded_; });
}

std::optional<Dispatcher::Session::Request> Dispatcher::Session::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
  if (waiting_.empty()) return std::nullopt;
  Request request = std::move(waiting_.front());
  waiting_.pop_front();
  return request;
}

void Dispatcher::Session::forget(int64_t id) {
  const std::lock_guard lock(mutex_);
  stops_.erase(id);
}

void Dispatcher::Session::workerEnded() {
  const std::lock_guard lock(mutex_);
  workerEnded_ = true;
  changed_.notify_all();
}

}  // namespace normlens::protocol
