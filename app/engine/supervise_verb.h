// Carries out a verb that opens models, in a confined process; watches over it, answers at its door, and says what
// became of it where it cannot say so itself.
#pragma once

#include "app/engine/verbs.h"

namespace normlens::engine {

// Where a first look at the model (its probe run, or a trial of guessed inputs) ends the process, the verb is carried
// out once more without running the model. Ctrl-C asks it to stop, ends it within a second, and at once the second
// time. Precondition: the process has one thread.
[[nodiscard]] Exit superviseVerb(const Declared& verb, const confine::Limits& limits, Console& console);

}  // namespace normlens::engine
