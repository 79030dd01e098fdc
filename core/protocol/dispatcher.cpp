#include "core/protocol/dispatcher.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "core/base/plain_error.h"
#include "core/protocol/progress_throttle.h"

namespace normlens::protocol {
namespace {

tl::unexpected<RpcFailure> refuse(RpcError code, std::string message) {
  return tl::unexpected(RpcFailure{code, std::move(message), {}, {}});
}

const Error kStopped{ErrorCode::Cancelled, "stopped on request", {}};

}  // namespace

tl::unexpected<RpcFailure> Dispatcher::invalidParams(std::string_view method, const Error& error) {
  return refuse(RpcError::InvalidParams, std::string(method) + ": " + error.message);
}

ServeEnd Dispatcher::serve(std::chrono::milliseconds patience) {
  std::thread worker([this] { work(); });
  FrameDecoder decoder;
  std::optional<int64_t> shutdownId;
  while (!shutdownId) {
    const std::string chunk = transport_.read();
    if (chunk.empty()) break;
    decoder.feed(chunk);
    while (!shutdownId) {
      const auto frame = decoder.next();
      if (!frame) break;
      *frame ? receive(**frame, shutdownId) : transport_.log(frame->error().message);
    }
  }
  const bool ended = stopAll(patience);
  ended ? worker.join() : worker.detach();
  if (shutdownId) answer(*shutdownId, resultBody(*shutdownId, nullptr));
  if (!ended) return ServeEnd::Stuck;
  return shutdownId ? ServeEnd::Shutdown : ServeEnd::StreamEnded;
}

// ---- reader thread

void Dispatcher::receive(std::string_view body, std::optional<int64_t>& shutdownId) {
  auto message = parseMessage(body);
  if (!message) {
    transport_.log(message.error().failure.message);
    send(failureBody(message.error().id, message.error().failure));
  } else if (message->isReply()) {
    transport_.log("a reply came that nobody asked for");
  } else if (message->method == methods::kCancel) {
    const auto id = message->params.is_object() ? message->params.find("id") : message->params.end();
    if (id != message->params.end() && id->is_number_integer()) cancel(id->get<int64_t>());
  } else if (const auto heard = heard_.find(message->method); !message->id && heard != heard_.end()) {
    heard->second(message->params);
  } else if (!message->isRequest()) {
    transport_.log("an unknown notification came: " + message->method);
  } else if (message->method == methods::kShutdown) {
    shutdownId = message->id;
  } else if (message->method == methods::kPing) {
    answer(*message->id, resultBody(*message->id, nullptr));
  } else {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({*message->id, std::move(message->method), std::move(message->params), {}});
    changed_.notify_all();
  }
}

// A waiting request is answered here, so that it need not wait for the running one.
void Dispatcher::cancel(int64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (running_ != nullptr && running_->id == id) running_->stop.request_stop();
    const auto waiting = std::ranges::find(waiting_, id, &Request::id);
    if (waiting == waiting_.end()) return;
    waiting_.erase(waiting);
  }
  answer(id, tl::unexpected(rpcFailure(kStopped)));
}

// False: the running request goes on all the same.
bool Dispatcher::stopAll(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  if (running_ != nullptr) running_->stop.request_stop();
  for (Request& request : waiting_) request.stop.request_stop();
  changed_.notify_all();
  return changed_.wait_for(lock, patience, [&] { return workerEnded_; });
}

// ---- worker thread

void Dispatcher::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) break;
    const Request request = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = &request;
    lock.unlock();
    const Answer made = answerTo(request);
    lock.lock();
    running_ = nullptr;  // before the answer goes out: the client may use the id again as soon as it has read it
    lock.unlock();
    answer(request.id, made);
    lock.lock();
  }
  workerEnded_ = true;
  changed_.notify_all();
}

Dispatcher::Answer Dispatcher::answerTo(const Request& request) {
  if (request.stop.stop_requested()) return tl::unexpected(rpcFailure(kStopped));
  const bool first = request.method == methods::kInitialize;
  if (first == initialized_) {
    return first ? refuse(RpcError::InvalidRequest, "the engine is initialized already")
                 : refuse(RpcError::NotInitialized, "send initialize before " + request.method);
  }
  const auto handler = handlers_.find(request.method);
  if (handler == handlers_.end()) return refuse(RpcError::MethodNotFound, "no method " + request.method);

  ProgressThrottle throttle;
  std::mutex reporting;  // a handler may report from several threads
  const Task task{.onProgress =
                      [&](std::string_view stage, double fraction) {
                        const std::lock_guard lock(reporting);
                        if (!throttle.admit(stage, ProgressThrottle::Clock::now())) return;
                        const Progress progress{request.id, std::string(stage), fraction};
                        send(notificationBody(methods::kProgress, toJson(progress)));
                      },
                  .stop = request.stop.get_token()};
  const Notify notify = [&](std::string_view notification, const nlohmann::json& about) {
    send(notificationBody(notification, about));
  };
  try {
    Answer made = handler->second({request.id, request.params, task, notify});
    if (first && made) initialized_ = true;
    return made;
  } catch (const std::exception& error) {
    std::string why = request.method + " failed: " + plainError(error);
    if (isWantOfMemory(error)) return tl::unexpected(rpcFailure({ErrorCode::RunFailed, std::move(why), {}}));
    return refuse(RpcError::InternalError, std::move(why));
  }
}

// ---- both

void Dispatcher::answer(int64_t id, const Answer& made) {
  const Answered answered{id, made.has_value()};
  send(made ? *made : failureBody(id, made.error()), &answered);
}

void Dispatcher::send(std::string_view body, const Answered* answers) {
  const std::lock_guard lock(writing_);
  transport_.write(body, answers);
}

}  // namespace normlens::protocol
