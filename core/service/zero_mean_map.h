// For the whole graph: which values are zero-mean as the model is, which would be after a plan, which are not; and how
// far the shift goes that centering a layer's weights gives its output.
#pragma once

#include "core/analysis/analysis.h"
#include "core/protocol/messages.h"

namespace normlens::service {

// Of the values that LayerNorms depend on. A value on which several norms depend in different ways counts as zero-mean
// when it is so in one of them.
[[nodiscard]] protocol::ZeroMeanMap zeroMeanMap(const analysis::Analysis& analysis, const analysis::Plan& plan);

// From the constants that `node` reads, also through views of them, and the plan centers: the values that shift along,
// and the nodes that do not notice. Empty, with the reason, when the plan centers none.
[[nodiscard]] protocol::ShiftCone shiftCone(const analysis::Analysis& analysis, const analysis::Plan& plan,
                                            graph::NodeId node);

}  // namespace normlens::service
