// GroupNorms and InstanceNorms: those that are LayerNorms of groups of channels, and why the others cannot fold.
// Sources: papers 000, A.4, and 001, C.3 (eq. 28 to 35). Thread: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

// The channels that each mean of an InstanceNorm goes over: several where a view before it cuts the channels into
// groups, as exporters write a GroupNorm; else 1.
[[nodiscard]] int64_t channelsOfAGroup(const graph::Graph& graph, const graph::Node& instanceNorm);

// The axes that a GroupNorm or InstanceNorm goes over where it takes several channels at one position in the probe; the
// first of a GroupNorm's is cut into its groups. nullopt: another node, or one whose means go over space.
[[nodiscard]] std::optional<std::vector<int64_t>> axesWithoutSpace(const graph::Graph& graph, const graph::Node& node);

// The same holds in every run: of a norm that was found by these axes.
[[nodiscard]] bool isWithoutSpaceInEveryRun(const graph::Graph& graph, const LayerNorm& norm);

struct OtherVerdict {
  std::optional<Verdict> verdict;  // nullopt: it takes no mean that a fold could leave out
  std::string reason;
};
[[nodiscard]] OtherVerdict verdictOf(const graph::Graph& graph, const OtherNorm& norm);

}  // namespace normlens::analysis
