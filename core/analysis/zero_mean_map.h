// For the whole graph: which values are zero-mean as the model is, which would be after a plan, which are not; and how
// far the shift goes that centering a layer's weights gives its output.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/analysis.h"

namespace normlens::analysis {

struct ZeroMeanMap {
  std::vector<graph::ValueId> now;      // as the model is, for every input
  std::vector<graph::ValueId> planned;  // not yet, but after the plan
  std::vector<graph::ValueId> notZero;  // neither
};

// Maps the values that LayerNorms depend on. A value on which several norms depend in different ways counts as
// zero-mean when it is so in one of them.
[[nodiscard]] ZeroMeanMap zeroMeanMap(const Analysis& analysis, const Plan& plan);

struct ShiftCone {
  std::vector<graph::ValueId> values;  // those that differ from the original's by a shift
  std::vector<graph::NodeId> ends;     // nodes that do not notice it any more
  std::string reason;                  // why there is none; empty otherwise
};

// From the constants that `node` reads, also through views of them, and the plan centers. Empty, with the reason, when
// the plan centers none.
[[nodiscard]] ShiftCone shiftCone(const Analysis& analysis, const Plan& plan, graph::NodeId node);

}  // namespace normlens::analysis
