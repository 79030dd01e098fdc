// The half of `serve` that talks to the client and never loads a model: a confined process for each opened model, with
// what the requests name handed through its door.
//
//   client ── stdin ──▶ supervisor ── requests ──▶ worker (confined)
//          ◀─ stdout ──            ◀── replies ───
// Requests are answered in order by one worker. A worker that dies (a crash, a limit, a request that was cancelled and
// did not stop) costs the request that it was at: this is answered with one sentence, and the next worker opens the
// model again, sets the inputs, analyses and folds, as far as the client had come. If it died looking at the model
// (guessing inputs, the probe run), the next one analyses without running it. An `open` beside an open model gets a
// worker of its own; the older one goes when it has succeeded.
#pragma once

#include "app/engine/console.h"
#include "core/confine/worker.h"

namespace normlens::engine {

// Blocks until the client is gone or asks for the end. Precondition: the process has one thread.
[[nodiscard]] Exit superviseServe(Console& console, const confine::Limits& limits);

}  // namespace normlens::engine
