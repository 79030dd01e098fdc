// The draws behind Model::perturbed. Thread: pure.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/graph/types.h"

namespace normlens::formats {

// Seeds of one tensor of a model, from the seed of the perturbed model.
[[nodiscard]] inline uint64_t scrambled(uint64_t seed) { return seed * 0x2545f4914f6cdd1dULL; }

// Moves an element by up to half a unit in its last place: 1 + u * 2^-(mantissa bits + 1), u uniform in [-1, 1).
class RoundingNoise {
 public:
  RoundingNoise(graph::DType dtype, uint64_t seed)
      : unit_(std::ldexp(1.0, -graph::mantissaBits(dtype) - 1)), seed_(seed) {}

  // splitmix64 of seed and position: the draw of an element depends on nothing else.
  [[nodiscard]] double factor(int64_t element) const {
    uint64_t z = seed_ + (static_cast<uint64_t>(element) + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    return 1.0 + (static_cast<double>(z >> 11) * 0x1p-52 - 1.0) * unit_;
  }

 private:
  double unit_;
  uint64_t seed_;
};

}  // namespace normlens::formats
