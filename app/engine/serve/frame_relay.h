// Hands frames on from a process that may die in the middle of one: whoever reads them is never left with half a frame,
// and which requests were answered is known from the frames that came whole, not from a word of that process beside.
//
// Thread: one at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/dispatcher.h"

namespace normlens::engine {

class FrameRelay {
 public:
  // What the process writes: the frame, with what it answers in its header. feed() takes that out again.
  [[nodiscard]] static std::string marked(std::string_view frame, const protocol::Answered* answers);

  // As many of these bytes as belong to frames, appended to `out`; what is none is dropped.
  void feed(std::string_view bytes, std::string& out);
  // The process is gone: fills up the body that was begun. False: too much of it is missing, and what reads `out` is in
  // the middle of it.
  [[nodiscard]] bool end(std::string& out);
  // By whole frames, since this was asked last.
  [[nodiscard]] std::vector<protocol::Answered> takeAnswered() { return std::exchange(answered_, {}); }
  // Between frames: those of another process may come now.
  [[nodiscard]] bool between() const { return bodyLeft_ == 0; }

 private:
  void takeHeader(std::string& out);

  std::string header_;
  size_t bodyLeft_ = 0;
  std::optional<protocol::Answered> answers_;  // what the frame that has begun answers
  std::vector<protocol::Answered> answered_;
};

}  // namespace normlens::engine
