#include "core/ops/pattern.h"

#include <algorithm>
#include <charconv>

namespace normlens::ops {
namespace {

// Neighbors that mean the same as one factor. `outer` counts blocks of `inner`.
std::optional<Factor> merged(const Factor& outer, const Factor& inner) {
  const int64_t size = outer.size * inner.size;
  // One index of the outer factor: whatever it is marked, the inner one decides.
  if (outer.extent() == 1) {
    return Factor{size, outer.begin * inner.size + inner.begin, outer.begin * inner.size + inner.end, inner.summed};
  }
  if (inner.whole() && outer.summed == inner.summed) {
    return Factor{size, outer.begin * inner.size, outer.end * inner.size, outer.summed};
  }
  return std::nullopt;
}

// A factor cut into (outer, inner) with `inner` elements each; nullopt when its region does not fit the cut.
std::optional<std::pair<Factor, Factor>> cut(const Factor& factor, int64_t inner) {
  if (inner <= 0 || factor.size % inner != 0) return std::nullopt;
  const int64_t outer = factor.size / inner;
  if (factor.begin % inner == 0 && factor.end % inner == 0) {
    return std::pair{Factor{outer, factor.begin / inner, factor.end / inner, factor.summed},
                     Factor{inner, 0, inner, factor.summed}};
  }
  const int64_t block = factor.begin / inner;
  if ((factor.end - 1) / inner != block) return std::nullopt;
  return std::pair{Factor{outer, block, block + 1, factor.summed},
                   Factor{inner, factor.begin - block * inner, factor.end - block * inner, factor.summed}};
}

template <class Container>
Factors canonical(const Container& factors) {
  Factors out;
  for (Factor next : factors) {
    if (next.size == 1) continue;
    if (next.extent() <= 1) next.summed = false;
    // Merging may make the result mergeable with what is before it: a single index swallows its right neighbor.
    while (!out.empty()) {
      const auto both = merged(out.back(), next);
      if (!both) break;
      next = *both;
      out.pop_back();
    }
    out.push_back(next);
  }
  return out;
}

}  // namespace

Pattern Pattern::fromFactors(const Factors& factors) { return Pattern{canonical(factors)}; }

Pattern Pattern::overAxes(const graph::Shape& shape, std::span<const int64_t> axes) {
  SmallVector<Factor, 4> factors;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool summed = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    factors.push_back({shape[i], 0, shape[i], summed});
  }
  return Pattern{canonical(factors)};
}

bool Pattern::sumsAnything() const {
  return std::any_of(factors.begin(), factors.end(), [](const Factor& f) { return f.summed && f.extent() > 1; });
}

int64_t Pattern::groupSize() const {
  int64_t size = 1;
  for (const Factor& factor : factors) size *= factor.summed ? factor.extent() : 1;
  return size;
}

int64_t Pattern::regionSize() const {
  int64_t size = 1;
  for (const Factor& factor : factors) size *= factor.extent();
  return size;
}

bool Pattern::wholeRegion() const {
  return std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f.whole(); });
}

namespace {

// Cuts both factor lists until they have the same sizes; false when a region prevents it.
bool commonCut(Factors& a, Factors& b) {
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    // Innermost factors first: compare from the back.
    if (i >= a.size()) a.insert(a.begin(), Factor{});
    if (i >= b.size()) b.insert(b.begin(), Factor{});
    Factor& fa = a[a.size() - 1 - i];
    Factor& fb = b[b.size() - 1 - i];
    if (fa.size == fb.size) continue;
    Factors& longer = fa.size > fb.size ? a : b;
    Factor& big = fa.size > fb.size ? fa : fb;
    const int64_t inner = std::min(fa.size, fb.size);
    if (inner == 1) return false;  // the other list has run out: patterns of values of different sizes
    const auto parts = cut(big, inner);
    if (!parts) return false;
    big = parts->second;
    longer.insert(longer.end() - 1 - static_cast<std::ptrdiff_t>(i), parts->first);
  }
  return true;
}

}  // namespace

bool Pattern::coversGroupsOf(const Pattern& inner) const {
  Factors mine = factors;
  Factors theirs = inner.factors;
  if (!commonCut(mine, theirs)) return false;
  for (size_t i = 0; i < mine.size(); ++i) {
    const Factor& f = mine[i];
    const Factor& g = theirs[i];
    if (g.summed && g.extent() > 1) {
      // The whole of the inner group has to lie inside one of our groups: same mark, and inside the region.
      if (!f.summed && f.extent() > 1) return false;
      if (f.begin > g.begin || f.end < g.end) return false;
    }
  }
  return true;
}

