// The algebra's part of a proof (verify.h): the change made to a float64 copy of the original, against that copy.
//
// Each row of each output (diff.h), and of the norms whose outputs a change keeps, is held against its own scale: it
// may be off by options.algebraLimit of that, or by options.floorFactor times what the copy's own rounding does there,
// which is measured only where a row is off by more. Private to core/run. Thread: one thread.
#pragma once

#include "core/run/proof/inner_sites.h"

namespace normlens::run {

// inner: of the change. Errors: cancelled, want of memory, a sample that cannot be drawn like.
[[nodiscard]] Result<AlgebraOutcome> proveAlgebra(const ChangeUnderTest& change, const InnerSites& inner,
                                                  const formats::Tensors& sample, const VerifyOptions& options,
                                                  const Task& task);

}  // namespace normlens::run
