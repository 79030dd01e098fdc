// Describes what a plan does with each norm and why: the state, beside the verdict, which is what could be done.
//
// Thread: pure functions. Reasons follow "because" or a colon: no capital, no full stop.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/analysis/plan/planner.h"

namespace normlens::analysis {

// One of several ways to the same fold.
struct PlanWay {
  bool copy = false;                       // A constant is copied; else a run-time centering is inserted.
  graph::ValueId value = graph::kNoValue;  // the constant to copy, or the value to center
  int64_t bytesGrown = 0;                  // By a copy.
  int64_t elements = 0;                    // Counts the value that is centered.
  bool chosen = false;
};

struct NormState {
  using Kind = NormOutcome;
  Kind kind = Kind::Kept;
  std::string because;             // empty: nothing to explain
  std::vector<size_t> centerings;  // Index Plan::edits: those at run time that it rests on.
  bool counted = false;            // the first norm that one of these serves: FoldedWithCentering
  std::vector<PlanWay> ways;       // two or more, where a copy and a centering compete
};

// By norm. `options`: those that the plan was made with; null where it came from elsewhere, such as a file.
[[nodiscard]] std::vector<NormState> normStates(const Analysis& analysis, const Plan& plan, const PlanOptions* options);

}  // namespace normlens::analysis
