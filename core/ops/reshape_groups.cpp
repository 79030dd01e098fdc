#include "core/ops/reshape_groups.h"

#include <utility>

namespace normlens::ops {

std::vector<AxisGroup> groupsOf(const graph::Shape& in, const graph::Shape& out) {
  std::vector<AxisGroup> groups;
  AxisGroup group;
  int64_t left = 1, right = 1;
  for (size_t i = 0, o = 0; i < in.size() || o < out.size();) {
    const bool takesIn = o == out.size() || (i < in.size() && left <= right);
    const int64_t size = takesIn ? in[i] : out[o];
    if (size < 1) return {};
    if (size > 1) (takesIn ? group.in : group.out).push_back(takesIn ? i : o);
    (takesIn ? left : right) *= size;
    takesIn ? ++i : ++o;
    if (left != right || left == 1) continue;
    groups.push_back(std::move(group));
    group = {};
    left = right = 1;
  }
  return groups;
}

}  // namespace normlens::ops
