// The claims that the LayerNorms of a graph rest on: "value v is zero-mean over pattern P", and what each needs.
//
// Built backwards from each norm's input, once per (value, pattern), without recursion. This is the union of the
// zero-mean graphs of all norms (paper 001, definition 4.2), made exact: with patterns, and with the answer to "which
// reads of v would notice if it were shifted?" (definition D.1, affected layers) beside each claim.
//
// Thread: immutable after build(); concurrent reads are safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/claims/finite_weights.h"
#include "core/analysis/claims/shift_tolerance.h"
#include "core/analysis/norms/norms.h"
#include "core/base/task.h"
#include "core/graph/graph.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using ClaimId = int32_t;

struct Need {
  ClaimId claim = graph::kNone;
  bool throughTolerantUse = false;  // the reader would not notice a centering of the claim's value
  graph::Uses through;              // the reads of the claim's value that the reader depends on
};

struct Claim {
  enum class Kind : uint8_t {
    Proven,    // holds as the model is: an explicit centering, a norm without beta, a constant that is 0
    Derived,   // holds if all needs hold
    Constant,  // a tensor of the file: holds after an edit of it
    Joint,     // one of several constants that are centered with a common mean
    Refused,   // nothing promises it
  };
  // The fields that every plan reads of every claim come first: they are what fits a cache.
  Kind kind = Kind::Refused;
  bool droppable = false;  // reads that tolerate a shift may as well see 0: it is constant along the pattern
  graph::ValueId value = graph::kNoValue;
  std::vector<Need> needs;
  graph::Uses otherUses;     // reads that notice a shift with this pattern
  graph::Uses tolerantUses;  // reads that do not
  ops::Pattern pattern;
  graph::NodeId otherNode = graph::kNone;                   // who the first of otherUses is (kNone: a model output)
  ShiftTolerance::Reason otherReason;                       // why it notices; null if there is none
  std::string reason;                                       // Refused: why
  std::shared_ptr<const std::vector<ops::Demand>> members;  // Joint: all of them, this one included; else null

  [[nodiscard]] std::span<const ops::Demand> joint() const {
    return members ? std::span<const ops::Demand>(*members) : std::span<const ops::Demand>();
  }
  [[nodiscard]] bool tolerated() const { return otherUses.empty(); }
};

class Claims {
 public:
  // Errors: Cancelled, Unsupported.
  static Result<Claims> build(const graph::Graph& graph, const std::vector<LayerNorm>& norms, FiniteWeights& weights,
                              const Task& task, const RestoredReads& restored = {});

  [[nodiscard]] const std::vector<Claim>& all() const { return claims_; }
  [[nodiscard]] const Claim& operator[](ClaimId id) const { return claims_[static_cast<size_t>(id)]; }
  // The claim "the norm's input is zero-mean"; kNone when the norm cannot be folded whatever its input.
  [[nodiscard]] ClaimId root(int norm) const { return roots_[static_cast<size_t>(norm)]; }
  // The norm reads its input tolerantly: a centering of the input would serve it.
  [[nodiscard]] bool rootTolerant(int norm) const { return rootTolerant_[static_cast<size_t>(norm)]; }

 private:
  std::vector<Claim> claims_;
  std::vector<ClaimId> roots_;
  std::vector<bool> rootTolerant_;
};

}  // namespace normlens::analysis
