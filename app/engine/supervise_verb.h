// Carries out a verb that opens models, in a confined process; watches over it, answers at its door, and reports its
// end where it cannot do so itself.
#pragma once

#include "app/engine/verbs.h"

namespace normlens::engine {

// If a first look at the model (its probe run, or a trial of guessed inputs) ends the process, the verb is carried out
// once more without running the model. Ctrl-C requests it to stop, ends it within a second, and immediately the second
// time. Precondition: the process has one thread.
[[nodiscard]] Exit superviseVerb(const Declared& verb, const confine::Limits& limits, Console& console);

}  // namespace normlens::engine
