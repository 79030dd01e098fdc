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
// Every request is answered exactly once, a cancelled one with RequestCancelled. Progress that a
// handler reports through its Task goes out as $/progress, at most 20 a second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
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
  // Some bytes of frames as soon as there are any; empty at the end of the stream. May block.
  std::function<std::string()> read;
  // Sends the frame of this body, now. answers: null where it answers no request.
  std::function<void(std::string_view body, const Answered* answers)> write;
  // One line for a person: what was skipped and why.
  std::function<void(std::string_view)> log;
};

// ServeEnd is the way in which serve() ended.
enum class ServeEnd {
  Shutdown,     // the client requested it
  StreamEnded,  // the client is gone; a running request was stopped and has ended
  Stuck,  // the client is gone and the running request did not stop in time: leave the process without destructors
};

class Dispatcher {
 public:
  explicit Dispatcher(Transport transport) : transport_(std::move(transport)) {}
  ~Dispatcher() = default;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Sends a notification about the running request, immediately.
  using Notify = std::function<void(std::string_view method, const nlohmann::json& params)>;

  // Binds one method. Two are built in: "shutdown" stops what runs, then answers null; "ping" is answered with null by
  // the reading thread, even while a request runs.
  // function: Result<Reply>(const Params&, const Task&). With two arguments more it is given the request's id and how
  // to send notifications while it runs: (const Params&, const Task&, int64_t, const Notify&).
  template <Message Params, class Reply, class Function>
  void bind(const Method<Params, Reply>& method, Function function);

  // Binds a notification of the client. function runs immediately, on the reading thread, even while a request runs. A
  // message that cannot be decoded is logged.
  template <Message Params, class Function>
  void hear(std::string_view method, Function function);

  // Blocks. `patience`: how long a running request may take to stop once the client is gone.
  ServeEnd serve(std::chrono::milliseconds patience = std::chrono::seconds(2));

 private:
  struct Request {
    int64_t id = 0;
    std::string method;
    nlohmann::json params;
    std::stop_source stop;
  };
  struct Call {
    int64_t id;
    const nlohmann::json& params;
    const Task& task;
    const Notify& notify;
  };
  using Answer = tl::expected<std::string, RpcFailure>;  // a value: the body that holds the result
  using Handler = std::function<Answer(const Call& call)>;

  static tl::unexpected<RpcFailure> invalidParams(std::string_view method, const Error& error);
  void receive(std::string_view body, std::optional<int64_t>& shutdownId);
  void cancel(int64_t id);
  bool stopAll(std::chrono::milliseconds patience);
  void work();
  Answer answerTo(const Request& request);
  void answer(int64_t id, const Answer& made);
  void send(std::string_view body, const Answered* answers = nullptr);

  Transport transport_;
  std::map<std::string, Handler, std::less<>> handlers_;
  std::map<std::string, std::function<void(const nlohmann::json& params)>, std::less<>> heard_;
  bool initialized_ = false;  // the worker's
  std::mutex writing_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Request> waiting_;
  const Request* running_ = nullptr;
  bool closed_ = false;
  bool workerEnded_ = false;
};

template <Message Params, class Reply, class Function>
void Dispatcher::bind(const Method<Params, Reply>& method, Function function) {
  handlers_[std::string(method.name)] = [name = method.name,
                                         function = std::move(function)](const Call& call) -> Answer {
    const Result<Params> decoded = decode<Params>(call.params.is_null() ? nlohmann::json::object() : call.params);
    if (!decoded) return invalidParams(name, decoded.error());
    const auto result = [&] {
      if constexpr (std::is_invocable_v<Function, const Params&, const Task&>) {
        return function(*decoded, call.task);
      } else {
        return function(*decoded, call.task, call.id, call.notify);
      }
    }();
    if (!result) return tl::unexpected(rpcFailure(result.error()));
    if constexpr (std::is_void_v<Reply>) {
      return resultBody(call.id, nullptr);
    } else {
      static_assert(Message<Reply>);
      return resultBody(call.id, toJson(static_cast<const Reply&>(*result)));
    }
  };
}

template <Message Params, class Function>
void Dispatcher::hear(std::string_view method, Function function) {
  heard_[std::string(method)] = [this, name = std::string(method),
                                 function = std::move(function)](const nlohmann::json& params) {
    const Result<Params> decoded = decode<Params>(params);
    decoded ? function(*decoded) : transport_.log(name + ": " + decoded.error().message);
  };
}

}  // namespace normlens::protocol
