// The progress of a client of `serve` with its model: the next worker is brought to this state when one dies. Thread:
// one at a time.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "app/engine/serve/serve_side.h"
#include "core/confine/doorkeeper.h"

namespace normlens::engine {

// Returns the limits that an `open` sets, or the usual ones.
[[nodiscard]] confine::Limits limitsOf(const nlohmann::json& params, confine::Limits usual);

// The last request of each kind that makes state (initialize, open, set_inputs, analyze, fold) and was answered with a
// result. One takes the place of an older one of its kind, and of all later kinds.
class ClientState {
 public:
  // files: what was handed over for it.
  void note(const Pending& request, std::vector<confine::HandedFile> files);
  void dropLast();  // never `initialize`
  void forgetModel();
  [[nodiscard]] bool hasModel() const { return steps_.size() > 1; }
  // Returns a file, of all that were handed over, that has changed; empty: none.
  [[nodiscard]] std::string changedFile() const;
  [[nodiscard]] Journal journal(std::string notRun) const;

 private:
  struct Step {
    std::string body;
    std::vector<confine::HandedFile> files;
  };
  std::map<std::ptrdiff_t, Step> steps_;
};

}  // namespace normlens::engine
