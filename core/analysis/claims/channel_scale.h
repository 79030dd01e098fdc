// A constant factor per channel, and which of a value's axes its channels are: read off a broadcast operand, and
// followed upwards through what only moves elements.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::analysis {

struct ChannelScale {
  std::vector<int64_t> axes;    // of the value that is scaled
  graph::Shape sizes;           // of these axes
  std::vector<double> numbers;  // row-major over them

  [[nodiscard]] bool isAlong(int64_t axis) const { return axes.size() == 1 && axes[0] == axis; }
};

// The operand of a Mul or Div as factors of `data`, in every run. nullopt where it is no constant, or one number.
[[nodiscard]] std::optional<ChannelScale> channelScale(const graph::Graph& graph, graph::ValueId operand,
                                                       graph::ValueId data);

// The scale of what a Permute or Reshape makes, as one of what it reads. nullopt where another run may have it
// elsewhere.
[[nodiscard]] std::optional<ChannelScale> beforePermute(const graph::Node& permute, ChannelScale scale);
[[nodiscard]] std::optional<ChannelScale> beforeReshape(const graph::Graph& graph, const graph::Node& reshape,
                                                        const ChannelScale& scale);

// The scale of a broadcast result, as one of an operand that has all of its channels.
[[nodiscard]] std::optional<ChannelScale> ofOperand(const graph::Shape& result, const graph::Shape& operand,
                                                    ChannelScale scale);

}  // namespace normlens::analysis
