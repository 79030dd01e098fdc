#include "core/protocol/dispatcher.h"

#include <exception>
#include <mutex>
#include <thread>

#include "core/base/plain_error.h"
#include "core/protocol/progress_throttle.h"
#include "core/protocol/session.h"

namespace normlens::protocol {
namespace {

RpcFailure failure(RpcError code, std::string message) { return {code, std::move(message), {}, {}}; }

}  // namespace

namespace detail {

RpcFailure invalidParams(std::string_view method, const Error& error) {
  return failure(RpcError::InvalidParams, std::string(method) + ": " + error.message);
}

}  // namespace detail

ReplyOnce::~ReplyOnce() {
  if (answered()) return;
  try {
    failure(RpcFailure{RpcError::InternalError, "the engine dropped this request without an answer", {}, {}});
  } catch (const std::exception&) {
    // The stream is gone: there is nobody left to tell.
  }
}

void ReplyOnce::result(const nlohmann::json& result) {
  if (answered()) return;
  succeeded_ = true;
  send(resultBody(id_, result), true);
}

void ReplyOnce::failure(const RpcFailure& failure) {
  if (!answered()) send(failureBody(id_, failure), false);
}

void ReplyOnce::send(std::string body, bool withResult) { std::exchange(send_, nullptr)(std::move(body), withResult); }

Dispatcher::Dispatcher(Transport transport) : session_(std::make_shared<Session>(std::move(transport))) {}
Dispatcher::~Dispatcher() = default;

ServeEnd Dispatcher::serve(std::chrono::milliseconds patience) {
  std::thread worker([this, session = session_] {
    work();
    session->workerEnded();
  });
  FrameDecoder decoder;
  std::optional<int64_t> shutdownId;
  while (!shutdownId) {
    const std::string chunk = session_->read();
    if (chunk.empty()) break;
    decoder.feed(chunk);
    while (const auto frame = decoder.next()) {
      if (*frame) {
        receive(**frame, shutdownId);
      } else {
        session_->log(frame->error().message);
      }
      if (shutdownId) break;
    }
  }
  session_->close(/*cancelAll=*/true);
  const bool idle = session_->waitUntilIdle(patience);
  if (idle) {
    worker.join();
  } else {
    worker.detach();
  }
  if (shutdownId) session_->replyTo(*shutdownId).result(nullptr);
  if (!idle) return ServeEnd::Stuck;
  return shutdownId ? ServeEnd::Shutdown : ServeEnd::StreamEnded;
}

// Reader thread.
void Dispatcher::receive(std::string_view body, std::optional<int64_t>& shutdownId) {
  auto message = parseMessage(body);
  if (!message) {
    session_->log(message.error().failure.message);
    session_->send(failureBody(message.error().id, message.error().failure));
  } else if (message->isReply()) {
    session_->log("a reply came that nobody asked for");
  } else if (message->method == methods::kCancel) {
    const auto id = message->params.is_object() ? message->params.find("id") : message->params.end();
    if (id != message->params.end() && id->is_number_integer()) session_->cancel(id->get<int64_t>());
  } else if (!message->isRequest()) {
    session_->log("an unknown notification came: " + message->method);
  } else if (message->method == methods::kShutdown) {
    shutdownId = message->id;
  } else if (message->method == methods::kPing) {
    session_->replyTo(*message->id).result(nullptr);
  } else {
    session_->enqueue(std::move(*message));
  }
}

// Worker thread.
void Dispatcher::work() {
  bool initialized = false;
  while (auto request = session_->next()) {
    handle(request->id, request->method, request->params, request->stop, initialized);
  }
}

void Dispatcher::handle(int64_t id, const std::string& method, const nlohmann::json& params,
                        const std::stop_token& stop, bool& initialized) {
  ReplyOnce reply = session_->replyTo(id);
  const auto refuse = [&](RpcError code, std::string message) { reply.failure(failure(code, std::move(message))); };
  if (stop.stop_requested()) return refuse(RpcError::RequestCancelled, "stopped on request");
  const bool first = method == methods::kInitialize;
  if (first == initialized) {
    return first ? refuse(RpcError::InvalidRequest, "the engine is initialized already")
                 : refuse(RpcError::NotInitialized, "send initialize before " + method);
  }
  const auto handler = handlers_.find(method);
  if (handler == handlers_.end()) return refuse(RpcError::MethodNotFound, "no method " + method);

  ProgressThrottle throttle;
  std::mutex reporting;  // a handler may report from several threads
  const Task task{.onProgress =
                      [&](std::string_view stage, double fraction) {
                        const std::lock_guard lock(reporting);
                        if (!throttle.admit(stage, ProgressThrottle::Clock::now())) return;
                        const Progress progress{id, std::string(stage), fraction};
                        session_->send(notificationBody(methods::kProgress, toJson(progress)));
                      },
                  .stop = stop};
  const Notify notify = [&](std::string_view notification, const nlohmann::json& about) {
    session_->send(notificationBody(notification, about));
  };
  try {
    handler->second({id, params, task, notify}, reply);
  } catch (const std::exception& error) {
    const std::string why = method + " failed: " + plainError(error);
    reply.failure(isWantOfMemory(error) ? rpcFailure({ErrorCode::RunFailed, why, {}})
                                        : failure(RpcError::InternalError, why));
  }
  if (first && reply.succeeded()) initialized = true;
}

}  // namespace normlens::protocol