// The mean over our groups is a product of one averaging per factor, a sum over other's groups a product of one sum per
// factor. Their composition vanishes where the sums do if, factor by factor, it is made of those sums.
bool Pattern::centeringKeeps(const Pattern& other) const {
  Factors mine = factors;
  Factors theirs = other.factors;
  if (!commonCut(mine, theirs)) return false;
  const auto apart = [](const Factor& f, const Factor& g) { return f.end <= g.begin || g.end <= f.begin; };
  bool keeps = true;
  for (size_t i = 0; i < mine.size(); ++i) {
    const Factor& f = mine[i];
    const Factor& g = theirs[i];
    if (apart(f, g)) return true;
    const bool inside = f.begin >= g.begin && f.end <= g.end;
    const bool around = f.begin <= g.begin && f.end >= g.end;
    if (f.summed && f.extent() > 1)
      keeps = keeps && inside && (around || !g.summed);
    else if (g.summed && g.extent() > 1)
      keeps = keeps && around;
  }
  return keeps;
}

std::string Pattern::text() const {
  if (factors.empty()) return "()";
  std::string out;
  for (const Factor& factor : factors) {
    out += "(" + std::to_string(factor.size);
    if (factor.summed) out += " sum";
    if (!factor.whole()) out += " of " + std::to_string(factor.begin) + ":" + std::to_string(factor.end);
    out += ')';
  }
  return out;
}

std::optional<Pattern> Pattern::parse(std::string_view text) {
  if (text == "()") return Pattern{};
  if (text.empty()) return std::nullopt;
  Pattern out;
  int64_t elements = 1;
  size_t at = 0;
  const auto number = [&](int64_t& value) {
    const auto result = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (result.ec != std::errc{}) return false;
    at = static_cast<size_t>(result.ptr - text.data());
    return true;
  };
  const auto accept = [&](std::string_view token) {
    if (!text.substr(at).starts_with(token)) return false;
    at += token.size();
    return true;
  };
  while (at < text.size()) {
    Factor factor;
    if (!accept("(") || !number(factor.size) || factor.size < 1) return std::nullopt;
    if (__builtin_mul_overflow(elements, factor.size, &elements)) return std::nullopt;
    factor.end = factor.size;
    factor.summed = accept(" sum");
    if (accept(" of ") && (!number(factor.begin) || !accept(":") || !number(factor.end))) return std::nullopt;
    if (factor.begin < 0 || factor.begin >= factor.end || factor.end > factor.size || !accept(")")) return std::nullopt;
    out.factors.push_back(factor);
  }
  return fromFactors(out.factors);
}

namespace {

// Positions of which the probe run had none (a mask that took nothing); another run may have some. They are kept, and
// so is every axis beside them.
bool noneSeen(const Factors& rest, std::span<const int64_t> dims) {
  return rest.size() == 1 && rest[0].size == 0 && !rest[0].summed && std::ranges::count(dims, 0) > 0 &&
         std::ranges::all_of(dims, [](int64_t size) { return size >= 0; });
}

}  // namespace

std::optional<FactorsPerDim> alignTo(const Pattern& pattern, std::span<const int64_t> dims) {
  FactorsPerDim out(dims.size());
  Factors rest = pattern.factors;  // consumed from the back, innermost first
  for (size_t d = dims.size(); d-- > 0;) {
    if (noneSeen(rest, dims.first(d + 1))) {
      for (size_t i = 0; i <= d; ++i) out[i] = {Factor{dims[i], 0, dims[i], false}};
      return out;
    }
    int64_t open = dims[d];
    if (open <= 0) return std::nullopt;
    while (open > 1) {
      if (rest.empty()) return std::nullopt;
      Factor last = rest.back();
      rest.pop_back();
      if (last.size > open) {
        const auto parts = cut(last, open);
        if (!parts) return std::nullopt;
        rest.push_back(parts->first);
        last = parts->second;
      } else if (last.size <= 0 || open % last.size != 0) {
        return std::nullopt;
      }
      open /= last.size;
      out[d].insert(out[d].begin(), last);
    }
  }
  return rest.empty() ? std::optional(std::move(out)) : std::nullopt;
}

Pattern joinDims(const FactorsPerDim& dims) {
  SmallVector<Factor, 8> factors;
  for (const auto& dim : dims) factors.insert(factors.end(), dim.begin(), dim.end());
  return Pattern{canonical(factors)};
}

}  // namespace normlens::ops
