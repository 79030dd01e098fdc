// Times of ops over a few passes, of which the median counts: one pass that was disturbed changes nothing.
// Thread: one at a time.
#pragma once

#include <cstddef>
#include <vector>

namespace normlens::formats {

class OpPasses {
 public:
  explicit OpPasses(size_t passes) : passes_(passes) {}

  // Adds to an op's time in one pass; ops are numbered from 0 on as the caller likes.
  void add(size_t op, size_t pass, double ms);
  // Milliseconds by op. One that did not run in a pass took 0 in it.
  [[nodiscard]] std::vector<double> medians() const;

 private:
  size_t passes_;
  std::vector<std::vector<double>> ms_;  // by op, then by pass
};

}  // namespace normlens::formats
