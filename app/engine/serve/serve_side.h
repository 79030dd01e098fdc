// One worker of `serve` and the two streams to it, as its supervisor holds them. Thread: the supervisor's.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/confine/walls.h"
#include "core/confine/worker.h"
#include "core/protocol/dispatcher.h"
#include "core/protocol/framing.h"
#include "core/protocol/rpc.h"

namespace normlens::engine {

// The half of `serve` that opens and runs models: answers requests in a confined process.

// A Journal makes a worker ready before it hears its client: bodies of requests that others before it have answered.
// Their replies go nowhere.
struct Journal {
  std::vector<std::string> requests;
  Error notRun;             // why the model must not be run; no message: it may
  bool torchFirst = false;  // LibTorch is loaded before the first request comes
};

// Blocks until the requests end; marks the watch page as ready once the journal is done. Returns the process's status.
[[nodiscard]] int serveWorker(int requests, int replies, const Journal& journal, confine::Confinement level);

// Marks the body with a line that names the request it answers, so that who hands it on need not read it.
[[nodiscard]] std::string marked(std::string_view body, const protocol::Answered* answers);
// Takes that line off; nullopt: it answers nothing.
[[nodiscard]] std::optional<protocol::Answered> takeMark(std::string_view& body);

// A request that has not been answered.
struct Pending {
  int64_t id = 0;
  std::string method, body;
  nlohmann::json params;
  std::optional<std::chrono::steady_clock::time_point> cancelled;
  size_t begin = 0;         // in the stream of requests to its worker
  bool askedAgain = false;  // The next worker gets it, as the one before never took it.
};

class ServeSide {
 public:
  // The frame was handed on: known from frames that came whole, not from a word of the worker beside.
  using Answered = std::function<void(ServeSide& side, const protocol::Answered& answer)>;
  [[nodiscard]] static Result<std::unique_ptr<ServeSide>> start(Journal journal, const confine::Limits& limits,
                                                                confine::Grants grants, Answered answered);

  [[nodiscard]] confine::Worker& worker() { return *worker_; }
  [[nodiscard]] const Journal& journal() const { return journal_; }
  [[nodiscard]] int replies() const { return replies_.get(); }    // readable: call relay()
  [[nodiscard]] int requests() const { return requests_.get(); }  // writable, where unsent(): call push()
  [[nodiscard]] bool unsent() const { return !outgoing_.empty() && !broken_; }
  [[nodiscard]] size_t queued() const { return queued_; }  // bytes of requests, sent or not
  // Returns whether the worker has read of it.
  [[nodiscard]] bool took(const Pending& request) const;
  [[nodiscard]] bool ready() const { return worker_->page().ready != 0; }

  void send(std::string_view body);
  void push();
  void closeRequests();
  // Some bytes of replies; those frames that are whole go to `out`, and what is none is dropped: a worker may die in
  // the middle of one. False: nothing has come.
  bool relay(std::string& out);
  // Returns whether it stopped in the middle of a frame, or announced more than it sends. Call it again and again;
  // reading: what it sends is relayed.
  [[nodiscard]] bool brokeOff(bool reading);

  std::list<Pending> pending;
  std::string modelPath = "the engine";  // Sentences name the model by it.
  bool opened = false;

 private:
  ServeSide() = default;

  Journal journal_;
  std::unique_ptr<confine::Worker> worker_;
  Descriptor requests_, replies_;
  std::string outgoing_;
  size_t queued_ = 0;
  bool closing_ = false, broken_ = false;
  static constexpr uint64_t kMostReply = uint64_t{256} << 20;  // bytes: more than a window takes
  protocol::FrameDecoder frames_{kMostReply};
  std::optional<std::chrono::steady_clock::time_point> within_;  // a frame, since when little has come of it
  Answered answered_;
};

}  // namespace normlens::engine
