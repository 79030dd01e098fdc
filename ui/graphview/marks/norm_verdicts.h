// The verdicts of LayerNorms by the items of a hierarchy.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/layout/hierarchy.h"

namespace normlens::graphview {

using VerdictCounts = std::array<int, namesOf(Verdict{}).size()>;  // of the norms in a group, by verdict

struct NormVerdicts {
  std::unordered_map<int, Verdict> ofItem;
  std::unordered_map<int, VerdictCounts> inGroup;  // every group around a norm

  NormVerdicts() = default;
  NormVerdicts(const layout::Hierarchy& hierarchy, const std::vector<protocol::NormInfo>& norms);
};

}  // namespace normlens::graphview
