// What the fake engine answers about residual streams: a decoder has one, and an encoder is post-norm.
#pragma once

#include "core/protocol/stream_messages.h"
#include "tests/support/fake_engine/canned_model.h"

namespace normlens::fake {

[[nodiscard]] protocol::StreamReport streams(const CannedModel& model, const protocol::StreamParams& params);
// Writes a file of a line; a name that holds "unproved" is one whose proof fails.
[[nodiscard]] protocol::NarrowResult narrow(const CannedModel& model, const protocol::NarrowParams& params);

}  // namespace normlens::fake
