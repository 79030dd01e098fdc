// Serves requests of one client over any byte stream.
//
//   Dispatcher dispatcher(transport);
//   dispatcher.bind(methods::kOpen, [&](const OpenParams& p, const Task& t) { return ...; });
//   dispatcher.serve();                        // until shutdown or the end of the stream
//
// Threads: serve() reads on the calling thread; requests run one after another, in the order they came, on one worker
// thread that serve() owns. So a request never races another, and $/cancelRequest and the end of the stream are seen
// while one runs. Transport::write is called from both threads, one call at a time. Bind everything before serve().
//
// Order of life: "initialize" first; until it has succeeded every other request is refused with NotInitialized.
// Every request is answered exactly once (see ReplyOnce), a cancelled one with RequestCancelled. Progress that a
// handler reports through its Task goes out as $/progress, at most 20 a second.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/task.h"
#include "core/protocol/framing.h"
#include "core/protocol/methods.h"
#include "core/protocol/rpc.h"

namespace normlens::protocol {

// The request that a frame answers.
struct Answered {
  int64_t id = 0;
  bool withResult = false;
};

struct Transport {
  // Some bytes as soon as there are any; empty at the end of the stream. May block.
  std::function<std::string()> read;
  // All of this frame, now. answers: null where it answers no request.
  std::function<void(std::string_view frame, const Answered* answers)> write;
  // One line for a person: what was skipped and why. May be empty.
  std::function<void(std::string_view)> log;
};

// The right and the duty to answer one request. Dropped without an answer, it answers with InternalError.
class ReplyOnce {
 public:
  using Send = std::function<void(std::string body, bool withResult)>;
  ReplyOnce(int64_t id, Send send) : id_(id), send_(std::move(send)) {}
  ReplyOnce(ReplyOnce&& other) noexcept : id_(other.id_), send_(std::exchange(other.send_, nullptr)) {}
  ReplyOnce& operator=(ReplyOnce&&) = delete;
  ReplyOnce(const ReplyOnce&) = delete;
  ReplyOnce& operator=(const ReplyOnce&) = delete;
  ~ReplyOnce();

  // Precondition: not answered yet; a second answer is dropped.
  void result(const nlohmann::json& result);
  void failure(const RpcFailure& failure);
  [[nodiscard]] bool answered() const { return send_ == nullptr; }
  [[nodiscard]] bool succeeded() const { return succeeded_; }  // answered with a result

 private:
  void send(std::string body, bool withResult);

  int64_t id_;
  Send send_;  // null once used
  bool succeeded_ = false;
};

// How serve() ended.
enum class ServeEnd {
  Shutdown,     // the client asked for it
  StreamEnded,  // the client is gone; a running request was asked to stop and has ended
  Stuck,  // the client is gone and the running request did not stop in time: leave the process without destructors
};

class Dispatcher {
 public:
  explicit Dispatcher(Transport transport);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Sends a notification about the request that runs, at once.
  using Notify = std::function<void(std::string_view method, const nlohmann::json& params)>;

  // One line per method. Two are built in: "shutdown" stops what runs, then answers null; "ping" is answered with null
  // by the reading thread, whatever runs.
  // function: Result<Reply>(const Params&, const Task&). With two arguments more it is given the request's id and how
  // to tell things while it runs: (const Params&, const Task&, int64_t, const Notify&).
  template <Message Params, class Reply, class Function>
  void bind(const Method<Params, Reply>& method, Function function);

  // Blocks. `patience`: how long a running request may take to stop once the client is gone.
  ServeEnd serve(std::chrono::milliseconds patience = std::chrono::seconds(2));

 private:
  struct Request {
    int64_t id;
    const nlohmann::json& params;
    const Task& task;
    const Notify& notify;
  };
  using Handler = std::function<void(const Request& request, ReplyOnce& reply)>;
  class Session;  // what the two threads share

  void receive(std::string_view body, std::optional<int64_t>& shutdownId);
  void work();
  void handle(int64_t id, const std::string& method, const nlohmann::json& params, const std::stop_token& stop,
              bool& initialized);

  std::map<std::string, Handler, std::less<>> handlers_;
  std::shared_ptr<Session> session_;
};

// ---- implementation of the templates

namespace detail {
RpcFailure invalidParams(std::string_view method, const Error& error);
}  // namespace detail

template <Message Params, class Reply, class Function>
void Dispatcher::bind(const Method<Params, Reply>& method, Function function) {
  handlers_[std::string(method.name)] = [name = method.name, function = std::move(function)](const Request& request,
                                                                                             ReplyOnce& reply) {
    const auto& params = request.params;
    const Result<Params> decoded = decode<Params>(params.is_null() ? nlohmann::json::object() : params);
    if (!decoded) return reply.failure(detail::invalidParams(name, decoded.error()));
    const auto result = [&] {
      if constexpr (std::is_invocable_v<Function, const Params&, const Task&>) {
        return function(*decoded, request.task);
      } else {
        return function(*decoded, request.task, request.id, request.notify);
      }
    }();
    if (!result) return reply.failure(rpcFailure(result.error()));
    if constexpr (std::is_void_v<Reply>) {
      reply.result(nullptr);
    } else {
      static_assert(Message<Reply>);
      reply.result(toJson(static_cast<const Reply&>(*result)));
    }
  };
}

}  // namespace normlens::protocol
