// A loop shared by a few workers, for work that lasts long enough to pay for starting them.
#pragma once

#include <cstdint>
#include <functional>

namespace normlens {

// Calls body(i) once for each i in [0, count), from up to `threads` threads (the caller is one of them). Indices are
// handed out one by one, in ascending order. body must not throw.
void parallelFor(int threads, int64_t count, const std::function<void(int64_t)>& body);

// Returns as many as the processor runs at once, at least one.
[[nodiscard]] int hardwareThreads();

}  // namespace normlens
