// The proof of a fold of which the whole does not fit in memory: section by section along the stream.
//
// The model is cut at what its folded norms read. There the folded model has the original's value with its mean taken
// out (docs/method.md 11.3), or the same where that mean is 0 in the original, which is then shown as well. Each
// section is run on drawn values for what is cut, in the original as it is and in the folded model shifted so, and
// both must give what the two have at the section's end, by all that verify.h asks. From the inputs on, what one
// section gives is what others begin with: if each agrees, so do the outputs. The file's part runs the sections of the
// folded model as it is to be written.
//
// A section that differs refutes the fold, though what was drawn may be nothing that the model ever has there. Norms
// that the outputs hide (hidden_norms.h) leave it undecided.
//
// Not run: the whole. Values on the way are drawn, normal with deviation 1, and not those that the model has there;
// rounding is judged in each section and not in all of them together.
//
// Thread: one thread; the models are not used by another meanwhile.
#pragma once

#include <vector>

#include "core/run/proof/verify.h"

namespace normlens::run {

// Returns whether a proof of the whole can be expected to fit in the memory that this process may have.
[[nodiscard]] bool fitsProof(const formats::Model& model);

// zeroMean: values of the original whose mean is 0 in every run. Errors: as verifyFold()'s. A model that cannot be cut
// leaves everything undecided.
[[nodiscard]] Result<Verification> verifyFoldInSections(const FoldUnderTest& fold,
                                                        const std::vector<graph::ValueId>& zeroMean,
                                                        const formats::Tensors& sample, const VerifyOptions& options,
                                                        const Task& task);

}  // namespace normlens::run
