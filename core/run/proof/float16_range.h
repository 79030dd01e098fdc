// The range's part of a files' proof (verify.h). Centering may double a number (|x - mean| <= 2 max |x|), and float16
// ends at 65504: a changed model can overflow where the original does not, at inputs that no sample shows.
//
// Private to core/run. Thread: one thread.
#pragma once

#include <string>

#include "core/run/proof/verify.h"

namespace normlens::run {

// The original is run on the sample, its floats multiplied by as much as it takes before it leaves its copy in float32.
// Returns a sentence where the changed model overflows at far less than that; empty: it does not, or the files compute
// in a type of a wider range, or the sample has no floats. Errors: as runOn().
[[nodiscard]] Result<std::string> overflowsEarlier(const ChangeUnderTest& change, const formats::Tensors& sample,
                                                   const Task& task);

}  // namespace normlens::run
