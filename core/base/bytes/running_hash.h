// XXH3-128 of bytes that come in pieces: tells files apart as fast as memory is read. No seal: another file can be made
// to fit. Thread: one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace normlens {

class RunningHash {
 public:
  static constexpr size_t kDigits = 32;

  RunningHash();
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::string hex() const;  // of all so far, in lower-case digits

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace normlens
