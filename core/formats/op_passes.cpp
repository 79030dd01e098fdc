#include "core/formats/op_passes.h"

#include <algorithm>

namespace normlens::formats {

void OpPasses::add(size_t op, size_t pass, double ms) {
  if (op >= ms_.size()) ms_.resize(op + 1, std::vector<double>(passes_, 0));
  ms_[op][pass] += ms;
}

std::vector<double> OpPasses::medians() const {
  std::vector<double> medians;
  for (std::vector<double> times : ms_) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    medians.push_back(*middle);
  }
  return medians;
}

}  // namespace normlens::formats
