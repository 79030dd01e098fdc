#include "core/run/compare/ulp.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace normlens::run {
namespace {

using graph::DType;

// Maps sign and magnitude to one line of numbers.
template <class Bits>
int64_t ordinal(Bits bits) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const auto magnitude = static_cast<int64_t>(static_cast<Bits>(bits & static_cast<Bits>(~kSign)));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

int64_t ordinalOf(double value, DType type) {
  switch (type) {
    case DType::Float16:
      return ordinal(graph::floatToHalf(static_cast<float>(value)));
    case DType::BFloat16:
      return ordinal(graph::floatToBfloat16(static_cast<float>(value)));
    case DType::Float32:
      return ordinal(std::bit_cast<uint32_t>(static_cast<float>(value)));
    default:
      return ordinal(std::bit_cast<uint64_t>(value));
  }
}

uint64_t distance(int64_t a, int64_t b) {
  return a < b ? static_cast<uint64_t>(b) - static_cast<uint64_t>(a)
               : static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
}

size_t bucketOf(uint64_t distance) {
  const auto bucket = distance < 2 ? static_cast<size_t>(distance) : size_t{1} + std::bit_width(distance - 1);
  return std::min(bucket, kUlpBuckets - 1);
}

}  // namespace

std::optional<UlpHistogram> ulpDistances(const graph::TensorView& a, const graph::TensorView& b, DType type) {
  if (!graph::isFloat(type) || a.shape != b.shape) return std::nullopt;
  const auto valuesA = graph::toDoubles(a), valuesB = graph::toDoubles(b);
  if (!valuesA || !valuesB) return std::nullopt;
  UlpHistogram histogram;
  for (size_t i = 0; i < valuesA->size(); ++i) {
    const double x = (*valuesA)[i], y = (*valuesB)[i];
    if (std::isfinite(x) && std::isfinite(y)) {
      const uint64_t apart = distance(ordinalOf(x, type), ordinalOf(y, type));
      histogram.most = std::max(histogram.most, apart);
      ++histogram.counts[bucketOf(apart)];
    } else {
      const bool same = x == y || (std::isnan(x) && std::isnan(y));
      ++histogram.counts[same ? 0 : kUlpBuckets - 1];
    }
  }
  return histogram;
}

DType coarserType(DType a, DType b) {
  if (!graph::isFloat(a) || !graph::isFloat(b)) return DType::Unknown;
  return graph::mantissaBits(b) < graph::mantissaBits(a) ? b : a;
}

}  // namespace normlens::run
