#include "core/service/plans/refit_pattern.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace normlens::service {
namespace {

// An open factor may be of any size: a batch, a sequence.
bool isOpen(const ops::Factor& factor) { return !factor.summed && factor.whole(); }

// The elements before and behind the only run of axes that holds `inner`; nullopt: none does, or several do.
std::optional<std::pair<int64_t, int64_t>> around(const graph::Shape& shape, int64_t inner, int64_t elements) {
  std::optional<std::pair<int64_t, int64_t>> found;
  int64_t before = 1;
  for (size_t first = 0; first < shape.size(); before *= shape[first++]) {
    int64_t held = 1;
    for (size_t past = first; past < shape.size() && held < inner;) held *= shape[past++];
    if (held != inner) continue;
    const std::pair here{before, elements / before / inner};
    if (found && *found != here) return std::nullopt;
    found = here;
  }
  return found;
}

}  // namespace

int64_t elementsOf(const ops::Pattern& pattern) {
  int64_t size = 1;
  for (const auto& factor : pattern.factors) {
    if (factor.size > 0 && size > std::numeric_limits<int64_t>::max() / factor.size) return -1;
    size *= factor.size;
  }
  return size;
}

std::optional<ops::Pattern> refitted(const ops::Pattern& pattern, const graph::Shape& shape) {
  const int64_t elements = graph::elementCount(shape).value_or(0);
  if (elementsOf(pattern) == elements && ops::alignTo(pattern, shape)) return pattern;
  ops::Pattern fixed;
  for (const auto& factor : pattern.factors) {
    if (!isOpen(factor)) fixed.factors.push_back(factor);
  }
  const int64_t inner = elementsOf(fixed);
  if (elements < 1 || inner < 1 || elements % inner != 0) return std::nullopt;
  ops::Pattern now = pattern;
  const auto setSize = [](ops::Factor& factor, int64_t size) { factor = {size, 0, size, false}; };
  const size_t open = pattern.factors.size() - fixed.factors.size();
  if (open == 1) {
    setSize(*std::ranges::find_if(now.factors, isOpen), elements / inner);
  } else {
    const bool outside = open == 2 && isOpen(now.factors.front()) && isOpen(now.factors.back());
    const auto sizes = outside ? around(shape, inner, elements) : std::nullopt;
    if (!sizes) return std::nullopt;
    setSize(now.factors.front(), sizes->first);
    setSize(now.factors.back(), sizes->second);
  }
  now = ops::Pattern::fromFactors(now.factors);
  return ops::alignTo(now, shape) ? std::optional(std::move(now)) : std::nullopt;
}

}  // namespace normlens::service
