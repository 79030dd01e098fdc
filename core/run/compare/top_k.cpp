#include "core/run/compare/top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace normlens::run {
namespace {

// Returns the places of the k largest entries, the largest first.
std::vector<size_t> topOf(std::span<const double> row, size_t k) {
  const auto rank = [&](size_t i) { return std::isnan(row[i]) ? -std::numeric_limits<double>::infinity() : row[i]; };
  std::vector<size_t> places(row.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::partial_sort(places, places.begin() + static_cast<std::ptrdiff_t>(k),
                            [&](size_t i, size_t j) { return rank(i) != rank(j) ? rank(i) > rank(j) : i < j; });
  places.resize(k);
  return places;
}

}  // namespace

void TopAgreement::add(const TopAgreement& other) {
  rows += other.rows;
  sameFirst += other.sameFirst;
  sharedMany += other.sharedMany;
  hasMany = hasMany || other.hasMany;
}

std::optional<TopAgreement> topAgreement(const graph::TensorView& a, const graph::TensorView& b) {
  if (!graph::isFloat(a.dtype) || a.shape.empty() || a.shape.back() < 2 || a.shape != b.shape) return std::nullopt;
  const auto valuesA = graph::toDoubles(a), valuesB = graph::toDoubles(b);
  if (!valuesA || !valuesB || valuesA->empty()) return std::nullopt;
  const auto width = static_cast<size_t>(a.shape.back());
  TopAgreement agreement;
  agreement.hasMany = a.shape.back() > kTopMany;
  const size_t k = agreement.hasMany ? static_cast<size_t>(kTopMany) : 1;
  for (size_t start = 0; start < valuesA->size(); start += width) {
    const auto topA = topOf(std::span(*valuesA).subspan(start, width), k);
    const auto topB = topOf(std::span(*valuesB).subspan(start, width), k);
    ++agreement.rows;
    agreement.sameFirst += topA.front() == topB.front() ? 1 : 0;
    if (!agreement.hasMany) continue;
    agreement.sharedMany +=
        std::ranges::count_if(topA, [&](size_t place) { return std::ranges::find(topB, place) != topB.end(); });
  }
  return agreement;
}

}  // namespace normlens::run
