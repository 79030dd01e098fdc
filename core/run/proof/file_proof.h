// The files' part of a proof (verify.h): the changed model against the original, both in their own type.
//
// Errors are those of the elements in which the two differ. Private to core/run. Thread: one thread.
#pragma once

#include "core/run/proof/inner_sites.h"

namespace normlens::run {

// inner: of the change. If the algebra proves the change, its runs of the original's float64 copy are the exact values.
// Errors: cancelled, want of memory, a sample that cannot be drawn like.
[[nodiscard]] Result<FileOutcome> compareFiles(const ChangeUnderTest& change, const InnerSites& inner,
                                               const formats::Tensors& sample, const VerifyOptions& options,
                                               const AlgebraOutcome& algebra, const Task& task);

}  // namespace normlens::run
