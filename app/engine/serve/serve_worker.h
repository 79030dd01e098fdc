// The half of `serve` that opens and runs models: answers requests in a confined process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/confine/walls.h"
#include "core/protocol/dispatcher.h"

namespace normlens::engine {

// A Journal makes a worker ready before it hears its client: bodies of requests that others before it have answered.
// Their replies go nowhere.
struct Journal {
  std::vector<std::string> requests;
  std::string notRun;  // why the model must not be run; empty: it may
};

// Blocks until the requests end; marks the watch page as ready once the journal is done. Returns the process's status.
[[nodiscard]] int serveWorker(int requests, int replies, const Journal& journal, confine::Confinement level);

// Marks the body with a line that names the request it answers, so that who hands it on need not read it.
[[nodiscard]] std::string marked(std::string_view body, const protocol::Answered* answers);
// Takes that line off; nullopt: it answers nothing.
[[nodiscard]] std::optional<protocol::Answered> takeMark(std::string_view& body);

}  // namespace normlens::engine
