// One worker of `serve` and the two streams to it, as its supervisor holds them. Thread: the supervisor's.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "app/engine/serve/frame_relay.h"
#include "app/engine/serve/serve_worker.h"
#include "core/confine/worker.h"
#include "core/protocol/rpc.h"

namespace normlens::engine {

// A request that has not been answered.
struct Pending {
  int64_t id = 0;
  std::string method, body;
  nlohmann::json params;
  std::optional<std::chrono::steady_clock::time_point> cancelled;
  size_t begin = 0;         // in the stream of requests to its worker
  bool askedAgain = false;  // of the next worker, as the one before never took it
};

class ServeSide {
 public:
  using Answered = std::function<void(ServeSide& side, const protocol::Answered& answer)>;  // its frame was handed on
  [[nodiscard]] static Result<std::unique_ptr<ServeSide>> start(Journal journal, const confine::Limits& limits,
                                                                confine::Grants grants, Answered answered);

  [[nodiscard]] confine::Worker& worker() { return *worker_; }
  [[nodiscard]] const Journal& journal() const { return journal_; }
  [[nodiscard]] int replies() const { return replies_.get(); }    // readable: call relay()
  [[nodiscard]] int requests() const { return requests_.get(); }  // writable, where unsent(): call push()
  [[nodiscard]] bool unsent() const { return !outgoing_.empty() && !broken_; }
  [[nodiscard]] size_t queued() const { return queued_; }  // bytes of requests, sent or not
  // The worker has read of it.
  [[nodiscard]] bool took(const Pending& request) const;
  [[nodiscard]] bool ready() const { return worker_->page().ready != 0; }

  void send(std::string_view body);
  void push();
  void closeRequests();
  // Whole frames of replies; false: there are none now.
  bool relay(std::string& out);
  [[nodiscard]] FrameRelay& frames() { return frames_; }

  std::list<Pending> pending;
  std::string modelPath = "the engine";  // what sentences are about
  bool opened = false;

 private:
  ServeSide() = default;

  Journal journal_;
  std::unique_ptr<confine::Worker> worker_;
  Descriptor requests_, replies_;
  std::string outgoing_;
  size_t queued_ = 0;
  bool closing_ = false, broken_ = false;
  FrameRelay frames_;
  Answered answered_;
};

}  // namespace normlens::engine
