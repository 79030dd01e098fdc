// A measurement as the fake engine tells it: twenty rounds a point, the folded model a little faster each time the
// sequence grows; 16384 tokens do not fit its memory.
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/protocol/bench_messages.h"

namespace normlens::fake {

// Tells each round; `pause` is called between rounds and is true when the measurement is to stop.
[[nodiscard]] Result<protocol::BenchResult> measure(const protocol::BenchParams& params,
                                                    const std::function<void(const protocol::BenchUpdate&)>& tell,
                                                    const std::function<bool()>& pause);

}  // namespace normlens::fake
