// ErrorFloor names what a proof's limit in the file's own type rests on. Thread: value types.
#pragma once

#include "core/base/words/words.h"

namespace normlens {

// Six times the floor bounds the error of a row (core/run/proof/verify.h).
enum class ErrorFloor : uint8_t {
  Roundings,  // one to four machine epsilons
  Original,   // the original's own error in the row
  OtherRows,  // its error in other rows
  Noise,      // how far the original moves when its weights move by half a unit in the last place
  Tenth,      // a tenth of the row's numbers: no larger error of the original excuses more
};
NORMLENS_NAMES(ErrorFloor, "roundings", "original", "other_rows", "noise", "tenth")

}  // namespace normlens
