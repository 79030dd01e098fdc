// Messages of how much the weights of two models differ, pair by pair. As messages.h in every other respect.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/protocol/field_list.h"

namespace normlens::protocol {

// ---- weight_changes: WeightChangesParams -> WeightChanges. What became of the open model's weights in another one.
struct WeightChangesParams {
  std::string path;                        // Names the other model, as for read_graph.
  std::vector<std::pair<int, int>> pairs;  // ids of constants: of the open model, of the other
};
NORMLENS_FIELDS(WeightChangesParams, path, pairs)

struct WeightChange {
  std::string reason;       // why there are no figures; empty: there are
  double max_abs = 0;       // the largest difference of two elements
  double max_original = 0;  // the largest magnitude of the open model's elements
  // The other is the open model's less its means along this axis, but for rounding; -1: it is not.
  int centered_axis = -1;
  int64_t centered_part = 0;  // elements of it that each mean is over, a head or a group; 0: all
  std::string shift_of;       // the LayerNorm whose beta moved in, whether or not it is centered as well; empty: none
};
NORMLENS_FIELDS(WeightChange, reason, max_abs, max_original, centered_axis, centered_part, shift_of)

struct WeightChanges {
  std::vector<WeightChange> changes;  // One for each pair.
};
NORMLENS_FIELDS(WeightChanges, changes)

}  // namespace normlens::protocol
