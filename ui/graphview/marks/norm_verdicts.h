// The verdicts of LayerNorms by the items of a hierarchy.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/layout/hierarchy.h"

namespace normlens::graphview {

enum class Verdict : uint8_t { None, Free, Centering, Blocked, Unknown };
[[nodiscard]] Verdict verdictOf(const std::string& word);
using VerdictCounts = std::array<int, 5>;  // of the norms in a group, by verdict

struct NormVerdicts {
  std::unordered_map<int, Verdict> ofItem;
  std::unordered_map<int, VerdictCounts> inGroup;  // every group around a norm

  NormVerdicts() = default;
  NormVerdicts(const layout::Hierarchy& hierarchy, const std::vector<protocol::NormInfo>& norms);
};

}  // namespace normlens::graphview
