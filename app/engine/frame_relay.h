// Hands frames on from a process that may die in the middle of one: whoever reads them is never left with half a frame.
//
// Thread: one at a time.
#pragma once

#include <string>
#include <string_view>

namespace normlens::engine {

class FrameRelay {
 public:
  // As many of these bytes as belong to frames, appended to `out`; what is none is dropped.
  void feed(std::string_view bytes, std::string& out);
  // The process is gone: fills up the body that was begun. False: too much of it is missing, and what reads `out` is in
  // the middle of it.
  [[nodiscard]] bool end(std::string& out);
  // Between frames: those of another process may come now.
  [[nodiscard]] bool between() const { return bodyLeft_ == 0; }

 private:
  void takeHeader(std::string& out);

  std::string header_;
  size_t bodyLeft_ = 0;
};

}  // namespace normlens::engine
