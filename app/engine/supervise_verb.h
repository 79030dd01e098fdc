// Carries out a verb that opens models, in a confined process; watches over it, answers at its door, and says what
// became of it where it cannot say so itself.
#pragma once

#include <filesystem>
#include <set>
#include <vector>

#include "app/engine/verbs.h"
#include "core/confine/doorkeeper.h"

namespace normlens::engine {

// How a verb in its worker ended, and which files it went through.
struct SupervisedEnd {
  Result<Exit> exit;                      // its own, or the error that it could not tell itself
  bool stopped = false;                   // it was asked to
  std::vector<confine::HandedFile> read;  // until it had written something: as they were then
  std::set<std::filesystem::path> written;
};
// As superviseVerb(), and says nothing of its own but what a model prints.
[[nodiscard]] SupervisedEnd superviseWorker(const Declared& verb, const confine::Limits& limits, Console& console);

// Where a first look at the model (its probe run, or a trial of guessed inputs) ends the process, the verb is carried
// out once more without running the model. Ctrl-C asks it to stop, ends it within a second, and at once the second
// time. Precondition: the process has one thread.
[[nodiscard]] Exit superviseVerb(const Declared& verb, const confine::Limits& limits, Console& console);

}  // namespace normlens::engine
