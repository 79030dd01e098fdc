// Makes what a model or its runtime prints fit for a terminal and a log: lines without control characters, so that
// nothing in them can move the cursor, and not more of them than anybody would read. Thread: one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace normlens::confine {

class Noise {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 10;
  static constexpr size_t kLongestLine = 1000;

  explicit Noise(std::function<void(std::string_view line)> tell) : tell_(std::move(tell)) {}
  void feed(std::string_view bytes);
  void end();  // passes on what no newline has ended

 private:
  void tell();

  std::function<void(std::string_view line)> tell_;
  std::string line_;
  size_t told_ = 0;
  bool full_ = false;
};

}  // namespace normlens::confine
