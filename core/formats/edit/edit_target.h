// Edits a format's copy of a model while a plan is carried out; all ids are those of the opened model's graph.
// The order of the calls is plan_translator.h's; an edit, or what must hold for it, is written there once.
//
// Thread: one. Errors: every function throws EditRefused where it cannot be done exactly.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/fold/plan.h"
#include "core/formats/edit/read_code.h"
#include "core/graph/graph.h"

namespace normlens::formats {

// The vectors of a replaced norm that did not move into the layers behind it. A gamma that moved is a vector of ones by
// now, for ops that cannot do without one.
struct KeptVectors {
  bool gamma = true, beta = true;
};

class EditTarget {
 public:
  virtual ~EditTarget() = default;

  // Returns whether the value read exists only within an op of the file, which has to be written out to get at it.
  [[nodiscard]] virtual bool isInside(const graph::Use& read) const = 0;

  // The readers of the node's output read this operand of it, which has the same type and shape.
  virtual void bypass(graph::NodeId node, size_t operand) = 0;

  // These reads see what the code makes of the value, once for all that read it in one place.
  virtual void insert(graph::ValueId value, const graph::Uses& reads, const ReadCode& code) = 0;

  // Means that are kept beside streams, and given back to some reads; in this order.
  virtual void restore(const std::vector<fold::RestoreMean>& edits) = 0;

  // The read sees 0. sum: the operand of the reading Add or Sub that its result then is, in a run with any sizes.
  virtual void drop(const graph::Use& read, std::optional<size_t> sum) = 0;

  // A narrow result has its width there, unless the file leaves the size open; a query of the size still returns d.
  virtual void resize(const fold::ResizeAxis& edit) = 0;

  // An op that normalizes; `narrow`: over so many numbers of a narrow stream, fold::ReplaceNorm, or 0.
  virtual void replaceOp(const analysis::LayerNorm& norm, KeptVectors kept, int64_t narrow) = 0;
  // A norm that is written out in several nodes.
  virtual void replaceDecomposed(const analysis::LayerNorm& norm, KeptVectors kept) = 0;
};

}  // namespace normlens::formats
