// The half of `serve` that opens and runs models: answers requests in a confined process.
#pragma once

#include <string>
#include <vector>

#include "core/confine/walls.h"

namespace normlens::engine {

// What a worker is to be like before it hears its client: bodies of requests that others before it have answered. Their
// replies go nowhere.
struct Journal {
  std::vector<std::string> requests;
  std::string notRun;  // why the model must not be run; empty: it may
};

// Blocks until the requests end; marks the watch page as ready once the journal is done. Returns the process's status.
[[nodiscard]] int serveWorker(int requests, int replies, const Journal& journal, confine::Confinement level);

}  // namespace normlens::engine
