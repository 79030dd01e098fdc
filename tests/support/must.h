// The value of a Result or an optional that a test cannot go on without, and the error of one that has to fail.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace normlens {

// Throws what went wrong, which ends the test.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

inline void must(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

template <class T>
[[nodiscard]] T must(std::optional<T> value) {
  if (!value) throw std::runtime_error("there is no value");
  return std::move(*value);
}

template <class T>
[[nodiscard]] Error failureOf(const tl::expected<T, Error>& result) {
  if (result) throw std::runtime_error("it did not fail");
  return result.error();
}

// For EXPECT_PRED2, which prints both.
inline bool contains(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

}  // namespace normlens
