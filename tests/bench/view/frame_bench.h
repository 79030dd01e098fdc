// What a frame costs: a large graph with everything open, driven by real wheel and mouse events, each step rendered
// into a picture of 1920 by 1080 pixels.
#pragma once

#include <memory>

#include "core/protocol/messages.h"

namespace normlens::bench {

struct FrameCase {
  const char* name;
  std::shared_ptr<const protocol::GraphDocument> document;
};

// Prints the times. False when a step did not change the picture.
bool benchFrames(const FrameCase& what);

}  // namespace normlens::bench
