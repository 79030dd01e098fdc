// The algebra's part of a proof (verify.h): the change made to a float64 copy of the original, against that copy.
//
// Each row of each output (diff.h), and of the norms whose outputs a change keeps, is held against its own scale: it
// may be off by options.algebraLimit of that, or by options.floorFactor times what the copy's own rounding does there,
// which is measured only where a row is off by more. Private to core/run. Thread: one thread.
#pragma once

#include <optional>
#include <string>

#include "core/run/proof/verify.h"

namespace normlens::run {

struct AlgebraOutcome {
  std::optional<Worst> worst;  // nullopt: not possible, `reason` says why. Where it is refuted: of the row that refutes
  double limit = 0;            // of worst->maxRel
  std::string reason;          // also set where float64 was measured and something is wrong with it
  bool refuted = false;
  int runs = 0;            // input sets compared
  bool otherSize = false;  // some of them of another size
  bool ranksMatter = false;
  bool telling = false;  // floating-point numbers of outputs, or what decides them, were compared
  std::string firstDiverging;

  [[nodiscard]] bool passes() const { return worst && !refuted && reason.empty(); }
};

// Errors: cancelled, want of memory, a sample that cannot be drawn like.
[[nodiscard]] Result<AlgebraOutcome> proveAlgebra(const ChangeUnderTest& change, const formats::Tensors& sample,
                                                  const VerifyOptions& options, const Task& task);

}  // namespace normlens::run
