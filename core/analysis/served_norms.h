// Finds which norms a run-time centering serves, where no planner has recorded it.
#pragma once

#include "core/analysis/analysis.h"
#include "core/analysis/plan/planner.h"

namespace normlens::analysis {

// The folded norms that each centering at run time reaches become its `frees`. Thread: pure.
void findServedNorms(const Analysis& analysis, Plan& plan);

}  // namespace normlens::analysis
