// The files' part of a proof (verify.h): the changed model against the original, both in their own type.
//
// The noise is that of the elements in which the two differ. Private to core/run. Thread: one thread.
#pragma once

#include "core/run/proof/verify.h"

namespace normlens::run {

// `proved`: by the algebra, so that the original's float64 copy says what is exact. Errors: cancelled, want of memory,
// a sample that cannot be drawn like.
[[nodiscard]] Result<FileOutcome> compareFiles(const ChangeUnderTest& change, const formats::Tensors& sample,
                                               const VerifyOptions& options, bool proved, const Task& task);

}  // namespace normlens::run
