#include "core/run/geometry/norm_range.h"

#include <algorithm>
#include <map>

#include "core/analysis/norms/norms.h"
#include "core/run/compare/capture.h"
#include "core/run/compare/norm_order.h"

namespace normlens::run {
namespace {

NormReach reachOf(const std::vector<double>& numbers, const graph::Shape& shape, const std::vector<int64_t>& axes) {
  NormReach reach;
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<bool> summed(shape.size());
  for (const int64_t axis : axes) summed[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  std::map<int64_t, double> sums;  // by the index over the axes that stay
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double square = numbers[i] * numbers[i];
    if (!(square <= reach.square)) reach.square = square;  // NaN is the largest
    auto rest = static_cast<int64_t>(i);
    int64_t row = 0, step = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (!summed[axis]) row += step * (rest % shape[axis]), step *= shape[axis];
      rest /= shape[axis];
    }
    sums[row] += square;
  }
  for (const auto& [row, sum] : sums) {
    if (!(sum <= reach.sum)) reach.sum = sum;
  }
  return reach;
}

std::optional<NormReach> reachOf(const Captured& seen, const analysis::NormParts& norm) {
  const auto found = seen.find(norm.input);
  if (found == seen.end() || !found->second.data || norm.axes.empty()) return std::nullopt;
  const graph::TensorView rows = analysis::byGroups(found->second, norm.groups);
  const auto numbers = graph::toDoubles(rows);
  return numbers ? std::optional(reachOf(*numbers, rows.shape, analysis::axesByGroups(norm))) : std::nullopt;
}

}  // namespace

Result<std::vector<NormRange>> normRanges(const formats::Model& original, const formats::Model& folded,
                                          const formats::Tensors& inputs, const Task& task) {
  const analysis::Norms normsOfA = analysis::findNorms(original.graph()),
                        normsOfB = analysis::findNorms(folded.graph());
  auto partners = normPartners(original.graph(), normsOfA, folded.graph(), normsOfB);
  std::erase_if(partners, [](const NormPartner& partner) { return partner.norm.layer == nullptr; });
  std::vector<graph::ValueId> ofA, ofB;
  for (const NormPartner& partner : partners) {
    ofA.push_back(partner.norm.parts().input);
    if (partner.exists()) ofB.push_back(partner.other.parts().input);
  }
  ASSIGN_OR_RETURN(const auto before, capture(original, ofA, inputs, task));
  ASSIGN_OR_RETURN(const auto after, capture(folded, ofB, inputs, task));
  std::vector<NormRange> ranges;
  for (const NormPartner& partner : partners) {
    ranges.push_back({partner.norm.title(), reachOf(before, partner.norm.parts()), std::nullopt});
    if (partner.exists()) ranges.back().after = reachOf(after, partner.other.parts());
  }
  return ranges;
}

}  // namespace normlens::run
