#include "core/formats/edit/centering_axes.h"

#include <algorithm>

#include "core/formats/edit/edit_refused.h"

namespace normlens::formats {
namespace {

using ops::Factor;
using ops::Factors;

// Neighboring whole factors of one kind are one factor.
Factors merged(const Factors& factors) {
  Factors out;
  for (const Factor& next : factors) {
    if (next.size == 1) continue;
    if (!out.empty() && out.back().whole() && next.whole() && out.back().summed == next.summed) {
      out.back() = {out.back().size * next.size, 0, out.back().size * next.size, next.summed};
    } else {
      out.push_back(next);
    }
  }
  if (out.empty()) out.push_back(Factor{});
  return out;
}

}  // namespace

ops::FactorsPerDim centeringAxes(const ops::Pattern& pattern, const graph::Shape& shape) {
  const auto perDim = ops::alignTo(pattern, shape);
  if (!perDim) throw EditRefused("a centering at run time would cut across the axes of the value");
  ops::FactorsPerDim axes;
  for (const auto& factors : *perDim) {
    axes.push_back(merged(factors));
    const auto kept = std::count_if(axes.back().begin(), axes.back().end(), [](const Factor& f) { return !f.summed; });
    if (axes.back().size() > 1 && kept > 1) {
      throw EditRefused("a centering at run time would have to fix a size that may differ from call to call");
    }
  }
  return axes;
}

}  // namespace normlens::formats
